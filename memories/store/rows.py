"""What a store writes into rows: those of new memories, entities' names, findings, and the confidence of restated ones."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db.models import F

from access.actor import Actor
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.audit_search import written_today
from access.groups.guarding import TextFinding
from access.models import ApiToken, AuditEntry, Group
from guard.policy import STRICTNESS
from memories.draft import CONFIRMED_TODAY, DECAY_FLOOR, REINFORCEMENT, STORED, Draft
from memories.language.cleaning import fold
from memories.models import Memory, MemoryFinding
from memories.queries.snapshot import as_json
from memories.store.neighbours import is_overwriting
from memories.store.supersede import move_ends
from memories.store.threads import TextColumns, filter_tokens, text_columns
from memories.types import Type
from relations.models import EntityAlias
from storage.ids import new_id

# Where an entity's name ends and its description begins: "Anna: leads the team", "Anna is …", "Anna, who …".
_NAME_END = re.compile(r":|\n| [-–—] |, | is | are | was |\. ")
_MAX_ALIAS_CHARS = 80
_NAMES = tuple(field.name for field in STORED if field.name != "tags")  # a column has a list, a draft a tuple
_VALUES = attrgetter(*_NAMES)


def new_row(
    actor: Actor, draft: Draft, group: Group, *, trust: str, now: datetime, columns: TextColumns | None = None
) -> Memory:
    """The unsaved row of a draft: the first version of a chain, not in a thread yet.

    `columns` are the text's search columns, if already computed.
    """
    columns = columns or text_columns(draft)
    values = dict(zip(_NAMES, _VALUES(draft), strict=True))
    memory = Memory(
        **values,
        tags=list(draft.tags),
        group=group,
        id=new_id(),
        content_hash=columns.content_hash,
        fold_hash=columns.fold_hash,
        forms=columns.forms,
        days=columns.days,
        trust=trust,
        valid_to_known_at=now if draft.valid_to else None,
        created_at=now,
        updated_at=now,
        author_id=actor.user_id,
        author_name=actor.name,
        token_id=actor.token_key,
        client=actor.client[:120],
        run=actor.run,
    )
    if actor.token_key is not None:
        # Only key and id are loaded; Django reads any other field on access.
        memory.token = ApiToken.from_db(None, ["key", "id"], [actor.token_key, actor.token_id])
    memory.filter = filter_tokens(memory)
    return memory


def set_previous_version(memory: Memory, previous: Memory) -> None:
    """Make an unsaved row the next version of a stored one.

    A fact without a start of its valid time is true from its creation on.
    """
    memory.root_id, memory.version = previous.root_key, previous.version + 1
    has_ended = memory.valid_to is not None and memory.valid_to < memory.created_at
    if memory.valid_from is None and memory.type != Type.EPISODIC and not has_ended:
        memory.valid_from = memory.created_at


def add_names(memories: Iterable[Memory]) -> None:
    """Record the names of new entities: the beginnings of their texts."""
    entities = [memory for memory in memories if memory.type == Type.ENTITY]
    if not entities:
        return
    named = [(memory, _NAME_END.split(memory.content, maxsplit=1)[0].strip()) for memory in entities]
    EntityAlias.objects.bulk_create(
        [
            EntityAlias(memory_id=memory.root_key, fold=fold(name), group_id=memory.group_id, name=name)
            for memory, name in named
            if 0 < len(name) <= _MAX_ALIAS_CHARS
        ],
        ignore_conflicts=True,
    )


def add_alias(memory: Memory, name: str) -> None:
    """Record another name of an entity; a name that is empty or too long is ignored."""
    if 0 < len(name.strip()) <= _MAX_ALIAS_CHARS:
        EntityAlias.objects.get_or_create(
            memory_id=memory.root_key,
            fold=fold(name),
            defaults={"group_id": memory.group_id, "name": name.strip()},
        )


def record_findings(written: Iterable[tuple[Memory, tuple[TextFinding, ...]]]) -> None:
    """Record the findings of new rows; most texts have none. A kind that is recorded already gets the new count."""
    rows = [row for memory, found in written if found for row in _finding_rows(memory, found)]
    if rows:
        MemoryFinding.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["memory", "kind"],
            update_fields=["places", "treatment"],
        )


def _finding_rows(memory: Memory, found: Iterable[TextFinding]) -> list[MemoryFinding]:
    """Unsaved rows, one for each kind, with the strictest treatment."""
    kinds: dict[str, MemoryFinding] = {}
    for each in found:
        row = kinds.get(each.kind)
        if row is None:
            kinds[each.kind] = MemoryFinding(memory=memory, kind=each.kind, treatment=each.treatment.value)
            continue
        row.places += 1
        row.treatment = max(row.treatment, each.treatment.value, key=lambda word: STRICTNESS[word])
    return list(kinds.values())


def reinforce(
    actor: Actor, memories: Sequence[Memory], *, now: datetime, starts: Mapping[int, datetime] | None = None
) -> tuple[list[AuditEvent], dict[UUID, str]]:
    """Count restatements of memories, in order; returns the events to log, and the effects in words by memory id.

    Repeating a fact does not prove it, so confidence rises once per author and day. With storage.dedup `overwrite` it
    rises each time, and the restatement counts as an access. `starts` are earlier beginnings of valid time by key, which
    restatements name.
    """
    starts = starts or {}
    if not memories:
        return [], {}
    overwrites = is_overwriting()
    entries = AuditEntry.objects.filter(
        memory_id__in={memory.id for memory in memories}, operation__in=[Operation.REINFORCE, Operation.STORE]
    )
    confirmed = set() if overwrites else {entry.memory_id for entry in written_today(actor, entries)}
    events, effects = list[AuditEvent](), dict[UUID, str]()
    for memory in memories:
        before, is_counted = memory.confidence, memory.id in confirmed
        values: dict[str, Any] = {"confidence": before, "updated_at": now}
        if not is_counted:
            values["confidence"] = min(1.0, round(before + REINFORCEMENT, 6))
            values["confirmed_at"] = now
        if before <= DECAY_FLOOR:
            values["decayed_at"] = now  # fully decayed: decay starts again from now
        was, start = memory.valid_from, starts.get(memory.key)
        if was is not None and start is not None and start < was:
            values["valid_from"] = start
            move_ends(actor, memory, start, now)
        changes = {name: [as_json(getattr(memory, name)), as_json(value)] for name, value in values.items()}
        for name, value in values.items():
            setattr(memory, name, value)
        events.append(
            AuditEvent(Operation.REINFORCE, memory.id, memory.group.id, payload={"changes": changes})
        )
        effects[memory.id] = (
            CONFIRMED_TODAY if is_counted else f"confidence {before:.2f} → {memory.confidence:.2f}"
        )
        if "valid_from" in values:
            effects[memory.id] += f"; true from {memory.valid_from:%Y-%m-%d}, not only from {was:%Y-%m-%d}"
        if not overwrites:
            confirmed.add(memory.id)
    _save({memory.key: memory for memory in memories})
    if overwrites:
        for memory in memories:
            Memory.objects.filter(pk=memory.pk).update(access_count=F("access_count") + 1)
    return events, effects


def _save(memories: dict[int, Memory]) -> None:
    fields = ("confidence", "decayed_at", "valid_from", "updated_at", "confirmed_at")
    if len(memories) == 1:  # a third of the time of a bulk_update
        [memory] = memories.values()
        Memory.objects.filter(pk=memory.pk).update(**{name: getattr(memory, name) for name in fields})
    else:
        Memory.objects.bulk_update(memories.values(), fields, batch_size=100)
