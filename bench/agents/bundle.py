"""`make bundle`: what desktop clients and the MCP registry take, in dist/mcp/: loci.mcpb and server.json."""

import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

from storage.version import DISTRIBUTION, __version__

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "dist" / "mcp"
# The registry's name begins with a namespace that the publisher proves to own; README.md has the same name for that.
REGISTRY_NAME = "io.github.loci-memory/loci"
DESCRIPTION = "Long-term memory that a team's AI agents share and its people curate"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
SERVER = '''"""Starts Loci's MCP server on standard input and output."""

import sys

from loci_site.management.cli import main

sys.argv[:1] = ["loci", "mcp", "--stdio"]
main()
'''
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
    write_json(TARGET / "server.json", server_json())
    for path in (bundle, TARGET / "server.json"):
        sys.stdout.write(f"{path}\n")


def write_folder(folder: Path) -> Path:
    """The files of the bundle."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_json(folder / "manifest.json", manifest())
    (folder / "server.py").write_text(SERVER, encoding="utf-8")
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    shutil.copy(ROOT / "extension" / "icons" / "128.png", folder / "icon.png")
    return folder


def write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(f"{json.dumps(value, indent=2)}\n", encoding="utf-8")


def manifest() -> dict[str, Any]:
    """The manifest of the bundle. Its client installs Loci with uv at the first start."""
    home = {
        "type": "directory",
        "title": "Folder of the memories",
        "description": "LOCI_HOME, as of the server that people use in the browser",
        "default": "${HOME}/.loci",
        "required": False,
    }
    group = {
        "type": "string",
        "title": "Group",
        "description": "The group for calls that name none",
        "default": "",
        "required": False,
    }
    token = {
        "type": "string",
        "title": "Token",
        "description": "Only with its rights; without one, reading and writing in every group",
        "default": "",
        "required": False,
        "sensitive": True,
    }
    return {
        "manifest_version": "0.4",
        "name": "loci",
        "display_name": "Loci",
        "version": __version__,
        "description": DESCRIPTION,
        "author": {"name": "The Loci authors"},
        "license": "Apache-2.0",
        "icon": "icon.png",
        "keywords": ["memory", "team"],
        "tools_generated": True,
        "prompts_generated": True,
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    "run",
                    "--directory",
                    "${__dirname}",
                    "server.py",
                    "--group",
                    "${user_config.group}",
                ],
                "env": {"LOCI_HOME": "${user_config.home}", "LOCI_TOKEN": "${user_config.token}"},
            },
        },
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": ">=3.11"}},
        "user_config": {"home": home, "group": group, "token": token},
    }


def server_json() -> dict[str, Any]:
    """The entry of the MCP registry."""
    return {
        "$schema": SCHEMA,
        "name": REGISTRY_NAME,
        "title": "Loci",
        "description": DESCRIPTION,
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": DISTRIBUTION,
                "version": __version__,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": "mcp"},
                    {"type": "named", "name": "--stdio"},
                ],
                "environmentVariables": [
                    {"name": "LOCI_HOME", "description": "Folder of the memories; ~/.loci by default"},
                    {"name": "LOCI_TOKEN", "description": "Act with this token's rights", "isSecret": True},
                ],
            }
        ],
    }


if __name__ == "__main__":
    main()
