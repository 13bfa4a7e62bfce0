"""Storing relations: names become entity memories, and store_relation() relates two of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import READ, Actor
from access.audit import one_change
from access.audit.operations import Operation
from access.audit_search import written_today
from access.errors import InvalidInput
from access.groups import find_group_to_write, find_or_create_group, hold_groups
from access.groups.guarding import admit
from access.models import AuditEntry, Group
from guard import Door
from memories.draft import CONFIRMED_TODAY, DEFAULT_CONFIDENCE, REINFORCEMENT, Draft, check_range
from memories.draft.kinds import check_zone
from memories.entities.lines import refuse_stated
from memories.language.cleaning import clean_line, fold
from memories.models import Memory
from memories.queries.snapshot import as_json
from memories.queries.versions import find_memory, find_named, head_of, parse_short_id, versions_of
from memories.queries.visibility import RECALLED, as_q, listed_by
from memories.store import Outcome, PreparedDraft, add_alias, prepare_store, store_prepared
from memories.store.neighbours import is_overwriting
from memories.store.withdrawn.marks import refuse_withdrawn_texts
from memories.types import RELATION_SOURCE, Scope, State, Trust, Type
from relations.models import EntityAlias, Relation, RelationEvidence

MAX_NAME_CHARS = 200
_MAX_PREDICATE_CHARS = 80
MAX_EVIDENCE = 20
_CHANGING = ("confidence", "valid_to", "valid_to_known_at")  # by a restatement
_NO_WORD = re.compile(r"[^\w]+")


@dataclass(frozen=True)
class RelationResult:
    """Result of store_relation(): `created`, `reinforced` or `superseded`, and the entities created for it."""

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
    """A relation to store. Subject and object are memory ids or names; `evidence` holds ids of memories that prove it."""

    subject: str
    predicate: str
    object: str
    group: str | None = None
    evidence: tuple[str, ...] = ()
    confidence: float = DEFAULT_CONFIDENCE
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@one_change
def store_relation(actor: Actor, draft: RelationDraft) -> RelationResult:
    """Relate two memories. Unknown names become entity memories; an existing relation is reinforced or ended.

    Raises:
        SensitiveText: the predicate or a name holds what the group's policy refuses.
        InvalidInput: a name, the predicate or a time is not allowed.
        NotFound: the actor may see no memory with one of the ids.
        GroupRequired, GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    found = find_group_to_write(actor, draft.group)
    draft = _guard_relation(draft, found, actor.door)
    predicate = check_relation(draft)
    draft = _with_full_ids(actor, draft)
    evidence = [_find_visible_head(actor, id_, field="evidence") for id_ in draft.evidence]
    for name in ("subject", "object"):  # before anything is written
        end = getattr(draft, name)
        if _is_memory_id(end):
            find_memory(actor, end, field=name)
        elif not clean_line(end, field=name, max_chars=MAX_NAME_CHARS):
            raise InvalidInput(f"'{name}' is empty.", hint="Pass a name or a memory id.", field=name)
    prepared = {end: _prepare_entity(actor, end, draft.group) for end in (draft.subject, draft.object)}
    with transaction.atomic():
        resolved = find_or_create_group(actor, draft.group)
        group = resolved.group
        hold_groups([group.key])
        refuse_withdrawn(actor, group, draft)
        subject, is_new_subject = _find_or_store_end(actor, draft.subject, group, prepared, field="subject")
        object_, is_new_object = _find_or_store_end(actor, draft.object, group, prepared, field="object")
        if subject.root_key == object_.root_key:
            raise InvalidInput("Subject and object are the same memory.", field="object")
        # As written, too: the stored predicate has no vowel signs of Indian scripts.
        for verb in {"_".join(draft.predicate.split()), predicate}:
            refuse_stated(actor, group, subject, verb, object_)
        relation, outcome, why, changed = _write_relation(actor, draft, group, subject, predicate, object_)
        proofs = RelationEvidence.objects
        added = [
            memory
            for memory in evidence
            if proofs.get_or_create(relation=relation, memory_id=memory.root_key)[1]  # new
        ]
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
                "evidence_added": [str(memory.id) for memory in added],
                "changes": changed,
            },
        )
    created = [end.content for end, is_new in ((subject, is_new_subject), (object_, is_new_object)) if is_new]
    return RelationResult(
        outcome, relation, subject, object_, group.slug, resolved.created, tuple(created), why
    )


