"""What a run changed, or would change, as people read it: a line per memory, with its fields before and after."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from access.actor import Actor
from maintenance.cycle import RunPlan, check_plan, run_cycle
from maintenance.cycle.recorder import model_of, unpacked
from maintenance.dry_run import tried
from maintenance.models import Run, RunChange
from maintenance.runs.listing import run_json
from memories.language.cleaning import first_words
from memories.models import Link, Memory

SHOWN_WORDS = 12
MAX_CHANGES = 2_000  # a preview lists so many; its counts are of all


@dataclass(frozen=True)
class PreviewedChange:
    """One row that a run changed. `fields` is `{name: [before, after]}`; `made` where the run wrote the row itself."""

    step: str
    table: str
    id: str
    text: str
    made: bool
    fields: dict[str, list[Any]]


@dataclass(frozen=True)
class RunPreview:
    """What a run would do: the run as JSON, and its changes, the first MAX_CHANGES of `total`."""

    run: dict[str, Any]
    steps: list[dict[str, Any]]
    changes: tuple[PreviewedChange, ...]
    total: int


def preview_cycle(actor: Actor, plan: RunPlan | None = None) -> RunPreview:
    """Give exactly what run_cycle() would do now, found out on a copy of the store. Nothing is changed.

    Raises:
        As run_cycle() does.
    """

    def on_copy() -> RunPreview:
        run = run_cycle(actor, plan)
        changes, total = changes_of(run, limit=MAX_CHANGES)
        return RunPreview({**run_json(run), "dry_run": True}, run.steps, changes, total)

    check_plan(actor, plan or RunPlan())  # before the store is copied
    return tried(on_copy)


def changes_of(run: Run, *, limit: int, offset: int = 0) -> tuple[tuple[PreviewedChange, ...], int]:
    """Give `limit` rows that a run changed, in order, after the first `offset`; and how many there are."""
    found: list[tuple[RunChange, int, dict[str, list[Any]]]] = []
    total = 0
    for change in run.changes.order_by("key").iterator():
        for row, fields in _rows_of(change):
            total += 1
            if total > offset and len(found) < limit:
                found.append((change, row, fields))
    return tuple(_shown(found)), total


def _rows_of(change: RunChange) -> Iterator[tuple[int, dict[str, list[Any]]]]:
    after = change.after or {}
    if change.is_batch:
        befores = unpacked(change.before or {})
        for (key, old), (_, new) in zip(befores, unpacked(after), strict=True):
            yield key, {name: [old[name], new[name]] for name in new}
        return
    before = change.before or {}
    yield change.row, {name: [before.get(name), value] for name, value in after.items()}


def _shown(found: Iterable[tuple[RunChange, int, dict[str, list[Any]]]]) -> Iterator[PreviewedChange]:
    found = list(found)
    names = {
        table: _named(table, [row for c, row, _ in found if c.table == table]) for table in _tables(found)
    }
    for change, row, fields in found:
        id_, text = names[change.table].get(row, (str(row), ""))
        yield PreviewedChange(change.step, change.table, id_, text, change.before is None, fields)


def _tables(found: list[tuple[RunChange, int, dict[str, list[Any]]]]) -> set[str]:
    return {change.table for change, _, _ in found}


def _named(table: str, keys: list[int]) -> dict[int, tuple[str, str]]:
    """Give each row's id and what it says in a line."""
    model = model_of(table)
    rows: QuerySet[Any] = model._base_manager.all()
    if issubclass(model, Link):
        rows = rows.select_related("source", "target")  # their texts are what a link says
    return {key: (str(getattr(row, "id", key)), _line(row)) for key, row in rows.in_bulk(keys).items()}


def _line(row: Any) -> str:
    if isinstance(row, Memory):
        return first_words(row.content, SHOWN_WORDS)
    if isinstance(row, Link):
        return f"{row.kind}: {first_words(row.source.content, 6)} ↔ {first_words(row.target.content, 6)}"
    return str(row)
