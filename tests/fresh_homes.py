"""Homes with empty tables, copied from one made once for all test processes: migrating takes seconds."""

import fcntl
import os
import shutil
import subprocess
import sys
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


def migrated() -> Path:
    """The database to copy from."""
    made = SHARED / "migrated"
    with (SHARED / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            half = SHARED / "half"
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir(mode=0o700)
            environment = {
                **os.environ,
                "LOCI_HOME": str(half),
                "DJANGO_SETTINGS_MODULE": "loci_site.settings",
            }
            migrate = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
            subprocess.run(migrate, cwd=REPOSITORY, env=environment, check=True)
            half.rename(made)
    return made / DATABASE
