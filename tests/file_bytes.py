"""Reading the file of a database that this process has open."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from django.db import connection

from storage.encryption import database_key
from storage.encryption.pages import PlainPages

_READ = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb'), sys.stdout.buffer)"


@contextmanager
def held_log() -> Iterator[None]:
    """A second connection that reads in the block, so that the write-ahead log cannot be emptied; Loci waits 20 ms for it."""
    reader = connection.copy()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 20")
    try:
        with reader.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT count(*) FROM memories_memory")
            cursor.fetchone()
        yield
    finally:
        reader.close()


def bytes_of(path: Path) -> bytes:
    """A file's bytes, read by a separate process, and of an encrypted database those of its plain pages too.

    Where a process closes any handle of a file, POSIX takes its locks on that file away, SQLite's own among them: the
    next process that opens the database would think itself alone and remove the log beside it.
    """
    command = [sys.executable, "-IS", "-c", _READ, str(path)]
    return with_plain_pages(subprocess.run(command, check=True, capture_output=True).stdout)


def with_plain_pages(data: bytes) -> bytes:
    """The bytes of a database, followed by those of its pages decrypted if the store is encrypted."""
    return data + plain_pages(data) if database_key() else data


def plain_pages(data: bytes) -> bytes:
    """The bytes of a database or its log, decrypted if the store is encrypted."""
    if (key := database_key()) is None:
        return data
    pages = PlainPages(BytesIO(data), key)
    return b"".join(iter(lambda: pages.read(len(data)), b""))
