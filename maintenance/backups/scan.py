"""The scan of a purge: every file of LOCI_HOME that holds texts is searched for what the purge destroyed."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final, cast
from zipfile import BadZipFile, ZipFile

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext

from maintenance.backups.archive import DATABASE, STORES
from maintenance.backups.folder import backups_folder
from maintenance.backups.sqlite_copies import database_path
from memories.store.places import ClearedCopies, OutsideCopies, PurgedTexts, contains_any, encodings_of
from storage.encryption import database_key
from storage.encryption.pages import PlainPages
from storage.sqlite.dialect import database_files

SCAN_BYTES: Final = 512 * 1024**2  # of all files together, searched within seconds
MIN_CHARS: Final = 16  # shorter sentences occur in other texts by chance
MAX_SENTENCES: Final = 8  # the longest ones; each is searched for in every byte
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
# hooks: what agents' programs could not send yet; queue: what 0.3.0 left.
FOLDERS: Final = ("logs", "queue", "hooks")
MISSING, UNREADABLE = 3, 4  # exit statuses of _READ_FILE; it ends otherwise if its reader has seen enough
_READ_FILE: Final = f"""
import shutil, sys
try:
    file = open(sys.argv[1], "rb")
except FileNotFoundError:
    sys.exit({MISSING})
except OSError:
    sys.exit({UNREADABLE})
shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
"""


@dataclass(frozen=True)
class _ScannedFile:
    """A file under LOCI_HOME: its name, its size (of a backup: of the database in it), and how to open it.

    `is_store`: a database or its log, whose pages are encrypted if the store is.
    """

    name: str
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    is_store: bool = False


class ScannedFiles(OutsideCopies):
    """The files of LOCI_HOME, searched for whole sentences of the purged texts after all copies were cleared.

    Only the purge itself knows the texts: nothing is stored from which a later scan could learn them.
    """

    name = "scan"
    files = (DATABASE, f"{DATABASE}-wal", *FOLDERS)

    def clear(self, doomed: PurgedTexts, *, note: str) -> ClearedCopies:
        """Name the files that hold a sentence; nothing is changed in them."""
        files, needles = list(_scanned_files()), needles_of(doomed.texts)
        # What a database server has in its files is not here to be read.
        places = (
            gettext("database, logs, hooks and backups")
            if connection.vendor == "sqlite"
            else gettext("logs, hooks and backups")
        )
        size = sum(file.size for file in files)
        if size > SCAN_BYTES or not needles:
            why = (
                gettext("they have {size} MB").format(size=f"{size / 1024**2:,.0f}")
                if needles
                else gettext("the text is too short")
            )
            left = gettext("{places} were not scanned: {why}").format(places=places, why=why)
            return ClearedCopies(remains=(left,), scan="left out")
        lines = [line for file in files if (line := scan(file, needles))]
        checked = gettext("{count} files of {places} scanned for its sentences").format(
            count=len(files), places=places
        )
        return ClearedCopies((checked,), tuple(lines), scan="done")


def scan(file: _ScannedFile, needles: Sequence[bytes]) -> str:
    """Why nothing is certified about a file; empty if it holds none of the byte strings."""
    try:
        with file.open() as stream:
            is_found = contains_any(stream, needles)
        key = database_key()
        if file.is_store and key is not None and not is_found:
            with file.open() as stream:
                is_found = contains_any(cast("IO[bytes]", PlainPages(stream, key)), needles)
        return f"{file.name} contains a sentence of it" if is_found else ""
    except FileNotFoundError:
        return ""  # a message that was sent, or a log that was rotated
    except (OSError, BadZipFile) as error:
        return f"{file.name} could not be scanned ({type(error).__name__})"


def _scanned_files() -> Iterator[_ScannedFile]:
    """The database with its write-ahead log, log files, what hooks could not send, and the backups."""
    files = database_files(database_path())[:2] if connection.vendor == "sqlite" else ()
    for path in files:  # the shared memory holds no text
        if path.is_file():
            yield _ScannedFile(path.name, path.stat().st_size, partial(open_in_child, path), is_store=True)
    home = Path(settings.LOCI.home)
    for folder in FOLDERS:
        for path in sorted((home / folder).rglob("*")):
            if path.is_file():
                yield _ScannedFile(str(path.relative_to(home)), path.stat().st_size, partial(open_file, path))
    yield from _backup_files()


def _backup_files() -> Iterator[_ScannedFile]:
    """Everything in the folder of backups, also what Loci did not name itself: the databases in archives, other files whole."""
    folder = backups_folder()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = f"backups/{path.relative_to(folder)}"
        try:
            with ZipFile(path) as archive:
                [store] = STORES.intersection(archive.namelist())
                size = archive.getinfo(store).file_size
                found = _ScannedFile(
                    name, size, partial(_open_store, path, store), is_store=store == DATABASE
                )
        except (BadZipFile, KeyError, ValueError):
            found = _ScannedFile(name, path.stat().st_size, partial(open_file, path))
        except OSError:
            continue  # removed meanwhile, or one that what clears the backups names
        yield found


def open_file(path: Path) -> IO[bytes]:
    """A file as a stream; not for one that SQLite has open."""
    return path.open("rb")


@contextmanager
def open_in_child(path: Path) -> Iterator[IO[bytes]]:
    """A file that SQLite has open, as a stream from a process of its own.

    A process that closes a file loses all its locks on it (POSIX), those of its SQLite connections too: another process
    would then take the database for unused, and remove its write-ahead log.
    """
    command = [sys.executable, "-I", "-S", "-c", _READ_FILE, str(path)]
    with subprocess.Popen(  # noqa: S603 - our own interpreter and program
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        yield cast("IO[bytes]", child.stdout)
    if child.returncode == MISSING:
        raise FileNotFoundError(path)
    if child.returncode == UNREADABLE:
        raise OSError(f"{path.name} cannot be read")


def _open_store(path: Path, store: str) -> IO[bytes]:
    return ZipFile(path).open(store)


def needles_of(texts: Sequence[str]) -> list[bytes]:
    """The longest sentences of the texts, each as files may contain it: plain and as JSON."""
    found = {part.strip().rstrip(".!?…") for text in texts for part in SENTENCE_END.split(text)}
    longest = sorted((part for part in found if len(part) >= MIN_CHARS), key=len, reverse=True)
    forms = {form for part in longest[:MAX_SENTENCES] for form in encodings_of(part)}
    return sorted(form.encode() for form in forms)
