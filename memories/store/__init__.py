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
from access.actor import CREATE_GROUP, READ, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, GroupNotFound
from access.groups import ResolvedGroup, check_slug, find_group, find_or_create_group
from access.models import Group
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.language.cleaning import without_marks
from memories.language.same_fact import Sameness
from memories.models import Memory
from memories.models.text_lookup import newest, says
from memories.queries.by_key import read_shown
from memories.queries.snapshot import snapshot
from memories.queries.versions import find_memory, head_to_replace
from memories.search.base import Vector
from memories.store import write as writing
from memories.store.decide import (
    Decision,
    Fate,
    WriteContext,
    doubt_of,
    judge,
    replacing_doubt,
    to_replace,
    with_scope,
)
from memories.store.existing import ExistingText, find_origins, find_same
from memories.store.links import link_new
from memories.store.neighbours import ComparedText, Neighbour, NeighbourProbe, later_nears, probe
from memories.store.pieces import EmbeddedText, available_encoder, embed_passages, indexed_model, passage_of
from memories.store.supersede import replace_memory
from memories.store.tombstones import find_tombstone
from memories.types import Scope, State, Trust, Type


class Outcome:
    """What became of a draft."""

    CREATED = "created"
    REINFORCED = "reinforced"
    QUEUED = "queued"  # written as a candidate, waits for a person
    REFUSED = "refused"
    UNCHANGED = "unchanged"  # this source's text is stored already, letter by letter


@dataclass(frozen=True)
class StoreResult:
    """The answer to a store: what became of it, which memory it is now, what is near and why."""

    outcome: str
    memory: Memory | None
    why: str = ""
    near: tuple[Neighbour, ...] = ()
    superseded: UUID | None = None
    group: str = ""
    group_created: bool = False
    is_embedding_owed: bool = False
    removed_characters: int = 0


@dataclass(frozen=True)
class PreparedDraft:
    """A draft with all that could be worked out before the transaction."""

    draft: Draft
    embedded: EmbeddedText
    found: NeighbourProbe
    superseded: Memory | None = None

    @property
    def hash(self) -> str:
        """The content's hash."""
        return self.draft.hash


def store(actor: Actor, draft: Draft) -> StoreResult:
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


def prepare_store(actor: Actor, draft: Draft) -> PreparedDraft:
    """Do all of store() that comes before its transaction; writes nothing. Raises as store() does."""
    draft = check_draft(draft)
    superseded = _superseded(actor, draft)
    if superseded is not None and draft.group is None:
        draft = replace(draft, group=superseded.group.slug)
    if superseded is not None and draft.valid_from is None and draft.type != Type.EPISODIC:
        draft = replace(draft, valid_from=timezone.now())  # what replaces another is true from now
    room = check_may_write(actor, draft.group)
    prepared = _prepared(draft, frozenset({room.key} if room else ()), available_encoder())
    return replace(prepared, superseded=superseded)


def store_prepared(actor: Actor, prepared: PreparedDraft) -> StoreResult:
    """Decide and write what prepare_store() made ready; one transaction, short enough to stand in another."""
    with transaction.atomic():
        resolved = find_or_create_group(actor, prepared.draft.group, right=WRITE)
        answer = _decide(actor, prepared, resolved.group, prepared.superseded)
    return _finished(actor, answer, resolved, prepared)


def check_may_write(actor: Actor, slug: str | None) -> Group | None:
    """Give the group, None where it is to be made; raise what finding or making it would, before any slow work."""
    try:
        return find_group(actor, slug, right=WRITE)
    except GroupNotFound:
        wanted = _wanted_slug(actor, slug)
        if not actor.may(CREATE_GROUP):
            raise
        if Group.objects.filter(slug=wanted).exists():
            return find_group(
                actor, slug, right=WRITE
            )  # another made it just now; one that is foreign is refused again
        check_slug(wanted)
        return None


def prepare(actor: Actor, draft: Draft, *, encoder: Encoder | None) -> PreparedDraft:
    """Embed a checked draft and probe for near memories; writes nothing."""
    slug = _wanted_slug(actor, draft.group)
    room = Group.objects.filter(slug=slug).first()
    groups = {room.key} if room is not None and actor.may_enter(room.key) else ()
    return _prepared(draft, frozenset(groups), encoder)


def _prepared(draft: Draft, groups: frozenset[int], encoder: Encoder | None) -> PreparedDraft:
    embedded = embed_passages([passage_of(draft)], encoder=encoder)[0]
    return PreparedDraft(draft, embedded, probe(_said(draft), _comparable(embedded), groups=groups))


