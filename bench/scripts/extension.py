"""`make extension`: the extension for Chrome and for Firefox in dist/extension/, with MiniSearch from npm."""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.scripts import npm

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "extension"
TARGET = ROOT / "dist" / "extension"
LEFT_OUT = shutil.ignore_patterns("package*.json", "node_modules", "manifest.json")


def main() -> None:
    """Write both folders and their zips."""
    with tempfile.TemporaryDirectory() as folder:
        library = npm.install(SOURCE, Path(folder)) / "minisearch"
        for browser in ("chrome", "firefox"):
            pack(browser, library, TARGET / browser)
            sys.stdout.write(f"{TARGET / browser}.zip\n")


def pack(browser: str, library: Path, target: Path) -> None:
    """Write the folder for one browser, and a zip of it."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(SOURCE, target, ignore=LEFT_OUT)
    shutil.copy(library / "dist" / "es" / "index.js", target / "vendor" / "minisearch.js")
    shutil.copy(library / "LICENSE.txt", target / "vendor" / "minisearch.LICENSE.txt")
    manifest = manifest_for(browser, json.loads((SOURCE / "manifest.json").read_text(encoding="utf-8")))
    (target / "manifest.json").write_text(f"{json.dumps(manifest, indent=2)}\n", encoding="utf-8")
    shutil.make_archive(str(target), "zip", target)


def manifest_for(browser: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest without what the other browser alone knows."""
    if browser == "chrome":
        left_out, background = ("browser_specific_settings", "sidebar_action"), "service_worker"
        permissions = manifest["permissions"]
    else:
        left_out, background = ("key", "minimum_chrome_version", "side_panel"), "scripts"
        permissions = [each for each in manifest["permissions"] if each != "sidePanel"]
    kept = {name: value for name, value in manifest.items() if name not in left_out}
    kept["background"] = {background: manifest["background"][background], "type": "module"}
    return kept | {"permissions": permissions}


if __name__ == "__main__":
    main()
