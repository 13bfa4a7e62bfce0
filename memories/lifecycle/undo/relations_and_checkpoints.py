"""Undo of writes that change no memory by themselves: relations and checkpoints."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext, pgettext

from access import audit
from access.actor import READ, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.models import AuditEntry
from memories.lifecycle.target import change_fields, find_version
from memories.lifecycle.undo.write import REASON, UNDO, PastWrite, find_use, hidden_values, refuse_changed
from memories.models import Checkpoint
from memories.queries.snapshot import as_json
from memories.store.policy import refuse_write
from memories.types import State
from relations.models import Relation, RelationEvidence


def undo_relation(actor: Actor, write: PastWrite) -> tuple[str, ...]:
    """Retire a new relation, or set a known one back; entities that were made for it and serve nothing else go too."""
    subject, payload = write.main.subject, write.payload
    relation = Relation.objects.select_related("group").filter(id=UUID(subject.partition(":")[2])).first()
    if relation is None or relation.retired_at is not None:
        raise Conflict("The relation is gone.", hint="Nothing was changed.", field=UNDO)
    if not actor.may(WRITE, relation.group_id):
        refuse_write(relation.group.slug)
    later = AuditEntry.objects.filter(
        origin=audit.OWN, operation=Operation.RELATE, subject=subject, key__gt=write.main.key
    )
    if later.exclude(actor=actor.name, token=actor.token_id).exists():
        raise Conflict(
            "Somebody else has stored the relation since.", hint="Nothing was changed.", field=UNDO
        )
    roots = [find_version(actor, id_, right=READ).root_key for id_ in payload.get("evidence_added", [])]
    RelationEvidence.objects.filter(relation=relation, memory__in=roots).delete()
    line = (
        gettext("the relation is gone")
        if payload["outcome"] == "created"
        else gettext("the relation is as before")
    )
    if payload["outcome"] == "created":
        Relation.objects.filter(pk=relation.pk).update(retired_at=timezone.now(), updated_at=timezone.now())
    else:
        set_back(relation, payload)
    audit.append(
        actor, Operation.RELATE, memory_id=write.main.memory_id, group=relation.group.id, subject=subject,
        payload={"outcome": "undone", "reason": REASON},
    )  # fmt: skip
    return (line, *hide_entities(actor, write))


def set_back(relation: Relation, payload: dict[str, Any]) -> None:
    """Set the fields of a known relation back; one that has changed since is a Conflict."""
    for name, (_, after) in payload.get("changes", {}).items():
        if as_json(getattr(relation, name)) != after:
            raise Conflict("The relation has changed since.", hint="Nothing was changed.", field=UNDO)
    values: dict[str, Any] = {name: before for name, (before, _) in payload.get("changes", {}).items()}
    for name in ("valid_to", "valid_to_known_at"):
        if values.get(name):
            values[name] = datetime.fromisoformat(values[name])
    Relation.objects.filter(pk=relation.pk).update(**values, updated_at=timezone.now())


def hide_entities(actor: Actor, write: PastWrite) -> tuple[str, ...]:
    """Hide the entities that the write made, but for those that something uses since."""
    lines: list[str] = []
    for row in write.of(Operation.STORE):
        entity = find_version(actor, row.memory_id or "", right=WRITE)
        try:
            refuse_changed(actor, write, entity)
            use = find_use(entity)
        except Conflict as error:
            use = error.message
        if use or entity.state != State.LIVE:
            why = use or pgettext("word", entity.state)
            lines.append(gettext("{id} stays: {use}").format(id=entity.id, use=why))
            continue
        change_fields(actor, entity, Operation.FORGET, hidden_values(), (), reason=REASON, dry_run=False)
        lines.append(gettext("{id} is hidden").format(id=entity.id))
    return tuple(lines)


def undo_checkpoint(actor: Actor, write: PastWrite) -> tuple[str, ...]:
    """Delete the checkpoint; the one before it is the newest again."""
    checkpoint = Checkpoint.objects.select_related("group").filter(
        id=UUID(write.main.subject.partition(":")[2])
    ).first()  # fmt: skip
    if checkpoint is None:
        raise Conflict("The checkpoint is gone.", hint="Nothing was changed.", field=UNDO)
    if not actor.may(WRITE, checkpoint.group_id):
        refuse_write(checkpoint.group.slug)
    checkpoint.delete()
    audit.append(
        actor, Operation.CHECKPOINT, group=checkpoint.group.id, subject=write.main.subject,
        payload={"action": "undone"},
    )  # fmt: skip
    return (gettext("the checkpoint is gone; the one before it is the newest again"),)
