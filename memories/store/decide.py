"""Deciding what becomes of a draft: pure, one draft at a time; the result lists what is to be written."""

from dataclasses import dataclass
from datetime import datetime

from access.actor import CURATE, WRITE, Actor
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotPermitted
from access.models import Group
from memories.draft import Draft
from memories.language.cleaning import without_marks
from memories.language.same_fact import Sameness
from memories.models import Memory, Tombstone
from memories.queries.versions import find_head_to_replace, has_lapsed, head_of
from memories.store.existing import StoredSource
from memories.store.neighbours import Neighbour
from memories.store.policy import policy_doubt, refuse_write
from memories.store.prepare import PreparedDraft
from memories.store.writes.executor import (
    Insert,
    KeepWording,
    LinkNeighbours,
    LinkSuccessor,
    Log,
    PointToSuccessor,
    Reinforce,
    RetireLapsed,
    Supersede,
    Write,
)
from memories.store.writes.rows import new_row
from memories.types import Scope, State, Trust, Type


class Outcome:
    """What became of a draft."""

    CREATED = "created"
    REINFORCED = "reinforced"
    QUEUED = "queued"  # written as a candidate, waits for a person
    REFUSED = "refused"
    UNCHANGED = "unchanged"  # this source's text is stored already, letter by letter


@dataclass(frozen=True)
class WriteContext:
    """A draft with its group and all that is stored and bears on it.

    `replaces` is what the caller names, or what its source said before; `exact` is live with the same text, `former`
    had it and was superseded.
    """

    prepared: PreparedDraft
    group: Group
    source: StoredSource | None = None
    replaces: Memory | None = None
    tombstone: Tombstone | None = None
    exact: Memory | None = None
    former: Memory | None = None
    neighbours: tuple[Neighbour, ...] = ()

    @property
    def draft(self) -> Draft:
        """The draft itself."""
        return self.prepared.draft

    @property
    def replaced(self) -> Memory | None:
        """What would be superseded: a text that was hidden or withdrawn since stays so."""
        return self.replaces if self.replaces is not None and self.replaces.state == State.LIVE else None


