"""The write path: everything that becomes a memory passes through store().

Slow work (cleaning, embedding, probing for near ones) comes before any transaction; one short transaction then decides
and writes. What was answered is committed.
"""

from dataclasses import dataclass, replace
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import WRITE, Actor
from access.errors import Conflict, InvalidInput
from access.groups import ResolvedGroup, find_or_create_group
from access.models import Group
from memories import writing
from memories.chains import find_memory, head_of
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.models import LinkKind, Memory
from memories.near import Near, Probe, later_nears, probe
from memories.pieces import Embedded, Passage, available_encoder, embed_passages
from memories.snapshot import snapshot
from memories.text import content_hash
from memories.tombstones import find_tombstone
from memories.types import Operation, Scope, State, Trust, Type


class Outcome:
    """What became of a draft."""

    CREATED = "created"
    REINFORCED = "reinforced"
    QUEUED = "queued"  # written as a candidate, waits for a person
    REFUSED = "refused"
    UNCHANGED = "unchanged"  # this source's text is stored already, letter by letter


@dataclass(frozen=True)
class Stored:
    """The answer to a store: what became of it, which memory it is now, what is near and why."""

    outcome: str
    memory: Memory | None
    why: str = ""
    near: tuple[Near, ...] = ()
    superseded: UUID | None = None
    group: str = ""
    group_created: bool = False
    is_embedding_owed: bool = False
    removed_characters: int = 0


@dataclass(frozen=True)
class Prepared:
    """A draft with all that could be worked out before the transaction."""

    draft: Draft
    embedded: Embedded
    found: Probe

    @property
    def hash(self) -> str:
        """The content's hash."""
        return content_hash(self.draft.content)


def store(actor: Actor, draft: Draft) -> Stored:
    """Remember a text: checked, compared with what is known, written with its audit row in one transaction.

    1. clean and check the draft; find the group (a token with create-group may make it)
    2. cut into pieces and embed; probe for near memories
    3. in one transaction: the same source? a tombstone? the same text? what came since the probe? Then insert,
       reinforce or link; supersede; audit

    Raises:
        InvalidInput, TooLarge: the draft is at fault; `field` says where.
        GroupRequired, GroupNotFound, NotPermitted: the group is; nothing was written.
    """
    draft = check_draft(draft)
    superseded = _superseded(actor, draft)
    if superseded is not None and draft.group is None:
        draft = replace(draft, group=superseded.group.slug)
    prepared = prepare(actor, draft, encoder=available_encoder())
    with transaction.atomic():
        resolved = find_or_create_group(actor, draft.group, right=WRITE)
        answer = _decide(actor, prepared, resolved.group, superseded)
    return _finished(answer, resolved, prepared)


def prepare(actor: Actor, draft: Draft, *, encoder: Encoder | None) -> Prepared:
    """Embed a checked draft and probe for near memories; writes nothing."""
    embedded = embed_passages([Passage(draft.content, draft.valid_from)], encoder=encoder)[0]
    vector = None if embedded.is_owed else embedded.vectors[0]
    slug = draft.group or actor.default_group or settings.LOCI.access.default_group
    key = Group.objects.filter(slug=slug).values_list("key", flat=True).first()
    groups = frozenset({key}) if key is not None and actor.may_enter(key) else frozenset[int]()
    return Prepared(draft, embedded, probe(draft.content, vector, groups=groups, type_=draft.type))


def default_scope(type_: str, group: Group) -> str:
    """Give the scope of a memory whose caller named none: events stay in their group, a private group keeps all."""
    return Scope.GROUP if group.private or type_ == Type.EPISODIC else Scope.GLOBAL


def find_exact(group: Group, draft: Draft) -> Memory | None:
    """Give the live memory that is this draft letter by letter.

    Two equal events are two events, unless they share the place in a thread or the time.
    """
    same = Memory.objects.select_related("group", "thread").filter(
        group=group,
        scope=draft.scope,
        type=draft.type,
        content_hash=content_hash(draft.content),
        state=State.LIVE,
    )
    if draft.type != Type.EPISODIC:
        return same.first()
    at_place = (
        Q(thread__name=draft.thread, position=draft.position) if draft.position is not None else Q(pk=None)
    )
    at_time = Q(valid_from=draft.valid_from) if draft.valid_from is not None else Q(pk=None)
    return same.filter(at_place | at_time).first()


