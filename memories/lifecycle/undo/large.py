"""Large changes, such as runs and imports: taken back in short transactions, and updates of many rows at once."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from django.db import transaction
from django.db.models import Model

from access.models import RowChange
from memories.lifecycle.undo.reverse import Reversed, StayingRow, Terms
from memories.lifecycle.undo.rows import MEMORY, TABLES, FormerRow, pack_batch, table_named, unpack_batch
from memories.models import Link, Memory
from memories.queries.versions import head_of
from storage.bulk import batches, write_columns
from storage.changes import changing, current_change, keeping_nothing

ROWS_AT_ONCE: Final = 50  # per transaction


def in_parts(rows: Sequence[FormerRow]) -> Iterator[list[FormerRow]]:
    """The rows of a large change for short transactions, the last first; what belongs to one new memory stays together."""
    made = {row.row for row in rows if row.is_memory and row.made}
    homes = _find_homes(rows, made)
    units: dict[tuple[str, int], list[FormerRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: -row.last):
        home = (
            row.values.get("superseded_by_id", (None, None))[1]
            if row.is_memory
            else homes.get((row.table.name, row.row))
        )
        units[(MEMORY.name, home) if home in made else (row.table.name, row.row)].append(row)
    part = list[FormerRow]()
    for unit in units.values():
        part += unit
        if len(part) >= ROWS_AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def _find_homes(rows: Sequence[FormerRow], made: Collection[int]) -> dict[tuple[str, int], int]:
    """The new memory that each new row is a part of, or that a link leads to."""
    homes = dict[tuple[str, int], int]()
    for table in (table for table in TABLES if table.part_of):
        ends = (table.part_of, "target_id") if table.model is Link else (table.part_of,)
        for some in batches(row.row for row in rows if row.made and row.table is table):
            for key, *found in table.model._base_manager.filter(pk__in=some).values_list("pk", *ends):
                homes[table.name, key] = next((memory for memory in found if memory in made), 0)
    return homes


def reverse_batch(batch: RowChange, terms: Terms) -> Reversed:
    """Put back what one update of many rows changed, but for rows that have changed since. One transaction; not logged."""
    model, done = table_named(batch.kept).model, Reversed()
    with changing(), transaction.atomic():
        pairs = dict(unpack_batch(batch))
        found = model._base_manager.in_bulk(list(pairs))
        fitting: dict[int, dict[str, tuple[Any, Any]]] = {}
        for key, values in pairs.items():
            row = found.get(key)
            if row is not None and (terms.force or _has_new(row, values)):
                fitting[key] = values
            else:
                why = "deleted since" if row is None else "changed since"
                done.kept.append(StayingRow(batch.kept, key, str(getattr(row, "id", "")), why))
            if isinstance(row, Memory) and row.superseded_by_id is not None:
                head = head_of(row)  # counts; edits since may have carried the values on to it
                if head.root_key == row.root_key and (terms.force or _has_new(head, values)):
                    fitting[head.pk] = values
                    done.carried.append(head.id)
        if fitting:
            _swap(model, fitting)
        RowChange.objects.filter(pk=batch.pk).update(undone_by=current_change())
    done.restored = len(fitting) - len(done.carried)
    return done


def _has_new(row: Model, values: Mapping[str, tuple[Any, Any]]) -> bool:
    """True if the row still has the values that the batch gave it."""
    return all(getattr(row, name) == new for name, (_, new) in values.items())


def _swap(model: type[Model], rows: Mapping[int, Mapping[str, tuple[Any, Any]]]) -> None:
    """Write the former values of rows as a batch of its own."""
    names = list(next(iter(rows.values())))
    old = {name: [values[name][0] for values in rows.values()] for name in names}
    new = {name: [values[name][1] for values in rows.values()] for name in names}
    with keeping_nothing():
        write_columns(model, list(rows), old)
    vals, kept = pack_batch(list(rows), new, old), model._meta.db_table
    RowChange.objects.create(change=current_change() or 0, op="b", kept=kept, row=next(iter(rows)), vals=vals)
