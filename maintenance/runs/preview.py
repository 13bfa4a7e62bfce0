"""Maintenance runs for people: the list of them, and the changes of one, done or previewed, with its fields before and after."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from access.actor import Actor
from access.answers import Answer, ShownAs
from access.models import RowChange
from maintenance.cycle import RunPlan, check_plan, run_cycle
from maintenance.cycle.recorder import changes_of_run
from maintenance.cycle.undo import visible_runs
from maintenance.dry_run import run_on_copy
from maintenance.models import Run
from memories.language.cleaning import first_words
from memories.lifecycle.undo.rows import table_named, unpack_batch
from memories.models import Link, Memory
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of
from memories.queries.snapshot import as_json


def list_runs(actor: Actor, *, cursor: str = "", limit: int = DEFAULT_LIMIT) -> Page[Run]:
    """A page of the runs that the actor may see, newest first.

    Raises:
        NotPermitted: the actor may not read.
        InvalidInput: the cursor or the limit is invalid.
    """
    return page_of(visible_runs(actor), cursor=cursor, limit=limit)


class RunOut(Answer):
    """One execution of maintenance."""

    id: UUID
    kind: str
    status: str
    group: Annotated[str | None, ShownAs("group.slug")]
    actor: str
    dry_run: bool
    counts: dict[str, Any]
    started_at: datetime
    finished_at: datetime | None
    error: str


SHOWN_WORDS = 12
_TOLD = ("type", "scope", "trust", "confidence")  # of a memory that a run creates
_ALL = Q()
MAX_CHANGES = 2_000  # listed in a preview, apart from its texts; its counts cover all

_FieldChanges = dict[str, list[Any]]  # {field: [before, after]}


@dataclass(frozen=True)
class PreviewedChange(Answer):
    """One row that a run changed. `fields` is `{name: [before, after]}`; `made` if the run created the row.

    Of a memory that it created, `text` is the whole text, and `fields` say what it would be.
    """

    step: str
    table: str
    id: str
    text: str
    made: bool
    fields: _FieldChanges


@dataclass(frozen=True)
class RunPreview:
    """What a run did or would do: the run as JSON, its steps, and a page of its `total` changes.

    `texts` counts the memories that it creates, which come first.
    """

    run: dict[str, Any]
    steps: list[dict[str, Any]]
    changes: tuple[PreviewedChange, ...]
    total: int
    texts: int


def preview_cycle(
    actor: Actor, plan: RunPlan | None = None, *, limit: int = MAX_CHANGES, offset: int = 0
) -> RunPreview:
    """Exactly what run_cycle() would do now, tried on a copy of the store. Nothing is changed.

    Raises:
        As run_cycle() does.
    """

    def on_copy() -> RunPreview:
        done = read_changes(run_cycle(actor, plan), limit=limit, offset=offset)
        return replace(done, run={**done.run, "dry_run": True})

    check_plan(actor, plan or RunPlan())  # before the store is copied
    return run_on_copy(on_copy)


def read_changes(run: Run, *, limit: int, offset: int = 0, among: Q = _ALL) -> RunPreview:
    """Every memory that a run created, then the first `limit` other rows that it changed, in order.

    An `offset` skips the memories and so many others. `among` narrows all, such as to those of one step in one group.
    """
    texts: list[tuple[RowChange, int, _FieldChanges]] = []
    others: list[tuple[RowChange, int, _FieldChanges]] = []
    count, steps = 0, changes_of_run(run.id)
    for change in RowChange.objects.filter(among, change__in=steps).order_by("key").iterator():
        for row, fields in unpack_change(change):
            if change.op == "i" and change.kept == Memory._meta.db_table:
                texts.append((change, row, fields))
                continue
            count += 1
            if count > offset and len(others) < limit:
                others.append((change, row, fields))
    found = others if offset else texts + others
    names = {
        table: _describe_rows(table, [row for change, row, _ in found if change.kept == table])
        for table in {change.kept for change, _, _ in found}
    }
    referenced = _name_references([(change.kept, fields) for change, _, fields in found])
    changes = []
    for change, row, fields in found:
        id_, text = names[change.kept].get(row, (str(row), ""))
        named = {
            name: [referenced.get((change.kept, name), {}).get(value, value) for value in values]
            for name, values in fields.items()
        }
        changes.append(PreviewedChange(steps[change.change], change.kept, id_, text, change.op == "i", named))
    shown = tuple(_with_texts(changes))
    return RunPreview(RunOut.json(run), run.steps, shown, count + len(texts), len(texts))


def _with_texts(changes: Sequence[PreviewedChange]) -> Iterator[PreviewedChange]:
    """The changes, with the whole text of each memory that was created, and what it is."""
    made = {change.id for change in changes if change.made and change.table == Memory._meta.db_table}
    rows = {str(row.id): row for row in Memory.objects.filter(id__in=made)} if made else {}
    for change in changes:
        row = rows.get(change.id)
        if row is None:
            yield change
            continue
        is_now = {name: [None, as_json(getattr(row, name))] for name in _TOLD}
        yield replace(change, text=row.content, fields=is_now)


def _name_references(rows: Sequence[tuple[str, _FieldChanges]]) -> dict[tuple[str, str], dict[int, str]]:
    """What the keys in foreign-key fields stand for in words, by table and field: keys are internal."""
    keys: dict[tuple[str, str], set[int]] = {}
    for table, fields in rows:
        for name, values in fields.items():
            if name.endswith("_id") and any(isinstance(value, int) for value in values):
                keys.setdefault((table, name), set()).update(v for v in values if isinstance(v, int))
    found = {}
    for (table, name), wanted in keys.items():
        target = table_named(table).model._meta.get_field(name.removesuffix("_id")).related_model
        if isinstance(target, type) and issubclass(target, Model):
            found[table, name] = {
                key: _describe_row(row) for key, row in target._base_manager.in_bulk(wanted).items()
            }
    return found


def unpack_change(change: RowChange) -> Iterator[tuple[int, _FieldChanges]]:
    """The rows of one kept change with their fields; a batch holds several."""
    if change.op == "b":
        for key, fields in unpack_batch(change):
            yield key, {name: [as_json(value) for value in pair] for name, pair in fields.items()}
        return
    yield change.row, dict(change.vals or {})


def _describe_rows(table: str, keys: Sequence[int]) -> dict[int, tuple[str, str]]:
    model = table_named(table).model
    rows: QuerySet[Any] = model._base_manager.all()
    if issubclass(model, Link):
        rows = rows.select_related("source", "target")  # a link's line quotes both
    return {
        key: (str(getattr(row, "id", key)), _describe_row(row)) for key, row in rows.in_bulk(keys).items()
    }


def _describe_row(row: Any) -> str:
    """A row in one line: the first words of a memory, or a link's kind and both ends."""
    if isinstance(row, Memory):
        return first_words(row.content, SHOWN_WORDS)
    if isinstance(row, Link):
        return f"{row.kind}: {first_words(row.source.content, 6)} ↔ {first_words(row.target.content, 6)}"
    return str(row)
