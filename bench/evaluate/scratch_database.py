"""A temporary database: an empty SQLite file in place of the store, deleted afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections

from loci_site.config.databases import sqlite_settings


@contextmanager
def scratch_database() -> Iterator[Path]:
    """Use an empty, migrated database during the block; the store is not touched.

    All threads of the process see it, so use it only in a command that does nothing else.
    """
    with TemporaryDirectory(prefix="loci-scratch-") as folder:
        path = Path(folder) / "scratch.db"
        path.write_bytes(empty_database())
        with use_database(path):
            yield path


@contextmanager
def use_database(path: Path) -> Iterator[Path]:
    """Use the SQLite file at `path` in place of the store during the block."""
    original = connections.settings[DEFAULT_DB_ALIAS]
    connect_to(connections.configure_settings(
        {DEFAULT_DB_ALIAS: sqlite_settings(path, storage=settings.LOCI.storage)}
    )[DEFAULT_DB_ALIAS])  # fmt: skip
    try:
        yield path
    finally:
        connect_to(original)


@cache
def empty_database() -> bytes:
    """Bytes of a migrated database without rows, made once per process: migrating takes seconds, and every set needs one."""
    with TemporaryDirectory(prefix="loci-scratch-") as folder:
        whole = Path(folder) / "whole.db"
        with use_database(Path(folder) / "made.db"):
            call_command("migrate", verbosity=0, interactive=False)
            with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
                cursor.execute("VACUUM INTO %s", [str(whole)])
        return whole.read_bytes()


def connect_to(database: dict[str, object]) -> None:
    """Close the present connection; the next one opens this database."""
    connections[DEFAULT_DB_ALIAS].close()
    del connections[DEFAULT_DB_ALIAS]
    connections.settings[DEFAULT_DB_ALIAS] = database
