"""A database for a while: an empty SQLite file in the place of the store, gone afterwards."""

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
    """Let everything inside read and write an empty, migrated database of its own; the store is not touched.

    Every thread of the process sees it, so this belongs into a command that does nothing else.
    """
    with TemporaryDirectory(prefix="loci-scratch-") as folder:
        path = Path(folder) / "scratch.db"
        path.write_bytes(_empty_tables())
        with database_in_place(path):
            yield path


@contextmanager
def database_in_place(path: Path) -> Iterator[Path]:
    """Let everything inside read and write the SQLite file at `path` in the place of the store."""
    own = connections.settings[DEFAULT_DB_ALIAS]
    _use(connections.configure_settings(
        {DEFAULT_DB_ALIAS: sqlite_settings(path, storage=settings.LOCI.storage)}
    )[DEFAULT_DB_ALIAS])  # fmt: skip
    try:
        yield path
    finally:
        _use(own)


@cache
def _empty_tables() -> bytes:
    """Give the file of a store without a row, made once in a process: all migrations take seconds, each set needs one."""
    with TemporaryDirectory(prefix="loci-scratch-") as folder:
        whole = Path(folder) / "whole.db"
        with database_in_place(Path(folder) / "made.db"):
            call_command("migrate", verbosity=0, interactive=False)
            with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
                cursor.execute("VACUUM INTO %s", [str(whole)])
        return whole.read_bytes()


def _use(database: dict[str, object]) -> None:
    """Make the next connection one to this database."""
    connections[DEFAULT_DB_ALIAS].close()
    del connections[DEFAULT_DB_ALIAS]
    connections.settings[DEFAULT_DB_ALIAS] = database
