"""Packages of npm, in the versions and with the hashes of a lock file."""

import shutil
import subprocess
from pathlib import Path

INSTALL_S = 600
QUIET = ("--no-audit", "--no-fund")


class NpmError(SystemExit):
    """npm is not here, or did not install; a program ends with the text."""


def install(source: Path, folder: Path) -> Path:
    """Install what the lock file of `source` names into `folder`; the folder of the packages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(source / name, folder)
    run(folder, "npm", "ci", "--ignore-scripts", *QUIET)
    return folder / "node_modules"


def run(folder: Path, *words: str) -> None:
    """Run a program of npm in a folder. Raises NpmError where it is not here or fails."""
    if shutil.which(words[0]) is None:
        raise NpmError(f"{words[0]} was not found. Install Node.js (any version with npm 9 or later).")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if done.returncode != 0:
        raise NpmError(f"{' '.join(words)} failed:\n{done.stderr[-800:]}")