def find_entity(actor: Actor, group: Group, name: str) -> Memory | None:
    """The live entity called `name` in the group or globally, the group's own first; None if there is none.

    A name may be older than the entity's scope: an entity whose current version the actor may not see is not found.
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
    rows = Memory.objects.filter(as_q(seen), key__in=[head.key for head in heads])
    visible = set(rows.values_list("key", flat=True))
    found = [head for head in heads if head.key in visible]
    own = [memory for memory in found if memory.group_id == group.key]
    return next(iter(own or found), None)


def check_relation(draft: RelationDraft) -> str:
    """The predicate in lower case with underscores. Raises InvalidInput if a field is not allowed."""
    text = clean_line(draft.predicate, field="predicate", max_chars=_MAX_PREDICATE_CHARS)
    predicate = _NO_WORD.sub("_", text.lower()).strip("_")
    if not predicate:
        raise InvalidInput(
            "The predicate is empty.",
            hint="Name how subject and object are related: uses, owns, is_part_of.",
            field="predicate",
        )
    check_range(draft.confidence, 0, 1, field="confidence")
    if len(draft.evidence) > MAX_EVIDENCE:
        raise InvalidInput(f"At most {MAX_EVIDENCE} memories are allowed as evidence.", field="evidence")
    for name in ("valid_from", "valid_to"):
        moment = getattr(draft, name)
        if moment is not None:
            check_zone(moment, field=name)
    if draft.valid_from and draft.valid_to and draft.valid_to < draft.valid_from:
        raise InvalidInput("valid_to is before valid_from.", field="valid_to")
    return predicate


def refuse_withdrawn(actor: Actor, group: Group, draft: RelationDraft) -> None:
    """Raise Conflict if the predicate, or the name of an entity that was not let in, repeats a withdrawn text."""
    refuse_withdrawn_texts(actor, group, draft.predicate, field="predicate")
    scope = Scope.GROUP if group.private else Scope.GLOBAL
    for field in ("subject", "object"):
        end = getattr(draft, field)
        if _is_memory_id(end):
            continue
        known = find_entity(actor, group, clean_line(end, field=field, max_chars=MAX_NAME_CHARS))
        if known is None or known.trust == Trust.CANDIDATE:
            refuse_withdrawn_texts(actor, group, end, field=field, scope=scope)


def _guard_relation(draft: RelationDraft, group: Group | None, door: Door) -> RelationDraft:
    """The relation as the group's policy stores its words, which are not reviewed. Raises SensitiveText."""
    safe = {
        # Cleaned first: what is far too long is refused unread.
        field: admit(clean_line(value, field=field, max_chars=most), door, group, field=field).value
        for field, most in (
            ("subject", MAX_NAME_CHARS),
            ("predicate", _MAX_PREDICATE_CHARS),
            ("object", MAX_NAME_CHARS),
        )
        if not _is_memory_id(value := getattr(draft, field))
    }
    return replace(draft, **safe)


def _with_full_ids(actor: Actor, draft: RelationDraft) -> RelationDraft:
    """The draft with full ids instead of short ones; what is the end of no visible id is a name."""
    full = dict[str, Any]()
    for name in ("subject", "object"):
        end = getattr(draft, name)
        if parse_short_id(end) and (memory := find_named(actor, end, field=name)) is not None:
            full[name] = str(memory.id)
    return replace(draft, **full)


def _prepare_entity(actor: Actor, end: str, slug: str | None) -> PreparedDraft | None:
    """An unknown name's draft, embedded before any transaction; None for an id and for a known name."""
    if _is_memory_id(end):
        return None
    name = clean_line(end, field="subject", max_chars=MAX_NAME_CHARS)
    wanted = slug or actor.default_group or settings.LOCI.access.default_group
    group = Group.objects.filter(slug=wanted).first()
    if group is not None and find_entity(actor, group, name) is not None:
        return None
    return prepare_store(actor, Draft(name, type=Type.ENTITY, group=slug, source=RELATION_SOURCE))


