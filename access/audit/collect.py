"""Collects the log rows that a piece of work appends, so that its answer can name them."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

from django.db import OperationalError, connection

from storage.call_state import CallState
from storage.changes import apart, changing


class _WrittenRow(NamedTuple):
    """The key and operation of a row that was appended."""

    key: int
    operation: str


@dataclass
class Work:
    """The number of the change that a piece of work is, and the log rows that it has appended so far."""

    change: int
    rows: list[_WrittenRow] = field(default_factory=list)


_WORK: CallState[Work] = CallState("loci_work")


@contextmanager
def collecting_rows() -> Iterator[Work]:
    """Do the block as a change of its own and collect the rows that it appends, those of a rolled back transaction too."""
    with apart() as change, _WORK.holding(Work(change)) as work:
        yield work


def note_rows(keys: Iterable[int], operations: Iterable[str]) -> None:
    """Add appended rows to the collection of the current work, if there is one."""
    work = _WORK.get()
    if work is not None:
        work.rows.extend(map(_WrittenRow, keys, operations))


def current_work() -> Work:
    """The current piece of work; an empty one outside of all."""
    return _WORK.get() or Work(0)


P = ParamSpec("P")
T = TypeVar("T")

# PostgreSQL's deadlock_detected and serialization_failure; SQLite has neither, since one transaction writes at a time.
_LOST = frozenset({"40P01", "40001"})
_PAUSES_S = (0.02, 0.1, 0.3, 1.0)  # each halved or doubled at random, so that two do not meet again


def one_change(write: Callable[P, T]) -> Callable[P, T]:
    """The function as one change, or as a part of the change that is open; run anew if its transaction lost to another.

    For whole writes, which read again what they decide by. Inside a larger transaction, that one's owner runs it anew.
    """

    @wraps(write)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        work = current_work()
        count = len(work.rows)
        with changing():
            for pause in _PAUSES_S:
                try:
                    return write(*args, **kwargs)
                except OperationalError as error:
                    is_lost = getattr(error.__cause__, "sqlstate", None) in _LOST
                    if connection.in_atomic_block or not is_lost:
                        raise
                    del work.rows[count:]  # their transaction was rolled back
                time.sleep(pause * random.uniform(0.5, 2))  # noqa: S311 - no secret
            return write(*args, **kwargs)

    return run
