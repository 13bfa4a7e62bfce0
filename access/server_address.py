"""The address of the server that runs with a LOCI_HOME, for commands started with other settings than the server."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ADDRESS_FILE = "up.address"


@contextmanager
def publish_address(home: Path, url: str) -> Iterator[None]:
    """Make running_address() return `url` during the block; for the one process that holds LOCI_HOME.

    The file is locked before it gets its name, so no other process ever reads half of it. The kernel releases the lock
    however this process ends, and a file without a lock is ignored.
    """
    file = home / ADDRESS_FILE
    part = file.with_name(f".{ADDRESS_FILE}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, url.encode())
        part.replace(file)
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(handle)


def running_address(home: Path) -> str | None:
    """The address of the server that runs with the data in `home`; None if no server runs."""
    try:
        with (home / ADDRESS_FILE).open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read()
    except OSError:
        return None
    return None
