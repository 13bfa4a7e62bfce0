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
from memories.chains import find_memory, has_lapsed, head_of, versions_of
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.index.base import Vector
from memories.models import LinkKind, Memory
from memories.near import Near, Probe, later_nears, probe
from memories.pieces import Embedded, available_encoder, embed_passages, indexed_model, passage_of
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
    superseded: Memory | None = None

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
    return store_prepared(actor, prepare_store(actor, draft))


def prepare_store(actor: Actor, draft: Draft) -> Prepared:
    """Do all of store() that comes before its transaction; writes nothing. Raises as store() does."""
    draft = check_draft(draft)
    superseded = _superseded(actor, draft)
    if superseded is not None and draft.group is None:
        draft = replace(draft, group=superseded.group.slug)
    if superseded is not None and draft.valid_from is None and draft.type != Type.EPISODIC:
        draft = replace(draft, valid_from=timezone.now())  # what replaces another is true from now
    prepared = prepare(actor, draft, encoder=available_encoder())
    return replace(prepared, superseded=superseded)


def store_prepared(actor: Actor, prepared: Prepared) -> Stored:
    """Decide and write what prepare_store() made ready; one transaction, short enough to stand in another."""
    with transaction.atomic():
        resolved = find_or_create_group(actor, prepared.draft.group, right=WRITE)
        answer = _decide(actor, prepared, resolved.group, prepared.superseded)
    return _finished(answer, resolved, prepared)


def prepare(actor: Actor, draft: Draft, *, encoder: Encoder | None) -> Prepared:
    """Embed a checked draft and probe for near memories; writes nothing."""
    embedded = embed_passages([passage_of(draft)], encoder=encoder)[0]
    vector = _comparable(embedded)
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
    draft = prepared.draft
    known = _same_source(group, draft)
    if known is not None:
        head = head_of(known)
        if prepared.hash in {row.content_hash for row in (head, *versions_of(known))}:
            return Stored(Outcome.UNCHANGED, head, "this source's text is stored already")
        superseded = superseded or _writable(actor, head)
        draft = replace(draft, source_ref="")  # the source's first row keeps it
    draft = replace(draft, scope=draft.scope or _unsaid_scope(draft, group, superseded))
    _check_scope(draft, group)
    prepared = replace(prepared, draft=draft)
    tombstone = find_tombstone(group, draft.content)
    if tombstone is not None:
        why = f"this text was {tombstone.kind} here before: {tombstone.reason or 'no reason was given'}"
        audit.append(actor, Operation.REFUSE, memory_id=tombstone.memory_id, group=group.id, payload={"why": tombstone.kind})
        return Stored(Outcome.REFUSED, None, f"{why}. A curator can lift the tombstone.")
    exact = find_exact(group, draft)
    if exact is not None and has_lapsed(exact, timezone.now()):
        writing.make_way(actor, exact)
        return _written(actor, prepared, group, superseded, lapsed=exact)
    if exact is not None:
        return _restated(actor, exact, prepared, superseded)
    return _written(actor, prepared, group, superseded)


def _unsaid_scope(draft: Draft, group: Group, superseded: Memory | None) -> str:
    """Give the scope where the caller names none: what replaces a group's memory stays in the group."""
    if superseded is not None and superseded.scope == Scope.GROUP:
        return Scope.GROUP
    return default_scope(draft.type, group)


def _restated(actor: Actor, exact: Memory, prepared: Prepared, superseded: Memory | None) -> Stored:
    """The same text again: a confirmation, unless a person turned it down."""
    if exact.trust in (Trust.REJECTED, Trust.QUARANTINED):
        audit.append(actor, Operation.REFUSE, memory_id=exact.id, group=exact.group.id, payload={"why": exact.trust})
        return Stored(Outcome.REFUSED, exact, f"this text is {exact.trust} here; a curator can change that")
    if superseded is not None and superseded.key == exact.key:
        raise InvalidInput("A memory cannot supersede itself.", hint="Change the text.", field="supersedes")
    why = writing.reinforce(actor, exact)
    doubt = _replacing_doubt(actor, exact) if superseded is not None else ""
    if superseded is not None and doubt:
        _link(actor, exact, (), superseded)
        return Stored(Outcome.REINFORCED, exact, f"{why}; {superseded.id} stays: {doubt}")
    return Stored(Outcome.REINFORCED, exact, why, superseded=_replaced(actor, superseded, exact))


