"""Recognises errors of the disk (no space, read-only files, failing reads and writes), and a server that does not answer."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum


class StorageFault(StrEnum):
    """Why nothing can be written."""

    FULL = "the disk is full"
    READ_ONLY = "the store is read-only"
    BROKEN = "the disk reports an error"


# SQLite's own texts of SQLITE_FULL, SQLITE_READONLY and SQLITE_IOERR, as not every library has the codes; PostgreSQL's
# are those of its server's disk.
MESSAGES = {
    "database or disk is full": StorageFault.FULL,
    "attempt to write a readonly database": StorageFault.READ_ONLY,
    "disk i/o error": StorageFault.BROKEN,
    "no space left on device": StorageFault.FULL,
    "in a read-only transaction": StorageFault.READ_ONLY,
    "input/output error": StorageFault.BROKEN,
}
_ERRNOS = {
    errno.ENOSPC: StorageFault.FULL,
    errno.EDQUOT: StorageFault.FULL,
    errno.EFBIG: StorageFault.FULL,
    errno.EROFS: StorageFault.READ_ONLY,
    errno.EIO: StorageFault.BROKEN,
}
# What libpq and a server that starts or stops say; SQLite has neither.
UNREACHABLE = (
    "connection failed",
    "connection is bad",
    "connection is lost",
    "connection timeout",
    "connection refused",
    "server closed the connection",
    "terminating connection",
    "the database system is",
)
# Called with the error of a COMMIT that failed: no statement has failed then.
COMMIT_HOOKS: list[Callable[[Exception], object]] = []


@contextmanager
def report_failed_commit() -> Iterator[None]:
    """Call COMMIT_HOOKS with the error of the block, and raise it."""
    try:
        yield
    except Exception as error:
        for hook in COMMIT_HOOKS:
            hook(error)
        raise


def find_storage_fault(error: BaseException | None) -> StorageFault | None:
    """The fault of the disk that caused an error; None for any other error."""
    for cause in causes_of(error):
        if isinstance(cause, OSError):
            fault = _ERRNOS.get(cause.errno or 0)
        elif type(cause).__name__ in ("OperationalError", "DatabaseError"):  # Django's and the library's
            fault = next((found for text, found in MESSAGES.items() if text in str(cause).lower()), None)
        else:
            fault = None
        if fault is not None:
            return fault
    return None


def is_unreachable(error: BaseException | None) -> bool:
    """True if the error means that the database server does not answer."""
    return any(
        type(cause).__name__ in ("OperationalError", "AdminShutdown", "CrashShutdown")
        and any(text in str(cause).lower() for text in UNREACHABLE)
        for cause in causes_of(error)
    )


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what caused it, outermost first."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
