"""Copies a SQLite file under another key, or none, and compares every row."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from storage.encryption import DatabaseKey, KeyProblem
from storage.encryption.pages import present_key
from storage.progress import Progress, ignore_progress
from storage.sqlite.dialect import database_files
from storage.sqlite.driver import load_driver, load_vec0

REPLACED_SUFFIX: Final = ".replaced"
BLOCK_BYTES: Final = 1024 * 1024


@contextmanager
def wiping(path: Path) -> Iterator[None]:
    """Overwrite the file that the block replaces at `path`; one that is not replaced stays.

    It keeps a second name during the block, by which the next run finds it if this process is killed.
    """
    kept = path.with_name(f".{path.name.lstrip('.')}{REPLACED_SUFFIX}")
    finish_wiping(kept)
    if path.exists():
        os.link(path, kept)
    try:
        yield
    finally:
        finish_wiping(kept)


def finish_wiping(path: Path) -> None:
    """Delete a file, overwritten with zeros if this is its only name.

    SSDs and copy-on-write file systems may keep the old blocks all the same.
    """
    try:
        if path.stat().st_nlink == 1:
            overwrite(path)
        path.unlink()
    except FileNotFoundError:
        pass


def overwrite(path: Path) -> None:
    """Fill a file with zeros, in place."""
    left = path.stat().st_size
    with path.open("r+b") as file:
        while left > 0:
            left -= file.write(bytes(min(left, BLOCK_BYTES)))
    sync(path)


def sync(path: Path) -> None:
    """Flush a file to disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


BATCH_ROWS: Final = 500
PROGRESS_STEPS: Final = 1_000_000  # of SQLite's machine, some hundredths of a second


class CopyDiffers(Exception):
    """The copy differs from the database."""


def opens_with(path: Path, key: DatabaseKey | None) -> bool:
    """True if this key, or None for a plain file, opens the file."""
    library = _encrypting_library()
    with closing(connect(path, key)) as database:
        try:
            database.execute("SELECT 1 FROM sqlite_master LIMIT 1")
        except library.DatabaseError:
            return False
    return True


def copy_with_key(
    source: Path,
    target: Path,
    *,
    old: DatabaseKey | None,
    new: DatabaseKey | None,
    progress: Progress = ignore_progress,
) -> int:
    """Write a copy of a database, which no other process may have open, under another key; return the number of its rows.

    1. write the log back and copy everything: tables, virtual tables, triggers
    2. compare every row of both

    Raises:
        CopyDiffers: a row or a table's definition differs.
        KeyProblem: the package for encryption is missing.
    """
    for left in database_files(target):
        left.unlink(missing_ok=True)
    target.touch(mode=0o600)
    with closing(connect(source, old)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        attached = new.literal if new else "''"
        database.execute(f"ATTACH DATABASE ? AS copy KEY {attached}", (str(target),))
        # Each statement would wait for the disk several times; the caller flushes the whole copy once.
        database.execute("PRAGMA copy.synchronous = OFF")
        database.execute("PRAGMA copy.journal_mode = OFF")
        database.set_progress_handler(
            partial(_report_size, target, source.stat().st_size, progress), PROGRESS_STEPS
        )
        database.execute("SELECT sqlcipher_export('copy')").fetchall()
        database.set_progress_handler(None, 0)
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA copy.user_version = {int(version)}")
        database.commit()
        return compare(database, progress)


def _report_size(target: Path, total: int, progress: Progress) -> None:
    """Report how much of the copy is written. Returns None, so SQLite continues."""
    progress("copying", min(target.stat().st_size, total), total)


def compare(database: Any, progress: Progress) -> int:
    """Compare the attached `copy` with the main database; return the number of rows."""
    definitions = "SELECT type, name, tbl_name, sql FROM {}.sqlite_master ORDER BY 1, 2"
    tables = database.execute(definitions.format("main")).fetchall()
    if tables != database.execute(definitions.format("copy")).fetchall():
        raise CopyDiffers("its tables have other definitions")
    if database.execute("PRAGMA copy.quick_check").fetchall() != [("ok",)]:
        raise CopyDiffers("SQLite finds it damaged")
    # Virtual tables keep their rows in ordinary ones, which are compared.
    names = [
        name
        for kind, name, _, sql in tables
        if kind == "table" and not (sql or "").upper().startswith("CREATE VIRTUAL")
    ]
    count = 0
    for done, name in enumerate(names):
        progress("comparing", done, len(names))
        count += _compare_table(database, name)
    progress("comparing", len(names), len(names))
    return count


def _compare_table(database: Any, name: str) -> int:
    """Compare the rows of one table, their numbers included; return how many there are."""
    count = 0
    for own, copied in zip(rows_of(database, "main", name), rows_of(database, "copy", name), strict=False):
        if own != copied:
            raise CopyDiffers(f"a row of {name} differs")
        count += 1
    sizes = [
        database.execute(f'SELECT count(*) FROM {place}."{name}"').fetchone()[0]  # noqa: S608 - a table's name
        for place in ("main", "copy")
    ]
    if sizes != [count, count]:
        raise CopyDiffers(f"{name} has {sizes[1]} rows instead of {sizes[0]}")
    return count


def rows_of(database: Any, place: str, name: str) -> Iterator[tuple[Any, ...]]:
    """All rows of a table in key order, with their rowid if the table has one."""
    cursor, library = database.cursor(), _encrypting_library()
    if name == "sqlite_sequence":  # its rows are renumbered, which says nothing
        cursor.execute(f"SELECT * FROM {place}.sqlite_sequence ORDER BY name")  # noqa: S608 - one of two places
        yield from cursor
        return
    try:
        cursor.execute(f'SELECT _rowid_, * FROM {place}."{name}" ORDER BY _rowid_')  # noqa: S608 - a table's name
    except library.OperationalError:  # it has none
        cursor.execute(f'SELECT * FROM {place}."{name}"')  # noqa: S608 - as above
    while rows := cursor.fetchmany(BATCH_ROWS):
        yield from rows


def connect(path: Path, key: DatabaseKey | None) -> Any:
    """A connection of the encrypting library to a file, with or without a key."""
    connection = _encrypting_library().connect(str(path))
    present_key(connection, key)
    load_vec0(connection)
    return connection


def _encrypting_library() -> Any:
    """SQLCipher's DB-API module.

    Raises:
        KeyProblem: it is not installed.
    """
    driver = load_driver("sqlcipher")
    if driver.module is None:
        raise KeyProblem(driver.problem)
    return driver.module
