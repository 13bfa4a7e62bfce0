"""The scan of a purge: every file of LOCI_HOME that holds texts is searched for what the purge destroyed."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final
from uuid import UUID
from zipfile import BadZipFile, ZipFile

from django.conf import settings
from django.db import connection

from maintenance.backups.archive import DATABASE
from maintenance.backups.folder import backup_paths
from memories.store.purge_hooks import ClearedCopies, contains_any, encodings_of

SCAN_BYTES: Final = 512 * 1024**2  # of all files together, searched within seconds
MIN_CHARS: Final = 16  # shorter sentences occur in other texts by chance
MAX_SENTENCES: Final = 8  # the longest ones; each is searched for in every byte
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
FOLDERS: Final = ("logs", "queue")


@dataclass(frozen=True)
class ScannedFile:
    """A file by its name in LOCI_HOME, its size (of a backup: of the database in it), and how to open it."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]


class ScannedFiles:
    """The files of LOCI_HOME, searched for whole sentences of the purged texts after all copies were cleared.

    Only the purge itself knows the texts: nothing is stored from which a later scan could learn them.
    """

    def note(self) -> str:
        """Nothing to record: a scan that did not happen is not certified."""
        return ""

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...], *, note: str) -> ClearedCopies:
        """Name the files that hold a sentence; nothing is changed in them."""
        files, needles = list(scanned_files()), needles_of(texts)
        size = sum(file.size for file in files)
        if size > SCAN_BYTES or not needles:
            why = f"they have {size / 1024**2:,.0f} MB" if needles else "the text is too short"
            return ClearedCopies(
                remains=(f"database, logs, queue and backups were not scanned: {why}",), scan="left out"
            )
        lines = [line for file in files if (line := scan(file, needles))]
        checked = f"{len(files)} files of database, logs, queue and backups scanned for its sentences"
        return ClearedCopies((checked,), tuple(lines), scan="done")


def scan(file: ScannedFile, needles: Sequence[bytes]) -> str:
    """Why nothing is certified about a file; empty if it holds none of the byte strings."""
    try:
        with file.open() as stream:
            return f"{file.name} contains a sentence of it" if contains_any(stream, needles) else ""
    except FileNotFoundError:
        return ""  # a message that was taken, or a log that was rotated
    except (OSError, BadZipFile) as error:
        return f"{file.name} could not be scanned ({type(error).__name__})"


def scanned_files() -> Iterator[ScannedFile]:
    """The database with its write-ahead log, log files, messages to the worker, and the databases in the backups."""
    database = database_path()
    for path in (database, database.with_name(f"{database.name}-wal")) if database else ():
        if path.is_file():
            yield ScannedFile(path.name, path.stat().st_size, partial(open_file, path))
    home = Path(settings.LOCI.home)
    for folder in FOLDERS:
        for path in sorted((home / folder).rglob("*")):
            if path.is_file():
                yield ScannedFile(str(path.relative_to(home)), path.stat().st_size, partial(open_file, path))
    for path in backup_paths():
        try:
            with ZipFile(path) as archive:
                size = archive.getinfo(DATABASE).file_size
        except (OSError, BadZipFile, KeyError):
            continue  # what clears the backups names those that cannot be read
        yield ScannedFile(f"backups/{path.name}", size, partial(open_database, path))


def database_path() -> Path | None:
    """The file of the open SQLite database; None if it has none."""
    if connection.vendor != "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA database_list")
        name = next(row[2] for row in cursor.fetchall() if row[1] == "main")
    return Path(name) if name else None


def open_file(path: Path) -> IO[bytes]:
    """A file as a stream."""
    return path.open("rb")


def open_database(path: Path) -> IO[bytes]:
    """The database in a backup, as a stream."""
    return ZipFile(path).open(DATABASE)


def needles_of(texts: Sequence[str]) -> list[bytes]:
    """The longest sentences of the texts, each as files may contain it: plain and as JSON."""
    found = {part.strip() for text in texts for part in SENTENCE_END.split(text)}
    longest = sorted((part for part in found if len(part) >= MIN_CHARS), key=len, reverse=True)
    forms = {form for part in longest[:MAX_SENTENCES] for form in encodings_of(part)}
    return sorted(form.encode() for form in forms)
