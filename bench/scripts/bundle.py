"""`make bundle`: what desktop clients and the MCP registry take, in dist/mcp/: loci.mcpb and server.json."""

import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

from storage.version import DISTRIBUTION, __version__

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).parent / "bundled"
TARGET = ROOT / "dist" / "mcp"
PROJECT = f'''[project]
name = "loci-bundle"
version = "{__version__}"
requires-python = ">=3.11"
dependencies = ["{DISTRIBUTION}=={__version__}"]
'''


def main() -> None:
    """Write the bundle's folder, the bundle and server.json."""
    folder = write_folder(TARGET / "loci")
    bundle = TARGET / "loci.mcpb"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    write_json(TARGET / "server.json", filled("server.json"))
    for path in (bundle, TARGET / "server.json"):
        sys.stdout.write(f"{path}\n")


def write_folder(folder: Path) -> Path:
    """The files of the bundle."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_json(folder / "manifest.json", filled("manifest.json"))
    shutil.copy(SOURCE / "server.py", folder)
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    shutil.copy(ROOT / "extension" / "icons" / "128.png", folder / "icon.png")
    return folder


def write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(f"{json.dumps(value, indent=2)}\n", encoding="utf-8")


def filled(name: str) -> dict[str, Any]:
    """One of the files of `bundled/`: the bundle's manifest, whose client installs Loci with uv at the first start, or the registry's entry.

    The entry's name begins with a namespace that the publisher owns; README.md has the same name.
    """
    text = (SOURCE / name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(
        text.replace("@VERSION@", __version__).replace("@DISTRIBUTION@", DISTRIBUTION)
    )
    return found


if __name__ == "__main__":
    main()
