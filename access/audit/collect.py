"""Collects the log rows that a piece of work appends, so that its answer can name them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from storage.call_state import CallState


class WrittenRow(NamedTuple):
    """The key and operation of a row that was appended."""

    key: int
    operation: str


_WRITTEN: CallState[list[WrittenRow]] = CallState("loci_written_rows")


@contextmanager
def collecting_rows() -> Iterator[list[WrittenRow]]:
    """Collect the rows appended in the block; those of a transaction that is rolled back are among them."""
    with _WRITTEN.holding([]) as rows:
        yield rows


def note_rows(keys: Iterable[int], operations: Iterable[str]) -> None:
    """Add appended rows to the collection of the current work, if there is one."""
    rows = _WRITTEN.get()
    if rows is not None:
        rows.extend(map(WrittenRow, keys, operations))


def row_count() -> int:
    """The number of rows collected so far."""
    return len(_WRITTEN.get() or ())


def drop_rows_after(count: int) -> None:
    """Forget the rows collected after the first `count`: their transaction was rolled back."""
    del (_WRITTEN.get() or [])[count:]


def collected_rows() -> tuple[WrittenRow, ...]:
    """What the current work has appended so far."""
    return tuple(_WRITTEN.get() or ())