def find_exact(group: Group, draft: Draft) -> Memory | None:
    """Give the live memory that is this draft letter by letter.

    Two equal events are two events, unless they share the place in a thread or the time.
    """
    if draft.type != Type.EPISODIC:
        return find_same(group.key, draft).live
    if draft.position is None and draft.valid_from is None:
        return None
    at_place = (
        Q(thread__name=draft.thread, position=draft.position) if draft.position is not None else Q(pk=None)
    )
    at_time = Q(valid_from=draft.valid_from) if draft.valid_from is not None else Q(pk=None)
    same = Memory.objects.select_related("group", "thread").filter(
        at_place | at_time,
        says(draft.hash, draft.fold_hash),
        group=group,
        scope=draft.scope,
        type=draft.type,
        state=State.LIVE,
    )
    return newest(same)


def _decide(actor: Actor, prepared: PreparedDraft, group: Group, superseded: Memory | None) -> StoreResult:
    """Choose what becomes of the draft and write it; inside the transaction."""
    case = _looked_up(prepared.draft, group, superseded)
    verdict = judge(actor, case, at=timezone.now())
    match verdict.fate:
        case Fate.UNCHANGED:
            return StoreResult(Outcome.UNCHANGED, verdict.memory, verdict.why)
        case Fate.REFUSED:
            return _refused(actor, case, verdict)
        case Fate.RESTATED if verdict.memory is not None:
            return _restated(actor, verdict.memory, case, prepared)
    if case.origin is not None:
        case = case._replace(draft=replace(case.draft, source_ref=""))  # the source's first row keeps it
    if verdict.lapsed is not None:
        writing.make_way(actor, verdict.lapsed)
    return _written(actor, replace(prepared, draft=case.draft), case, lapsed=verdict.lapsed)


def _looked_up(draft: Draft, group: Group, superseded: Memory | None) -> WriteContext:
    """Give the draft, with its scope, and what is known of its text."""
    origin = next(iter(find_origins([(group.key, draft)]).values()), None)
    replaces = superseded or (origin.current if origin is not None else None)
    draft = with_scope(draft, group, replaces)
    is_event = draft.type == Type.EPISODIC
    same = ExistingText(find_exact(group, draft)) if is_event else find_same(group.key, draft)
    return WriteContext(
        draft,
        group,
        origin=origin,
        replaces=replaces,
        tombstone=find_tombstone(group, draft.content),
        exact=same.live,
        former=same.former,
    )


def _refused(actor: Actor, case: WriteContext, verdict: Decision) -> StoreResult:
    if case.tombstone is not None:
        audit.append(
            actor,
            Operation.REFUSE,
            memory_id=case.tombstone.memory_id,
            group=case.group.id,
            payload={"why": case.tombstone.kind},
        )
        return StoreResult(Outcome.REFUSED, None, f"{verdict.why}. A curator can lift the tombstone.")
    if verdict.memory is not None:
        audit.append(
            actor,
            Operation.REFUSE,
            memory_id=verdict.memory.id,
            group=case.group.id,
            payload={"why": verdict.memory.trust},
        )
    return StoreResult(Outcome.REFUSED, verdict.memory, verdict.why)


def _restated(actor: Actor, exact: Memory, case: WriteContext, prepared: PreparedDraft) -> StoreResult:
    """The same text again: a confirmation, and where it was to replace another, that one's successor."""
    old = case.replaced
    why = writing.reinforce(actor, exact)
    if old is None:
        if case.draft.source_ref:
            writing.keep_wording(actor, exact, replace(prepared, draft=case.draft), origin=case.origin)
        return StoreResult(Outcome.REINFORCED, exact, why)
    doubt = replacing_doubt(actor, exact)
    if doubt:
        writing.link_successor(actor, exact, old, operation=Operation.SUPERSEDE)
        return StoreResult(Outcome.REINFORCED, exact, f"{why}; {old.id} stays: {doubt}")
    return StoreResult(Outcome.REINFORCED, exact, why, superseded=replace_memory(actor, old, exact))


