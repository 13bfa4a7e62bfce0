"""Collects the log rows that a piece of work appends, so that its answer can name them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from storage.call_state import CallState
from storage.changes import apart


class WrittenRow(NamedTuple):
    """The key and operation of a row that was appended."""

    key: int
    operation: str


@dataclass
class Work:
    """The number of the change that a piece of work is, and the log rows that it has appended so far."""

    change: int
    rows: list[WrittenRow] = field(default_factory=list)


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
        work.rows.extend(map(WrittenRow, keys, operations))


def row_count() -> int:
    """The number of rows collected so far."""
    work = _WORK.get()
    return len(work.rows) if work is not None else 0


def drop_rows_after(count: int) -> None:
    """Forget the rows collected after the first `count`: their transaction was rolled back."""
    work = _WORK.get()
    if work is not None:
        del work.rows[count:]


def current_work() -> Work:
    """The current piece of work; an empty one outside of all."""
    return _WORK.get() or Work(0)