@dataclass(frozen=True)
class Decision:
    """What is to become of a draft, and the writes that make it so, in order.

    `memory` is the one that the draft is now: new, or there before. `why` and `note` stand before and after what a
    reinforcement says.
    """

    outcome: str
    memory: Memory | None = None
    why: str = ""
    note: str = ""
    writes: tuple[Write, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    superseded: Memory | None = None


def with_scope(draft: Draft, group: Group, replaces: Memory | None) -> Draft:
    """The draft with its scope, if the caller named none.

    Events stay in their group, a private group keeps all, and what replaces a group's memory stays in the group.
    """
    if draft.scope:
        return draft
    is_inner = replaces is not None and replaces.scope == Scope.GROUP
    is_inner = is_inner or group.private or draft.type == Type.EPISODIC
    return draft.in_scope(Scope.GROUP if is_inner else Scope.GLOBAL)


def decide_draft(actor: Actor, context: WriteContext, *, now: datetime) -> Decision:
    """Decide what becomes of a draft; writes nothing.

    In this order: is this source's text stored? does a tombstone bar the text? is it live letter by letter? does a
    neighbour say the same? must a person look first? Else it is a new memory, perhaps in another's place.

    Raises:
        InvalidInput: it is global and the group is private, or it would supersede itself.
        NotPermitted: its source's text went on in a group that the actor may not write, or it would make global what
            a group keeps to itself and the actor may not curate there.
    """
    known = context.source.texts.get(context.draft.hash) if context.source else None
    if known is not None:
        return Decision(Outcome.UNCHANGED, known, "this source's text is stored already")
    check_rights(actor, context)
    tombstone, exact = context.tombstone, context.exact
    if tombstone is not None:
        reason = tombstone.reason or "no reason was given"
        why = f"this text was {tombstone.kind} here before: {reason}. A curator can lift the tombstone."
        log = AuditEvent(
            Operation.REFUSE, tombstone.memory_id, context.group.id, payload={"why": tombstone.kind}
        )
        return Decision(Outcome.REFUSED, None, why, writes=(Log(log),))
    if exact is None:
        return decide_new(actor, context, now=now)
    if has_lapsed(exact, now):
        return decide_new(actor, context, now=now, lapsed=exact)
    if exact.trust in (Trust.REJECTED, Trust.QUARANTINED):
        why = f"this text is {exact.trust} here; a curator can change that"
        log = AuditEvent(Operation.REFUSE, exact.id, context.group.id, payload={"why": exact.trust})
        return Decision(Outcome.REFUSED, exact, why, writes=(Log(log),))
    if context.replaces is not None and context.replaces.key == exact.key:
        raise InvalidInput("A memory cannot supersede itself.", hint="Change the text.", field="supersedes")
    return decide_restated(actor, context, exact, now=now)


def check_rights(actor: Actor, context: WriteContext) -> None:
    old = context.replaces
    if old is not None and not actor.may(WRITE, old.group_id):
        refuse_write(old.group.slug)
    if context.group.private and context.draft.scope == Scope.GLOBAL:
        raise InvalidInput(
            f"The group '{context.group.slug}' is private: nothing in it is global.",
            hint="Use scope 'group'.",
            field="scope",
        )
    widens = old is not None and old.scope == Scope.GROUP and context.draft.scope == Scope.GLOBAL
    if old is not None and widens and not actor.may(CURATE, old.group_id):
        raise NotPermitted(
            f"You may not make what '{old.group.slug}' keeps to itself global.",
            hint="Use scope 'group', or let a curator of the group store it (a token needs the scope 'curate').",
            field="scope",
        )


def decide_restated(actor: Actor, context: WriteContext, exact: Memory, *, now: datetime) -> Decision:
    """The same text again: it confirms the memory, and takes the place of what the draft was to replace."""
    old, writes = context.replaced, [Reinforce(exact)]
    if old is None:
        after = context.source.current if context.source is not None else None
        wording = (_wording(actor, context, exact, after=after, now=now),) if context.draft.source_ref else ()
        return Decision(Outcome.REINFORCED, exact, writes=(*wording, *writes))
    if exact.trust == Trust.CANDIDATE:
        doubt = "what would replace it waits for a curator itself"
    else:
        doubt = policy_doubt(actor, exact.group, exact.confidence)
    if doubt:
        waits = LinkSuccessor(exact, old)
        return Decision(Outcome.REINFORCED, exact, note=f"{old.id} stays: {doubt}", writes=(*writes, waits))
    return Decision(Outcome.REINFORCED, exact, writes=(*writes, Supersede(old, exact)), superseded=old)


def _wording(
    actor: Actor, context: WriteContext, into: Memory, *, after: Memory | None = None, now: datetime
) -> KeepWording:
    row = new_row(
        actor, context.draft, into.group, trust=Trust.ACTIVE, now=now, columns=context.prepared.columns
    )
    if context.source is not None:
        row.source_ref = ""  # the source's first row keeps it
    row.scope, row.state = into.scope, State.MERGED
    row.state_changed_at = row.retired_at = now
    return KeepWording(row, context.prepared, into, after)


def decide_new(
    actor: Actor, context: WriteContext, *, now: datetime, lapsed: Memory | None = None
) -> Decision:
    """A text that does not count yet: a restatement of a neighbour, a candidate, or a new memory.

    `lapsed` has the same text and its time is over; the new memory is its next version.
    """
    old, neighbours = context.replaces, context.neighbours
    retire = (RetireLapsed(lapsed),) if lapsed is not None else ()
    same = find_restated_neighbour(context)
    if same is not None:
        writes = (*retire, _wording(actor, context, same.memory, now=now), Reinforce(same.memory))
        return Decision(
            Outcome.REINFORCED, same.memory, same.comparison.why, writes=writes, neighbours=neighbours
        )
    doubt = withdrawn_doubt(neighbours, context.draft.content) or write_doubt(actor, context)
    trust = Trust.CANDIDATE if doubt else Trust.ACTIVE
    row = new_row(actor, context.draft, context.group, trust=trust, now=now, columns=context.prepared.columns)
    if context.source is not None:
        row.source_ref = ""  # the source's first row keeps it
    after = None if doubt else old or lapsed
    insert = Insert(row, context.prepared, context.group, after=after, replaces=old)
    target = successor_target(context) if doubt else None
    has_links = after is not None or target is not None
    links = (LinkNeighbours(row, neighbours, has_links=has_links),) if neighbours else ()
    if doubt:
        waits = (LinkSuccessor(row, target),) if target is not None else ()
        writes = (*retire, insert, *waits, *links)
        return Decision(Outcome.QUEUED, row, doubt, writes=writes, neighbours=neighbours)
    follows = (PointToSuccessor(lapsed, row),) if lapsed is not None else ()
    replaced = context.replaced
    takes = (Supersede(replaced, row),) if replaced is not None else ()
    return Decision(
        Outcome.CREATED,
        row,
        writes=(*retire, insert, *links, *follows, *takes),
        neighbours=neighbours,
        superseded=replaced,
    )


def find_restated_neighbour(context: WriteContext) -> Neighbour | None:
    """The live memory of the same group and scope that says the same in other words. Events are never merged.

    What another group or scope has may be forgotten there, so such a text is kept and linked.
    """
    if context.draft.type == Type.EPISODIC or context.replaces is not None:
        return None
    for neighbour in context.neighbours:
        memory = neighbour.memory
        is_own = memory.group_id == context.group.key and memory.scope == context.draft.scope
        counts = memory.state == State.LIVE and memory.trust in (Trust.ACTIVE, Trust.VERIFIED)
        if neighbour.restates and counts and is_own:
            return neighbour
    return None


def withdrawn_doubt(neighbours: tuple[Neighbour, ...], text: str) -> str:
    """Which retracted memory a text may restate, so that a person looks first; empty if none."""
    for neighbour in neighbours:
        if not neighbour.is_retracted:
            continue
        is_disguised = without_marks(neighbour.memory.content) == without_marks(text)
        if neighbour.comparison.sameness is not Sameness.DIFFERENT or is_disguised:
            return f"it restates {neighbour.id}, which was retracted; a curator decides"
    return ""


def write_doubt(actor: Actor, context: WriteContext) -> str:
    """Why a person has to look at a new text first; empty if nobody has to."""
    if context.former is not None and context.replaces is None:
        current = head_of(context.former)
        return f"this text was superseded by {current.id}; pass supersedes to make it current again"
    return policy_doubt(actor, context.group, context.draft.confidence)


def successor_target(context: WriteContext) -> Memory | None:
    """The memory whose place a candidate takes once it is approved; None if it takes nobody's.

    That is what the caller or the source names; of a text that was superseded, what says otherwise now: a person who
    approves it says that it is true again.
    """
    if context.replaces is not None or context.former is None:
        return context.replaces
    try:
        head = find_head_to_replace(context.former)
    except Conflict:  # it went into a summary of several
        return None
    return head if head.state == State.LIVE and head.group_id == context.group.key else None
