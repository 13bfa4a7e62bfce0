"""Every write of a run goes through a Recorder: compare-and-set, with the old values saved so that it can be undone."""

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
from storage.bulk.update import write_columns

ROWS_AT_ONCE = 200  # per statement; SQLite limits the number of variables


@dataclass
class Recorder:
    """Records the changes of one batch; lives as long as the batch's transaction. `actor` carries the run's id."""

    actor: Actor
    run: Run
    step: str
    retired: int = 0
    _changes: list[RunChange] = field(default_factory=list)
    _events: list[audit.AuditEvent] = field(default_factory=list)

    def edit(self, row: Model, **new: Any) -> bool:
        """Update fields of a row if they still hold the values in `row`; False, with nothing written, if not."""
        old = {name: getattr(row, name) for name in new}
        if old == new:
            return False
        if type(row)._base_manager.filter(pk=row.pk, **old).update(**new) != 1:
            return False
        for name, value in new.items():
            setattr(row, name, value)
        if old.get("state") == State.LIVE and new.get("state") != State.LIVE:
            self.retired += 1
        self._record(row, before=old, after=new)
        return True

    def edit_many(self, rows: Sequence[Model], **columns: Sequence[Any]) -> int:
        """Update one value per row and field, of rows read in this transaction; return the number of rows.

        All of it is recorded as one change.
        """
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
            before=pack_batch(keys, before),
            after=pack_batch(keys, columns),
        )
        self._changes.append(change)
        return len(rows)

    def record_created(self, row: Model, *fields: str) -> None:
        """Record that the run created a row; undo deletes it if `fields` still hold their present values."""
        self._record(row, before=None, after={name: getattr(row, name) for name in fields})

    def log(
        self,
        operation: str,
        *,
        memory: UUID | None = None,
        group: UUID | None = None,
        subject: str = "",
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Queue an event for the audit log; flush() appends them all."""
        self._events.append(audit.AuditEvent(operation, memory, group, subject, payload or {}))

    def retire(
        self,
        memory: Memory,
        operation: str,
        *,
        at: datetime,
        reason: str,
        successor: Memory | None = None,
        **new: Any,
    ) -> bool:
        """Move a live memory to another state and log it; False if it changed meanwhile.

        `successor` is the memory that replaces it. The caller refreshes the contexts of its neighbours in the thread.
        """
        new |= {"state_changed_at": at, "updated_at": at}
        logged = {name: [as_json(getattr(memory, name)), as_json(value)] for name, value in new.items()}
        if successor is not None:
            new["superseded_by_id"] = successor.key
            logged["superseded_by"] = [None, str(successor.id)]
        if not self.edit(memory, **new):
            return False
        self.log(
            operation,
            memory=memory.id,
            group=memory.group.id,
            payload={"changes": logged, "reason": reason, "step": self.step},
        )
        return True

    def flush(self) -> None:
        """Write the recorded changes and audit events, inside the batch's transaction."""
        RunChange.objects.bulk_create(self._changes, batch_size=ROWS_AT_ONCE)
        audit.append_many(self.actor, self._events)
        self._changes, self._events = [], []

    def _record(self, row: Model, *, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> None:
        change = RunChange(
            run=self.run,
            step=self.step,
            table=type(row)._meta.db_table,
            row=row.pk,
            before=None if before is None else values_to_json(before),
            after=values_to_json(after),
        )
        self._changes.append(change)


def pack_batch(keys: Sequence[int], columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The columns of a batch as JSON; a column of one repeated value is stored as that value."""
    packed: dict[str, Any] = {"pk": list(keys)}
    for name, values in columns.items():
        listed = [as_json(value) for value in values]
        is_constant = all(value == listed[0] for value in listed) and not isinstance(listed[0], list)
        packed[name] = listed[0] if is_constant else listed
    return packed


def unpack_batch(packed: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """`(pk, {field: value})` for each row of a batch; the inverse of pack_batch()."""
    keys: list[int] = packed["pk"]
    names = [name for name in packed if name != "pk"]
    columns = {n: packed[n] if isinstance(packed[n], list) else [packed[n]] * len(keys) for n in names}
    return [(key, {name: columns[name][at] for name in names}) for at, key in enumerate(keys)]


def model_for_table(table: str) -> type[Model]:
    """The model that a database table belongs to."""
    return next(model for model in apps.get_models() if model._meta.db_table == table)


def values_to_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Field values as JSON, as a change stores them."""
    return {name: as_json(value) for name, value in values.items()}


def values_from_json(model: type[Model], values: Mapping[str, Any]) -> dict[str, Any]:
    """A change's values converted back to the types of the model's fields; foreign keys stay keys."""
    typed = {}
    for name, value in values.items():
        declared: Field[Any, Any] = model._meta.get_field(name.removesuffix("_id"))  # type: ignore[assignment]
        typed[name] = value if isinstance(declared, ForeignKey) else declared.to_python(value)
    return typed