def _written(
    actor: Actor, prepared: PreparedDraft, case: WriteContext, *, lapsed: Memory | None
) -> StoreResult:
    """A text that does not count yet: a restatement of a near one, a candidate, or a new memory.

    `lapsed` has the same text and its time is over; the new memory is its next version.
    """
    draft, old = case.draft, case.replaces
    nears = nears_now(prepared, case.group)
    same = _restated_near(case.group, draft, nears, old)
    if same is not None:
        why = writing.reinforce(actor, same.memory, wording=prepared)
        return StoreResult(Outcome.REINFORCED, same.memory, f"{same.comparison.why}; {why}", near=nears)
    doubt = withdrawn_doubt(nears, draft.content) or doubt_of(actor, case)
    memory = writing.insert(
        actor,
        prepared,
        case.group,
        trust=Trust.CANDIDATE if doubt else Trust.ACTIVE,
        after=None if doubt else old or lapsed,
        replaces=old,
        now=timezone.now(),
    )
    audit.append(
        actor,
        Operation.STORE,
        memory_id=memory.id,
        group=memory.group.id,
        payload={"after": snapshot(memory)},
    )
    link_new(actor, memory, nears, to_replace(case) if doubt else None)
    if doubt:
        return StoreResult(Outcome.QUEUED, memory, doubt, near=nears)
    if lapsed is not None:
        writing.lead_on(actor, lapsed, memory)
    done = replace_memory(actor, case.replaced, memory) if case.replaced is not None else None
    return StoreResult(Outcome.CREATED, memory, near=nears, superseded=done)


def nears_now(prepared: PreparedDraft, group: Group) -> tuple[Neighbour, ...]:
    """Give what is near a draft: what the probe found, and what was written since; inside the transaction."""
    embedded = prepared.embedded
    late = later_nears(
        _said(prepared.draft),
        None if embedded.is_owed else embedded.vectors[0],
        since=prepared.found.newest,
        group=group.key,
        model=embedded.model,
    )
    return _still_there(prepared.found.nears) + late


def _said(draft: Draft) -> ComparedText:
    return ComparedText(draft.content, draft.type, draft.valid_from, draft.valid_to)


def withdrawn_doubt(nears: tuple[Neighbour, ...], text: str) -> str:
    """Say which retracted memory a text may restate, so that a person looks first; empty where there is none."""
    for near in nears:
        is_disguised = near.is_retracted and without_marks(near.memory.content) == without_marks(text)
        if near.is_retracted and (near.comparison.sameness is not Sameness.DIFFERENT or is_disguised):
            return f"it restates {near.id}, which was retracted; a curator decides"
    return ""


def _restated_near(
    group: Group, draft: Draft, nears: tuple[Neighbour, ...], superseded: Memory | None
) -> Neighbour | None:
    """Give the live memory of the same group and scope that says the same in other words. Events are never merged.

    What another group or scope has is not this group's: it may be forgotten there, so the text is kept and linked.
    """
    if draft.type == Type.EPISODIC or superseded is not None:
        return None
    for near in nears:
        is_own = near.memory.group_id == group.key and near.memory.scope == draft.scope
        counts = near.memory.state == State.LIVE and near.memory.trust in (Trust.ACTIVE, Trust.VERIFIED)
        if near.restates and counts and is_own:
            return near
    return None


def _superseded(actor: Actor, draft: Draft) -> Memory | None:
    """Give the head of the chain that the draft is to replace; it must be live and the actor's to write."""
    if draft.supersedes is None:
        return None
    named = find_memory(actor, draft.supersedes, field="supersedes")
    head = _writable(actor, head_to_replace(named, field="supersedes"))
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


def _comparable(embedded: EmbeddedText) -> Vector | None:
    """Give the vector to probe with; None where it is owed, or where the index holds another model's."""
    if embedded.is_owed or indexed_model() not in ("", embedded.model):
        return None
    vector: Vector = embedded.vectors[0]
    return vector


def _still_there(nears: tuple[Neighbour, ...]) -> tuple[Neighbour, ...]:
    """Give the near ones as they are now, without what changed its state between the probe and the transaction."""
    now = read_shown(near.memory.key for near in nears)
    return tuple(
        replace(near, memory=now[near.memory.key])
        for near in nears
        if near.memory.key in now and now[near.memory.key].state == near.memory.state
    )


def _may_read(actor: Actor, memory: Memory) -> bool:
    return actor.may(READ, None if memory.scope == Scope.GLOBAL else memory.group_id)


def _wanted_slug(actor: Actor, slug: str | None) -> str:
    return slug or actor.default_group or str(settings.LOCI.access.default_group)


def _finished(
    actor: Actor, answer: StoreResult, resolved: ResolvedGroup, prepared: PreparedDraft
) -> StoreResult:
    return replace(
        answer,
        # Quarantined text is compared with, but never comes back; nor does what a token that only writes may not read.
        near=tuple(
            near
            for near in answer.near
            if near.memory.trust != Trust.QUARANTINED and _may_read(actor, near.memory)
        ),
        group=resolved.group.slug,
        group_created=resolved.created,
        is_embedding_owed=prepared.embedded.is_owed and answer.outcome in (Outcome.CREATED, Outcome.QUEUED),
        removed_characters=prepared.draft.removed_characters,
    )
