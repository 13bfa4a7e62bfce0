"""The files that a machine with a client alone needs, of the Loci that runs here; and the hook program made of them.

One list for both: the server packs `CLIENT` for download, and `connect` copies `HOOK` to a place of the person's own, which
stays when a checkout moves or a cache is emptied. All of it is standard library alone.
"""

import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from loci_site.clients.files import write_whole

PROGRAM: Final = "loci-hook"
_SITE: Final = "loci_site"
HOOK: Final = {
    _SITE: ("__init__.py", "hooks/__init__.py", "hooks/client.py", "hooks/spool_guard.py"),
    "storage": ("__init__.py", "version.py"),
    "guard": ("data/secrets.toml",),
}
CLIENT: Final = {
    _SITE: (*HOOK[_SITE], "hooks/shown.py", *(f"clients/{name}.py" for name in ("__init__", "connect", "files", "main", "merging", "program", "server"))),
    "storage": (*HOOK["storage"], "faults.py", "whole_file.py"),
    "guard": HOOK["guard"],
    "access": ("__init__.py", "clients.py", "clients.toml", "errors.py"),
}  # fmt: skip
_MAIN: Final = """\
import os
import sys

place = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("LOCI_HOME", os.path.dirname(os.path.dirname(place)))
sys.path[:0] = [place]
from loci_site.hooks.client import main

main()
"""


def read_parts(parts: dict[str, tuple[str, ...]]) -> dict[str, bytes]:
    """The files of these parts by their path in an installation, wherever this Loci is: a checkout, a folder or a zip."""
    return {
        f"{'' if package == _SITE else f'{_SITE}/_packages/'}{package}/{name}": (
            _folder_of(package).joinpath(*name.split("/")).read_bytes()
        )
        for package, names in parts.items()
        for name in names
    }


def _folder_of(package: str) -> Traversable:
    site = files(_SITE)
    if package == _SITE:
        return site
    inside = site / "_packages" / package
    return inside if inside.is_dir() else Path(str(site)).parent / package


def hook_command(folder: Path) -> list[str]:
    """How a client calls the program: by paths, as it knows no PATH of the person, and without an environment."""
    python = str(getattr(sys, "_base_executable", "") or sys.executable)
    return [python, "-IS", str(folder / PROGRAM)]


def write_program(folder: Path) -> None:
    """Write the program below LOCI_HOME/hooks, in place of an earlier one."""
    for name, data in {**read_parts(HOOK), "__main__.py": _MAIN.encode()}.items():
        write_whole(folder / PROGRAM / name, data, mode=0o600)