def _replacing_doubt(actor: Actor, exact: Memory) -> str:
    """Say why a text that is there already may not take another's place yet; empty where it may."""
    if exact.trust == Trust.CANDIDATE:
        return "what would replace it waits for a curator itself"
    return writing.policy_doubt(actor, exact.group, exact.confidence)


def _replaced(actor: Actor, superseded: Memory | None, by: Memory) -> UUID | None:
    """Supersede what counts; what a changed source said before may be hidden or withdrawn, and stays so."""
    if superseded is None or superseded.state != State.LIVE:
        return None
    return writing.supersede(actor, superseded, by)


def _written(
    actor: Actor,
    prepared: Prepared,
    group: Group,
    superseded: Memory | None,
    *,
    lapsed: Memory | None = None,
) -> Stored:
    """A text that does not count yet: a restatement of a near one, a candidate, or a new memory.

    `lapsed` has the same text and its time is over; the new memory is its next version.
    """
    draft = prepared.draft
    vector = _comparable(prepared.embedded)
    late = later_nears(draft.content, vector, since=prepared.found.newest, group=group.key, type_=draft.type)
    nears = _still_there(prepared.found.nears) + late
    same = _restated_near(actor, draft, nears, superseded)
    if same is not None:
        why = writing.reinforce(actor, same.memory, wording=prepared)
        return Stored(Outcome.REINFORCED, same.memory, f"{same.comparison.why}; {why}", near=nears)
    doubt = _doubt(actor, draft, group, nears, superseded)
    trust = Trust.CANDIDATE if doubt else Trust.ACTIVE
    memory = writing.insert(
        actor, prepared, group, trust=trust, after=None if doubt else superseded or lapsed, now=timezone.now()
    )
    audit.append(actor, Operation.STORE, memory_id=memory.id, group=memory.group.id, payload={"after": snapshot(memory)})
    _link(actor, memory, nears, superseded if doubt else None)
    if doubt:
        return Stored(Outcome.QUEUED, memory, doubt, near=nears)
    if lapsed is not None:
        Memory.objects.filter(pk=lapsed.pk).update(superseded_by=memory)
    return Stored(Outcome.CREATED, memory, near=nears, superseded=_replaced(actor, superseded, memory))


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
        writing.link_successor(actor, memory, wanted, operation=Operation.SUPERSEDE)


def _superseded(actor: Actor, draft: Draft) -> Memory | None:
    """Give the head of the chain that the draft is to replace; it must be live and the actor's to write."""
    if draft.supersedes is None:
        return None
    head = _writable(actor, head_of(find_memory(actor, draft.supersedes, field="supersedes")))
    if head.state != State.LIVE:
        raise Conflict(
            f"{head.id} is {head.state}; only a live memory can be superseded.",
            hint="Store without supersedes, or restore it first.",
            field="supersedes",
        )
    return head


def _writable(actor: Actor, memory: Memory) -> Memory:
    if not actor.may(WRITE, memory.group_id):
        writing.refuse_write(memory.group.slug)
    return memory


def _comparable(embedded: Embedded) -> Vector | None:
    """Give the vector to probe with; None where it is owed, or where the index holds another model's."""
    if embedded.is_owed or indexed_model() not in ("", embedded.model):
        return None
    vector: Vector = embedded.vectors[0]
    return vector


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
    """Give the near ones as they are now, without what changed its state between the probe and the transaction."""
    now = Memory.objects.select_related("group").in_bulk([near.memory.key for near in nears])
    return tuple(
        replace(near, memory=now[near.memory.key])
        for near in nears
        if near.memory.key in now and now[near.memory.key].state == near.memory.state
    )


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