def _decide(actor: Actor, prepared: Prepared, group: Group, superseded: Memory | None) -> Stored:
    """Choose what becomes of the draft and write it; inside the transaction."""
    draft = replace(prepared.draft, scope=prepared.draft.scope or default_scope(prepared.draft.type, group))
    _check_scope(draft, group)
    prepared = replace(prepared, draft=draft)
    known = _same_source(group, draft)
    if known is not None and known.content == draft.content:
        return Stored(Outcome.UNCHANGED, head_of(known), "this source's text is stored already")
    if known is not None and superseded is None:
        superseded = head_of(known)
        draft = replace(draft, source_ref="")
        prepared = replace(prepared, draft=draft)
    tombstone = find_tombstone(group, draft.content)
    if tombstone is not None:
        why = f"this text was {tombstone.kind} here before: {tombstone.reason or 'no reason was given'}"
        audit.append(actor, Operation.REFUSE, memory_id=tombstone.memory_id, payload={"why": tombstone.kind})
        return Stored(Outcome.REFUSED, None, f"{why}. A curator can lift the tombstone.")
    exact = find_exact(group, draft)
    if exact is not None:
        return _restated(actor, exact, prepared, superseded)
    return _written(actor, prepared, group, superseded)


def _restated(actor: Actor, exact: Memory, prepared: Prepared, superseded: Memory | None) -> Stored:
    """The same text again: a confirmation, unless a person turned it down."""
    if exact.trust in (Trust.REJECTED, Trust.QUARANTINED):
        audit.append(actor, Operation.REFUSE, memory_id=exact.id, payload={"why": exact.trust})
        return Stored(Outcome.REFUSED, exact, f"this text is {exact.trust} here; a curator can change that")
    if superseded is not None and superseded.key == exact.key:
        raise InvalidInput("A memory cannot supersede itself.", hint="Change the text.", field="supersedes")
    why = writing.reinforce(actor, exact)
    replaced = writing.supersede(actor, superseded, exact) if superseded is not None else None
    return Stored(Outcome.REINFORCED, exact, why, superseded=replaced)


def _written(actor: Actor, prepared: Prepared, group: Group, superseded: Memory | None) -> Stored:
    """A text that is not there yet: a restatement of a near one, a candidate, or a new memory."""
    draft = prepared.draft
    vector = None if prepared.embedded.is_owed else prepared.embedded.vectors[0]
    late = later_nears(draft.content, vector, since=prepared.found.newest, group=group.key, type_=draft.type)
    nears = _still_there(prepared.found.nears) + late
    same = _restated_near(actor, draft, nears, superseded)
    if same is not None:
        why = writing.reinforce(actor, same.memory, wording=prepared)
        return Stored(Outcome.REINFORCED, same.memory, f"{same.comparison.why}; {why}", near=nears)
    doubt = _doubt(actor, draft, group, nears, superseded)
    trust = Trust.CANDIDATE if doubt else Trust.ACTIVE
    memory = writing.insert(
        actor, prepared, group, trust=trust, after=None if doubt else superseded, now=timezone.now()
    )
    audit.append(actor, Operation.STORE, memory_id=memory.id, payload={"after": snapshot(memory)})
    _link(actor, memory, nears, superseded if doubt else None)
    if doubt:
        return Stored(Outcome.QUEUED, memory, doubt, near=nears)
    replaced = writing.supersede(actor, superseded, memory) if superseded is not None else None
    return Stored(Outcome.CREATED, memory, near=nears, superseded=replaced)


