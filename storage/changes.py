"""The number of the change that a piece of work belongs to; database triggers write it next to each former value.

A change is what one call, decision, run, import or move does, in one transaction or in many. Its triggers read the number
from the connection: on SQLite through the function `loci_change()`, on PostgreSQL from the transaction's setting
`loci.change`.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.db import Error, connection

from storage.call_state import CallState
from storage.dialect import dialect

_NOT_KEPT: Final = 0  # the change keeps no former values: a purge destroys them
_RANDOM_BITS: Final = 12
_CHANGE: CallState[int] = CallState("loci_change")


def new_change(at_s: float | None = None) -> int:
    """A number for a change: microseconds since 1970 and random bits, so later changes have greater numbers.

    With `at_s`, in seconds, about the least number of a change at that time.
    """
    micros = int((time.time() if at_s is None else at_s) * 1_000_000)
    return (micros << _RANDOM_BITS) | (0 if at_s is not None else secrets.randbits(_RANDOM_BITS))


def change_of(id_: UUID, part: int = 0) -> int:
    """The number of the change that a run, an import or a scan with this id (UUID v7) is, or of a part of it."""
    value = id_.int
    millis, random = value >> 80, value & ((1 << (_RANDOM_BITS + 9)) - 1)
    return ((millis * 1000) << _RANDOM_BITS) + random + part


def moment_of(change: int) -> datetime:
    """About when a change began."""
    return datetime.fromtimestamp((change >> _RANDOM_BITS) / 1_000_000, UTC)


def current_change() -> int | None:
    """The number of the current change; None outside of one, and where no former values are kept."""
    return _CHANGE.get() or None


@contextmanager
def changing(number: int | None = None) -> Iterator[int]:
    """Do the block as one change: the one with this number, or the one that is open, or a new one."""
    open_ = _CHANGE.get()
    change = new_change() if open_ is None else open_
    with continuing(change if number is None or open_ == _NOT_KEPT else number):
        yield change if number is None else number


@contextmanager
def apart() -> Iterator[int]:
    """Do the block as a change of its own, whatever change is open."""
    change = new_change()
    with continuing(change):
        yield change


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """Keep no former values in the block: a purge destroys them, a job with a batch of its own keeps them itself."""
    with continuing(_NOT_KEPT):
        yield


@contextmanager
def continuing(change: int) -> Iterator[None]:
    """Do the block as a part of this change, whatever change is open; 0: no former values are kept."""
    try:
        with _CHANGE.holding(change):
            _mark_transaction()
            yield
    finally:
        with suppress(Error):  # a transaction that failed: its rollback brings the former change back
            _mark_transaction()


def _mark_transaction() -> None:
    """Tell the open transaction its change, where the database keeps it there; one that begins later is told as it begins."""
    sql = dialect().mark_change
    if sql and connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute(sql, [str(current_change() or "")])
