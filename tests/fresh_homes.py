"""Homes that are made once for all test processes, and copied: migrating takes seconds, and so does each command."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.settings import MODELS, REPOSITORY, SHARED

DATABASE = "memory.db"


def with_tables(home: Path) -> Path:
    """Put the database of a new store into a home folder, and the model beside it where there is one."""
    home.mkdir(mode=0o700, exist_ok=True)
    if MODELS.is_dir() and not (home / "models").exists():
        (home / "models").symlink_to(MODELS)
    shutil.copy(migrated(), home / DATABASE)
    return home


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` fills for the first process that needs it; all others copy from it."""
    made = SHARED / name
    with (SHARED / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            half = SHARED / f"{name}.half"
            shutil.rmtree(half, ignore_errors=True)
            make(half)
            half.rename(made)
    return made


def migrated() -> Path:
    """The database to copy from."""
    return made_once("migrated", _migrate) / DATABASE


def _migrate(home: Path) -> None:
    home.mkdir(mode=0o700)
    environment = {**os.environ, "LOCI_HOME": str(home), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
    migrate = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
    subprocess.run(migrate, cwd=REPOSITORY, env=environment, check=True)
