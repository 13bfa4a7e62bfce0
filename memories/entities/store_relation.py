"""Entities and the relations between them: names lead to entity memories, store_relation() ties two of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import READ, WRITE, Actor
from access.audit.operations import Operation
from access.errors import InvalidInput
from access.groups import find_or_create_group
from access.models import Group
from memories.draft import DEFAULT_CONFIDENCE, Draft, check_range
from memories.language.cleaning import clean_line, fold
from memories.models import Memory
from memories.queries.versions import find_memory, head_of
from memories.queries.visibility import RECALLED, as_q, listed_by
from memories.store import (
    REINFORCEMENT,
    Outcome,
    PreparedDraft,
    add_alias,
    check_may_write,
    prepare_store,
    store_prepared,
)
from memories.types import State, Trust, Type
from relations.models import EntityAlias, Relation, RelationEvidence

MAX_NAME_CHARS = 200
MAX_EVIDENCE = 20
_PREDICATE = re.compile(r"[^\w]+")


@dataclass(frozen=True)
class RelationResult:
    """The answer to store_relation(): `created`, `reinforced` or `superseded`, and the entities that were made for it."""

    outcome: str
    relation: Relation
    subject: Memory
    object: Memory
    group: str
    group_created: bool
    entities_created: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True)
class RelationDraft:
    """What a caller says: subject and object are memory ids or names; `evidence` the ids of memories that prove it."""

    subject: str
    predicate: str
    object: str
    group: str | None = None
    evidence: tuple[str, ...] = ()
    confidence: float = DEFAULT_CONFIDENCE
    valid_from: datetime | None = None
    valid_to: datetime | None = None


def store_relation(actor: Actor, draft: RelationDraft) -> RelationResult:
    """Tie two things. Names that are not known become entity memories; the same relation again is reinforced.

    Raises:
        InvalidInput: a name, the predicate or the times are not allowed.
        NotFound: an id is not among what the actor may see.
        GroupRequired, GroupNotFound, NotPermitted: the group is at fault.
    """
    predicate = _checked_predicate(draft)
    check_may_write(actor, draft.group)
    evidence = [_visible_head(actor, id_, field="evidence") for id_ in draft.evidence]
    for name in ("subject", "object"):
        _checked_end(actor, getattr(draft, name), field=name)
    ready = {name: _prepared_entity(actor, name, draft.group) for name in (draft.subject, draft.object)}
    with transaction.atomic():
        resolved = find_or_create_group(actor, draft.group, right=WRITE)
        subject, made_subject = _end(actor, draft.subject, resolved.group, ready, field="subject")
        object_, made_object = _end(actor, draft.object, resolved.group, ready, field="object")
        if subject.root_key == object_.root_key:
            raise InvalidInput("Subject and object are the same memory.", field="object")
        relation, outcome, why = _tie(actor, draft, resolved.group, subject, predicate, object_)
        _prove(relation, evidence)
        audit.append(
            actor,
            Operation.RELATE,
            memory_id=subject.id,
            group=subject.group.id,
            subject=f"relation:{relation.id}",
            payload={
                "outcome": outcome,
                "predicate": predicate,
                "object": str(object_.id),
                "evidence": [str(memory.id) for memory in evidence],
            },
        )
    made = [end.content for end, is_made in ((subject, made_subject), (object_, made_object)) if is_made]
    return RelationResult(
        outcome, relation, subject, object_, resolved.group.slug, resolved.created, tuple(made), why
    )


def find_entity(actor: Actor, group: Group, name: str) -> Memory | None:
    """Give the live entity that goes by `name` in the group or globally, the group's own first.

    Its name may be older than its scope: one whose current version the actor may not see is not found.
    """
    if not actor.may(READ, group.key):
        return None
    aliases = (
        EntityAlias.objects.filter(fold=fold(name)[:MAX_NAME_CHARS])
        .filter(Q(group=group) | Q(memory__scope="global"))
        .select_related("memory__group")
        .order_by("key")
    )
    heads = [head_of(alias.memory) for alias in aliases]
    seen = listed_by(actor, group, states=frozenset({State.LIVE}), trusts=RECALLED | {Trust.CANDIDATE})
    shown = set(
        Memory.objects.filter(as_q(seen), key__in=[head.key for head in heads]).values_list("key", flat=True)
    )
    found = [head for head in heads if head.key in shown]
    own = [memory for memory in found if memory.group_id == group.key]
    return next(iter(own or found), None)


def _prepared_entity(actor: Actor, said: str, slug: str | None) -> PreparedDraft | None:
    """Embed a name that is not known yet, before any transaction; None for an id and for a known name."""
    if _is_id(said):
        return None
    name = clean_line(said, field="subject", max_chars=MAX_NAME_CHARS)
    wanted = slug or actor.default_group or settings.LOCI.access.default_group
    group = Group.objects.filter(slug=wanted).first()
    if group is not None and find_entity(actor, group, name) is not None:
        return None
    return prepare_store(actor, Draft(name, type=Type.ENTITY, group=slug, source="relation"))


def _end(
    actor: Actor, said: str, group: Group, ready: Mapping[str, PreparedDraft | None], *, field: str
) -> tuple[Memory, bool]:
    """Give the memory an id or a name stands for, and whether it was made for this."""
    if _is_id(said):
        return _visible_head(actor, said, field=field), False
    name = clean_line(said, field=field, max_chars=MAX_NAME_CHARS)
    known = find_entity(actor, group, name)
    if known is not None:
        return known, False
    # Known when it was prepared and gone since: rare enough to embed inside the transaction.
    prepared = ready[said] or prepare_store(
        actor, Draft(name, type=Type.ENTITY, group=group.slug, source="relation")
    )
    stored = store_prepared(actor, prepared)
    if stored.memory is None or stored.outcome == Outcome.REFUSED:
        raise InvalidInput(f"'{name}' cannot be stored: {stored.why}.", field=field)
    add_alias(stored.memory, name)
    return stored.memory, stored.outcome in (Outcome.CREATED, Outcome.QUEUED)


def _tie(
    actor: Actor, draft: RelationDraft, group: Group, subject: Memory, predicate: str, object_: Memory
) -> tuple[Relation, str, str]:
    now = timezone.now()
    known = Relation.objects.filter(
        group=group, subject=subject.root_key, predicate=predicate, object=object_.root_key,
        retired_at=None, valid_to=None,
    ).first()  # fmt: skip
    if known is not None and draft.valid_to is None:
        known.confidence = min(1.0, round(known.confidence + REINFORCEMENT, 6))
        known.updated_at = now
        known.save(update_fields=["confidence", "updated_at"])
        return known, "reinforced", "it was known already"
    if known is not None and known.valid_from and draft.valid_to and draft.valid_to < known.valid_from:
        raise InvalidInput("valid_to lies before the relation's valid_from.", field="valid_to")
    if known is not None:
        known.valid_to, known.valid_to_known_at, known.updated_at = draft.valid_to, now, now
        known.save(update_fields=["valid_to", "valid_to_known_at", "updated_at"])
        return known, "superseded", "its end was set"
    ended = Relation.objects.filter(
        group=group, subject=subject.root_key, predicate=predicate, object=object_.root_key,
        retired_at=None, valid_from=draft.valid_from, valid_to=draft.valid_to,
    ).first()  # fmt: skip
    if ended is not None:
        return ended, "reinforced", "its end was known already"
    relation = Relation.objects.create(
        group=group,
        subject_id=subject.root_key,
        predicate=predicate,
        object_id=object_.root_key,
        confidence=draft.confidence,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        valid_to_known_at=now if draft.valid_to else None,
        author_id=actor.user_id,
        author_name=actor.name,
        token_id=actor.token_key,
        run=actor.run,
    )
    return relation, "created", ""


def _prove(relation: Relation, evidence: Sequence[Memory]) -> None:
    for memory in evidence:
        RelationEvidence.objects.get_or_create(relation=relation, memory_id=memory.root_key)


def _checked_predicate(draft: RelationDraft) -> str:
    said = clean_line(draft.predicate, field="predicate", max_chars=80)
    predicate = _PREDICATE.sub("_", said.lower()).strip("_")
    if not predicate:
        raise InvalidInput(
            "The predicate is empty.",
            hint="Say how they hang together: uses, owns, is_part_of.",
            field="predicate",
        )
    check_range(draft.confidence, 0, 1, field="confidence")
    if len(draft.evidence) > MAX_EVIDENCE:
        raise InvalidInput(f"At most {MAX_EVIDENCE} memories are taken as evidence.", field="evidence")
    for name in ("valid_from", "valid_to"):
        moment = getattr(draft, name)
        if moment is not None and moment.tzinfo is None:
            raise InvalidInput(
                f"{name} has no time zone.", hint="Add 'Z' or an offset such as +02:00.", field=name
            )
    if draft.valid_from and draft.valid_to and draft.valid_to < draft.valid_from:
        raise InvalidInput("valid_to lies before valid_from.", field="valid_to")
    return predicate


def _checked_end(actor: Actor, said: str, *, field: str) -> None:
    """Raise before anything is written where an end can be neither found nor made."""
    if _is_id(said):
        find_memory(actor, said, field=field)
    elif not clean_line(said, field=field, max_chars=MAX_NAME_CHARS):
        raise InvalidInput(f"'{field}' is empty.", hint="Give a name or a memory id.", field=field)


def _visible_head(actor: Actor, id_: str, *, field: str) -> Memory:
    """Give the version that counts of the memory of this id; it may have a narrower scope than the one named."""
    return find_memory(actor, head_of(find_memory(actor, id_, field=field)).id, field=field)


def _is_id(said: str) -> bool:
    try:
        UUID(said.strip().removeprefix("loci://memories/"))
    except ValueError:
        return False
    return True
