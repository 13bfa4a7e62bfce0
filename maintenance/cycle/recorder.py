"""Every write of a run goes through a Recorder: compare-and-set, as a part of the run's change, which can be undone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Model, Q

from access import audit
from access.actor import Actor
from access.audit.operations import BATCHES, Operation
from access.models import Group, RowChange
from maintenance.models import Run
from memories.lifecycle.undo.rows import pack_batch
from memories.models import Link, LinkKind, Memory
from memories.queries.snapshot import as_json, snapshot
from memories.store import PreparedDraft, insert_version, record_findings
from memories.store.for_review import link
from memories.store.supersede import follow_withdrawal
from memories.types import State, Trust
from storage.bulk import write_columns
from storage.changes import change_of, current_change, keeping_nothing

# Each step of a run is a change of its own: the run's number and the place here.
STEPS: Final = (*BATCHES, "other")


def step_change(run: UUID, step: str) -> int:
    """The number of the change that a step of a run is."""
    return change_of(run, STEPS.index(step if step in STEPS else "other"))


def changes_of_run(run: UUID) -> dict[int, str]:
    """The steps of a run by the number of their change."""
    return {step_change(run, step): step for step in STEPS}


def within(payload: Mapping[str, Any]) -> Q:
    """Condition on RowChange: of the step and group whose log row has this payload."""
    after, last = payload["changes"]
    change = step_change(UUID(payload["run"]), payload["step"])
    return Q(change=change, key__gt=after, key__lte=last)


@dataclass
class Recorder:
    """The writes of one batch; lives as long as the batch's transaction. `actor` carries the run's id."""

    actor: Actor
    run: Run
    step: str
    unused: int = 0  # rows that went to sleep, or were forgotten because nothing uses them
    _batches: list[RowChange] = field(default_factory=list)
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
        self.unused += new.get("state") in (State.DORMANT, State.FORGOTTEN)
        return True

    def edit_many(self, rows: Sequence[Model], **columns: Sequence[Any]) -> int:
        """Update one value per row and field, of rows read in this transaction; return the number of rows.

        All of it is kept as one row: decay changes nearly every memory, and one row for each would outgrow the store.
        """
        if not rows:
            return 0
        model, keys = type(rows[0]), [row.pk for row in rows]
        before = {name: [getattr(row, name) for row in rows] for name in columns}
        for name, values in columns.items():
            for row, value in zip(rows, values, strict=True):
                setattr(row, name, value)
        with keeping_nothing():
            write_columns(model, keys, columns)
        vals = pack_batch(keys, before, columns)
        change = current_change() or 0
        self._batches.append(
            RowChange(change=change, op="b", kept=model._meta.db_table, row=keys[0], vals=vals)
        )
        return len(rows)

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

    def store(self, prepared: PreparedDraft, group: Group, *, trust: Trust, at: datetime) -> Memory:
        """Write a memory that the step made, with what the guard found in it, and log it."""
        memory = insert_version(self.actor, prepared, group, trust=trust, now=at)
        record_findings([(memory, prepared.draft.findings)])
        self.log(Operation.STORE, memory=memory.id, group=group.id, payload={"after": snapshot(memory)})
        return memory

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

        `successor` is the memory that replaces it. What a plan was to replace counts on when the plan ends before its day.
        The caller refreshes the contexts of its neighbours in the thread.
        """
        new |= {"state_changed_at": at, "updated_at": at}
        logged = {name: [as_json(getattr(memory, name)), as_json(value)] for name, value in new.items()}
        if successor is not None:
            new["superseded_by_id"] = successor.key
            logged["superseded_by"] = [None, str(successor.id)]
        if not self.edit(memory, **new):
            return False
        _, kept = follow_withdrawal(self.actor, memory)
        payload = {"changes": logged, "reason": reason, "step": self.step} | kept
        self.log(operation, memory=memory.id, group=memory.group.id, payload=payload)
        return True

    def link(self, source: Memory, target: Memory, *, at: datetime, **about: Any) -> bool:
        """Link the roots of two chains; False if they are linked already, or are the same chain."""
        return link(self.actor, source, target, at=at, **about)[1]

    def link_new(
        self, source: Memory, targets: Sequence[Memory], *, at: datetime, kind: LinkKind, reason: str
    ) -> int:
        """Link a memory of this batch, which has no links of this kind yet, to each of several chains; their number."""
        links = [
            Link(
                kind=kind,
                source_id=source.root_key,
                target_id=root,
                reason=reason,
                created_at=at,
                author_name=self.actor.name,
                run=self.actor.run,
            )
            for root in dict.fromkeys(target.root_key for target in targets)
        ]
        return len(Link.objects.bulk_create(links))

    def flush(self) -> None:
        """Write the batches and audit events, inside the batch's transaction."""
        RowChange.objects.bulk_create(self._batches)
        audit.append_many(self.actor, self._events)
        self._batches, self._events = [], []
