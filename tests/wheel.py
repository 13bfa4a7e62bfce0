"""The wheel in an environment of its own outside the checkout; it borrows the dependencies of the tests' environment."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.fresh_homes import made_once
from tests.settings import REPOSITORY


def build_wheel() -> Path:
    """The wheel of this checkout, built once for all test processes."""
    return next(made_once("wheel", _build).glob("*.whl"))


def _build(folder: Path) -> None:
    folder.mkdir()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "wheel", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--wheel-dir", str(folder), str(REPOSITORY)], check=True)


def make_environment(folder: Path) -> Path:
    """A virtual environment that sees the dependencies, and nothing of Loci."""
    venv.create(folder, symlinks=True)
    library = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (library / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return folder


def install_wheel(folder: Path) -> Path:
    """An environment with the wheel in it, installed by pip."""
    make_environment(folder)
    python = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-compile", "--ignore-installed", str(build_wheel())], check=True)
    return folder


def outside(home: Path) -> dict[str, str]:
    """The environment of a process that does not know the checkout."""
    hidden = ("PYTHONPATH", "DJANGO_SETTINGS_MODULE", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {
        "LOCI_HOME": str(home)
    }