def _find_or_store_end(
    actor: Actor, end: str, group: Group, prepared: Mapping[str, PreparedDraft | None], *, field: str
) -> tuple[Memory, bool]:
    """The memory of an id or a name, and whether it is new."""
    if _is_memory_id(end):
        return _find_visible_head(actor, end, field=field), False
    name = clean_line(end, field=field, max_chars=MAX_NAME_CHARS)
    known = find_entity(actor, group, name)
    if known is not None:
        return known, False
    # Known during preparation and gone since: rare enough to embed inside the transaction.
    draft = prepared[end] or prepare_store(
        actor, Draft(name, type=Type.ENTITY, group=group.slug, source=RELATION_SOURCE)
    )
    stored = store_prepared(actor, draft)
    if stored.memory is None or stored.outcome == Outcome.REFUSED:
        raise InvalidInput(f"'{name}' cannot be stored: {stored.why}.", field=field)
    add_alias(stored.memory, name)
    return stored.memory, stored.outcome in (Outcome.CREATED, Outcome.QUEUED)


def _find_visible_head(actor: Actor, id_: str, *, field: str) -> Memory:
    """The version that counts of this id's memory, visible itself: its scope may be narrower than the named version's."""
    return find_memory(actor, head_of(find_memory(actor, id_, field=field)).id, field=field)


def _is_memory_id(end: str) -> bool:
    """Whether an end of a relation is a memory's id or URI, and no name."""
    try:
        UUID(end.strip().removeprefix("loci://memories/"))
    except ValueError:
        return False
    return True


def _write_relation(
    actor: Actor, draft: RelationDraft, group: Group, subject: Memory, predicate: str, object_: Memory
) -> tuple[Relation, str, str, dict[str, list[Any]]]:
    """Create, reinforce or end the relation between two roots: the row, the outcome, why, and the changes of a known one."""
    now = timezone.now()
    same = {
        "group": group, "subject": subject.root_key, "predicate": predicate, "object": object_.root_key,
        "retired_at": None,
    }  # fmt: skip
    known = Relation.objects.filter(**same, valid_to=None).first()
    if known is not None:
        before = {name: as_json(getattr(known, name)) for name in _CHANGING}
        is_counted = not is_overwriting() and _was_said_today(actor, known, subject)
        outcome, why = _reinforce_or_end(known, draft.valid_to, now, is_counted=is_counted)
        after = {name: as_json(getattr(known, name)) for name in _CHANGING}
        return known, outcome, why, {n: [before[n], after[n]] for n in _CHANGING if before[n] != after[n]}
    ended = Relation.objects.filter(**same, valid_from=draft.valid_from, valid_to=draft.valid_to).first()
    if ended is not None:
        return ended, "reinforced", "its end was known already", {}
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
    return relation, "created", "", {}


def _was_said_today(actor: Actor, relation: Relation, subject: Memory) -> bool:
    """True if the actor stored or reinforced a relation today: repeating it adds no confidence."""
    entries = AuditEntry.objects.filter(
        memory_id__in=[version.id for version in versions_of(subject)],
        subject=f"relation:{relation.id}",
        operation=Operation.RELATE,
    )
    return bool(written_today(actor, entries))


def _reinforce_or_end(
    known: Relation, valid_to: datetime | None, now: datetime, *, is_counted: bool
) -> tuple[str, str]:
    """Set the end of a current relation, or without one raise its confidence unless that `is_counted`: outcome and why."""
    known.updated_at = now
    if valid_to is None and is_counted:
        known.save(update_fields=["updated_at"])
        return "reinforced", CONFIRMED_TODAY
    if valid_to is None:
        known.confidence = min(1.0, round(known.confidence + REINFORCEMENT, 6))
        known.save(update_fields=["confidence", "updated_at"])
        return "reinforced", "it was known already"
    if known.valid_from and valid_to < known.valid_from:
        raise InvalidInput("valid_to is before the relation's valid_from.", field="valid_to")
    known.valid_to, known.valid_to_known_at = valid_to, now
    known.save(update_fields=["valid_to", "valid_to_known_at", "updated_at"])
    return "superseded", "its end was set"