def _restated_near(
    actor: Actor, draft: Draft, nears: tuple[Near, ...], superseded: Memory | None
) -> Near | None:
    """Give the live memory that says the same in other words, if the actor may write it. Events are never merged."""
    if draft.type == Type.EPISODIC or superseded is not None:
        return None
    for near in nears:
        is_wide_enough = near.memory.scope == Scope.GLOBAL or draft.scope == Scope.GROUP
        counts = near.memory.state == State.LIVE and near.memory.trust in (Trust.ACTIVE, Trust.VERIFIED)
        if near.is_same and counts and is_wide_enough and actor.may(WRITE, near.memory.group_id):
            return near
    return None


def _doubt(
    actor: Actor, draft: Draft, group: Group, nears: tuple[Near, ...], superseded: Memory | None
) -> str:
    """Say why a person has to look at this first; empty where nobody has to."""
    withdrawn = next(
        (n for n in nears if n.is_retracted and n.comparison.sameness.value != "different"), None
    )
    if withdrawn is not None:
        return f"it restates {withdrawn.id}, which was retracted; a curator decides"
    former = None if superseded is not None else _superseded_text(group, draft)
    if former is not None:
        current = head_of(former)
        return f"this text was superseded by {current.id}; pass supersedes to make it current again"
    return writing.policy_doubt(actor, group, draft.confidence)


def _link(actor: Actor, memory: Memory, nears: tuple[Near, ...], wanted: Memory | None) -> None:
    """Tie a new memory to those a person may have to compare it with."""
    for near in nears:
        if near.comparison.sameness.value != "different":
            kind = LinkKind.CONFLICT if near.is_retracted else LinkKind.DUPLICATE
            writing.link(actor, memory, near.memory, kind=kind, score=near.cosine, reason=near.comparison.why)
    if wanted is not None:
        writing.link(actor, memory, wanted, kind=LinkKind.CONFLICT, reason="would supersede it once approved")


def _superseded(actor: Actor, draft: Draft) -> Memory | None:
    """Give the head of the chain that the draft is to replace; it must be live and the actor's to write."""
    if draft.supersedes is None:
        return None
    head = head_of(find_memory(actor, draft.supersedes, field="supersedes"))
    if not actor.may(WRITE, head.group_id):
        writing.refuse_write(head.group.slug)
    if head.state != State.LIVE:
        raise Conflict(
            f"{head.id} is {head.state}; only a live memory can be superseded.",
            hint="Store without supersedes, or restore it first.",
            field="supersedes",
        )
    return head


def _same_source(group: Group, draft: Draft) -> Memory | None:
    if not draft.source_ref:
        return None
    return (
        Memory.objects.select_related("group", "thread")
        .filter(group=group, source=draft.source, source_ref=draft.source_ref)
        .first()
    )


def _superseded_text(group: Group, draft: Draft) -> Memory | None:
    if draft.type == Type.EPISODIC:
        return None
    hash_ = content_hash(draft.content)
    return Memory.objects.filter(
        group=group, type=draft.type, content_hash=hash_, state=State.SUPERSEDED, superseded_by__isnull=False
    ).first()


def _still_there(nears: tuple[Near, ...]) -> tuple[Near, ...]:
    """Drop what changed its state between the probe and the transaction."""
    states = dict(Memory.objects.filter(key__in=[n.memory.key for n in nears]).values_list("key", "state"))
    return tuple(near for near in nears if states.get(near.memory.key) == near.memory.state)


def _check_scope(draft: Draft, group: Group) -> None:
    if group.private and draft.scope == Scope.GLOBAL:
        raise InvalidInput(
            f"The group '{group.slug}' is private: nothing in it is global.",
            hint="Use scope 'group'.",
            field="scope",
        )


def _finished(answer: Stored, resolved: ResolvedGroup, prepared: Prepared) -> Stored:
    return replace(
        answer,
        # Quarantined text is compared with, but never comes back.
        near=tuple(near for near in answer.near if near.memory.trust != Trust.QUARANTINED),
        group=resolved.group.slug,
        group_created=resolved.created,
        is_embedding_owed=prepared.embedded.is_owed and answer.outcome in (Outcome.CREATED, Outcome.QUEUED),
        removed_characters=prepared.draft.removed_characters,
    )
