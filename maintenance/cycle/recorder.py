"""What a run writes passes through a Recorder: by compare-and-set, and kept with its values before, so that it can be undone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import Field, ForeignKey, Model

from access import audit
from access.actor import Actor
from maintenance.models import Run, RunChange
from memories.models import Memory
from memories.queries.snapshot import as_json
from memories.types import State
from storage.bulk_update import write_columns

ROWS_AT_ONCE = 200  # in one statement; SQLite takes a limited number of variables


@dataclass
class Recorder:
    """Keeps what one batch changes; lives as long as the batch's transaction. `actor` carries the run's id."""

    actor: Actor
    run: Run
    step: str
    retired: int = 0
    _changes: list[RunChange] = field(default_factory=list)
    _events: list[audit.AuditEvent] = field(default_factory=list)

    def edit(self, row: Model, **new: Any) -> bool:
        """Write fields of a row where they still are what `row` says; False, and nothing written, where not."""
        old = {name: getattr(row, name) for name in new}
        if old == new:
            return False
        if type(row)._base_manager.filter(pk=row.pk, **old).update(**new) != 1:
            return False
        for name, value in new.items():
            setattr(row, name, value)
        if old.get("state") == State.LIVE and new.get("state") != State.LIVE:
            self.retired += 1
        self._keep(row, before=_as_json(old), after=_as_json(new))
        return True

    def edit_many(self, rows: Sequence[Model], **columns: Sequence[Any]) -> int:
        """Write one value per row and field, of rows read in this transaction; one change for all. Give their number."""
        if not rows:
            return 0
        model = type(rows[0])
        before = {name: [getattr(row, name) for row in rows] for name in columns}
        for name, values in columns.items():
            for row, value in zip(rows, values, strict=True):
                setattr(row, name, value)
        keys = [row.pk for row in rows]
        write_columns(model, keys, columns)
        change = RunChange(
            run=self.run,
            step=self.step,
            table=model._meta.db_table,
            row=keys[0],
            is_batch=True,
            before=packed(keys, before),
            after=packed(keys, columns),
        )
        self._changes.append(change)
        return len(rows)

    def made(self, row: Model, *fields: str) -> None:
        """Keep that the run made a row; undoing deletes it while `fields` are what they are now."""
        values = {name: getattr(row, name) for name in fields}
        self._keep(row, before=None, after=_as_json(values))

    def log(
        self,
        operation: str,
        *,
        memory: UUID | None = None,
        group: UUID | None = None,
        subject: str = "",
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Note an event for the audit log; all of a batch are appended at its end."""
        self._events.append(audit.AuditEvent(operation, memory, group, subject, payload or {}))

    def retire(
        self,
        memory: Memory,
        operation: str,
        *,
        at: datetime,
        why: str,
        into: Memory | None = None,
        **new: Any,
    ) -> bool:
        """Take a live memory out of what counts, with its row in the audit log; False where it changed meanwhile.

        `into` is the memory that stands for it from now on. The caller refreshes the contexts of those beside it.
        """
        new |= {"state_changed_at": at, "updated_at": at}
        said = {name: [as_json(getattr(memory, name)), as_json(value)] for name, value in new.items()}
        if into is not None:
            new["superseded_by_id"] = into.key
            said["superseded_by"] = [None, str(into.id)]
        if not self.edit(memory, **new):
            return False
        self.log(
            operation,
            memory=memory.id,
            group=memory.group.id,
            payload={"changes": said, "reason": why, "step": self.step},
        )
        return True

    def flush(self) -> None:
        """Write what was kept; inside the batch's transaction."""
        RunChange.objects.bulk_create(self._changes, batch_size=ROWS_AT_ONCE)
        audit.append_many(self.actor, self._events)
        self._changes, self._events = [], []

    def _keep(self, row: Model, *, before: dict[str, Any] | None, after: dict[str, Any]) -> None:
        table = type(row)._meta.db_table
        change = RunChange(run=self.run, step=self.step, table=table, row=row.pk, before=before, after=after)
        self._changes.append(change)


def packed(keys: Sequence[int], columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Give the columns of a batch as JSON; one that holds the same value throughout as that value."""
    said: dict[str, Any] = {"pk": list(keys)}
    for name, values in columns.items():
        listed = [as_json(value) for value in values]
        is_constant = all(value == listed[0] for value in listed) and not isinstance(listed[0], list)
        said[name] = listed[0] if is_constant else listed
    return said


def unpacked(said: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Give `(pk, {field: value})` for each row of a batch."""
    keys: list[int] = said["pk"]
    names = [name for name in said if name != "pk"]
    columns = {n: said[n] if isinstance(said[n], list) else [said[n]] * len(keys) for n in names}
    return [(key, {name: columns[name][at] for name in names}) for at, key in enumerate(keys)]


def model_of(table: str) -> type[Model]:
    """Give the model of a table."""
    return next(model for model in apps.get_models() if model._meta.db_table == table)


def from_json(model: type[Model], values: Mapping[str, Any]) -> dict[str, Any]:
    """Give a change's values as the model's fields have them."""
    return {name: _typed(model, name, value) for name, value in values.items()}


def _typed(model: type[Model], name: str, value: Any) -> Any:
    declared: Field[Any, Any] = model._meta.get_field(name.removesuffix("_id"))  # type: ignore[assignment]
    if isinstance(declared, ForeignKey):
        return value
    return declared.to_python(value)


def _as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: as_json(value) for name, value in values.items()}
