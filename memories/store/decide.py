"""The decision on one draft: pure, from what is stored to a list of writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from access.actor import CURATE, WRITE, Actor
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.errors import InvalidInput, NotPermitted
from access.models import Group
from memories.draft import Draft, held_for_person
from memories.models import Memory
from memories.queries.versions import check_one_group, has_lapsed, head_of
from memories.store.existing import StoredSource
from memories.store.for_review import link_successor
from memories.store.neighbours import Neighbour
from memories.store.policy import Change, held_back, policy_doubt, refuse_write
from memories.store.prepare import PreparedDraft
from memories.store.rows import new_row
from memories.store.supersede import (
    activate_candidate,
    point_to_successor,
    release_source,
    replace_memory,
    retire_lapsed,
)
from memories.store.withdrawn.marks import WITHDRAWN_ELSEWHERE, Withdrawn, repeated_text
from memories.store.withdrawn.near import UNPROBED, restated_doubt
from memories.types import VISIBLE_TRUSTS, WITHDRAWN_TRUSTS, Scope, State, Trust, Type


@dataclass(frozen=True)
class Insert:
    """Insert a new memory at its place in the thread: that of the memory it `replaces`, the one named, or the end.

    `after` is the previous version of its chain. `why`: the reason why it waits, for the log.
    """

    row: Memory
    prepared: PreparedDraft
    group: Group
    after: Memory | None = None
    replaces: Memory | None = None
    why: str = ""

    @property
    def is_appended(self) -> bool:
        """True if it goes to the end of its thread and starts a chain."""
        return self.after is None and self.replaces is None and self.prepared.draft.position is None


@dataclass(frozen=True)
class KeepWording:
    """Keep a restatement's wording and source as a row merged into the memory `into`."""

    row: Memory
    prepared: PreparedDraft
    into: Memory
    after: Memory | None = None


@dataclass(frozen=True)
class Reinforce:
    """Count a restatement of a memory; `valid_from` is an earlier beginning of its valid time that it names."""

    memory: Memory
    valid_from: datetime | None = None


@dataclass(frozen=True)
class RowWrite:
    """A write to rows that exist, by itself and after everything collected before it: `do` takes the actor and the rows."""

    do: Callable[..., object]
    rows: tuple[Memory, ...]


@dataclass(frozen=True)
class LinkNeighbours:
    """Link a memory to the neighbours that it may duplicate or contradict.

    `has_links` False: no link leads from its chain yet, so none is looked up.
    """

    memory: Memory
    neighbours: tuple[Neighbour, ...]
    has_links: bool = True


@dataclass(frozen=True)
class AwaitProbe:
    """Record that a candidate waits for the comparison with the withdrawn texts, and the trust it then gets."""

    memory: Memory
    trust: str


@dataclass(frozen=True)
class Log:
    """Log a refusal."""

    event: AuditEvent


Write = Insert | KeepWording | Reinforce | RowWrite | LinkNeighbours | AwaitProbe | Log


class Outcome:
    """The outcome of a draft."""

    CREATED = "created"
    REINFORCED = "reinforced"
    QUEUED = "queued"  # written as a candidate for a person to decide
    REFUSED = "refused"
    UNCHANGED = "unchanged"  # this source has brought exactly this text before


@dataclass(frozen=True)
class WriteContext:
    """A draft with its group and everything stored that affects the decision.

    `replaces` is the memory that the caller names, or the current one of the source; `exact` is live with the same
    text, `former` is superseded with the same text. `withdrawn` is a withdrawn text with the same letters and digits;
    `withdrawn_label` is one that a field besides the text repeats, with its path. `is_probed` False: its vector could not
    be compared with all withdrawn texts yet.
    """

    prepared: PreparedDraft
    group: Group
    source: StoredSource | None = None
    replaces: Memory | None = None
    withdrawn: Withdrawn | None = None
    withdrawn_label: tuple[str, Withdrawn] | None = None
    is_probed: bool = True
    exact: Memory | None = None
    former: Memory | None = None
    neighbours: tuple[Neighbour, ...] = ()

    @property
    def draft(self) -> Draft:
        """The checked draft."""
        return self.prepared.draft

    @property
    def replaced(self) -> Memory | None:
        """The memory to supersede: `replaces` if it is still live; one hidden or withdrawn since stays so."""
        return self.replaces if self.replaces is not None and self.replaces.state == State.LIVE else None


@dataclass(frozen=True)
class Decision:
    """The outcome of a draft, and the writes that carry it out, in order.

    `memory` holds the draft's text, new or existing. In the answer, `why` precedes the effect of a reinforcement and
    `note` follows it.
    """

    outcome: str
    memory: Memory | None = None
    why: str = ""
    note: str = ""
    writes: tuple[Write, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    superseded: Memory | None = None

    def with_effect(self, effects: Mapping[UUID, str]) -> "Decision":
        """The decision as it was carried out: `why` ends with the effect on a reinforced memory, by its id, and the note."""
        memory = self.memory if self.outcome == Outcome.REINFORCED else None
        effect = effects.get(memory.id, "") if memory is not None else ""
        return replace(self, why="; ".join(filter(None, (self.why, effect, self.note))), note="")


def decide_draft(actor: Actor, context: WriteContext, *, now: datetime) -> Decision:
    """Decide what becomes of a draft; writes nothing.

    Asks in this order: has this source brought the text before? was exactly this text withdrawn? is it live? was it
    withdrawn in other dress? does a neighbour state the same fact? must a person decide? Else it is a new memory,
    perhaps superseding another.

    Raises:
        Conflict: a field besides the text repeats a withdrawn text, or the memory to replace is in another group.
        InvalidInput: a global draft for a private group, or one that would supersede itself.
        NotPermitted: the memory to replace is in a group that the actor may not write to, or the draft would make
            a group's memory global and the actor may not curate that group.
    """
    known = context.source.find_unchanged(context.draft) if context.source else None
    if known is not None:
        return Decision(Outcome.UNCHANGED, known, "this source's text is stored already")
    check_rights(actor, context)
    if context.withdrawn_label is not None:
        path, withdrawn = context.withdrawn_label
        raise repeated_text(actor, withdrawn, path=path)
    exact = context.exact
    if context.withdrawn is not None and context.withdrawn.is_refused:
        return refuse_withdrawn(actor, context, context.withdrawn)
    if exact is None:
        return _decide_new(actor, context, now=now)
    if has_lapsed(exact, now):
        return _decide_new(actor, context, now=now, lapsed=exact)
    if exact.trust in WITHDRAWN_TRUSTS:
        why = f"this text is {exact.trust} here; a curator can change that"
        log = AuditEvent(Operation.REFUSE, exact.id, context.group.id, payload={"why": exact.trust})
        return Decision(Outcome.REFUSED, exact, why, writes=(Log(log),))
    if context.replaces is not None and context.replaces.key == exact.key:
        raise InvalidInput("A memory cannot supersede itself.", hint="Change the text.", field="supersedes")
    return _decide_restated(actor, context, exact, now=now)


def refuse_withdrawn(actor: Actor, context: WriteContext, withdrawn: Withdrawn) -> Decision:
    """Refuse a withdrawn text; the log of another group than the withdrawing one does not name the memory."""
    mark = withdrawn.tombstone
    log = AuditEvent(
        Operation.REFUSE,
        mark.memory_id if withdrawn.is_own else None,
        context.group.id,
        payload={"why": mark.kind if withdrawn.is_own else "withdrawn in another group"},
    )
    exact = context.exact if context.exact is not None and context.exact.trust in WITHDRAWN_TRUSTS else None
    return Decision(Outcome.REFUSED, exact, withdrawn.describe(actor), writes=(Log(log),))


def check_rights(actor: Actor, context: WriteContext) -> None:
    """Check the rights to replace a memory and to make it global; raises as decide_draft() does."""
    old = context.replaces
    if old is not None and not actor.may(WRITE, old.group_id):
        refuse_write(actor, old)
    if old is not None:
        check_one_group(old, context.group, field="supersedes")
    if not context.group.may_hold(context.draft.scope):
        raise InvalidInput(
            f"The group '{context.group.slug}' is private and takes no global memories.",
            hint="Use scope 'group'.",
            field="scope",
        )
    widens = old is not None and old.scope == Scope.GROUP and context.draft.scope == Scope.GLOBAL
    if old is not None and widens and not actor.may(CURATE, old.group_id):
        raise NotPermitted(
            f"You may not make a memory of the group '{old.group.slug}' global.",
            hint="Use scope 'group', or ask a curator of the group to store it (a token needs the scope 'curate').",
            field="scope",
        )


def _decide_restated(actor: Actor, context: WriteContext, exact: Memory, *, now: datetime) -> Decision:
    """Reinforce a memory with exactly the draft's text; it also supersedes what the draft was to replace."""
    old, reinforce = context.replaced, Reinforce(exact, _earlier_start(actor, exact, context.draft))
    if exact.trust == Trust.CANDIDATE and is_current_again(actor, context):
        supersede = (RowWrite(replace_memory, (old, exact)),) if old is not None else ()
        writes = (reinforce, *supersede, RowWrite(activate_candidate, (exact,)))
        note = "it is no longer a candidate: it counts again"
        return Decision(Outcome.REINFORCED, exact, note=note, writes=writes, superseded=old)
    if old is None and not context.draft.source_ref:
        return Decision(Outcome.REINFORCED, exact, writes=(reinforce,))
    if old is None:
        source = context.source
        after = source.current if source is not None and not source.is_merged else None
        wording = _keep_wording(actor, context, exact, after=after, now=now)
        return Decision(Outcome.REINFORCED, exact, writes=(*_pass_source_on(context), wording, reinforce))
    if exact.trust == Trust.CANDIDATE:
        doubt = "its replacement is itself waiting for a curator"
    else:
        doubt = policy_doubt(actor, exact.group, exact.confidence) or _replacing_doubt(actor, context)
    if doubt:
        note, link = f"{old.id} stays: {doubt}", RowWrite(link_successor, (exact, old))
        return Decision(Outcome.REINFORCED, exact, note=note, writes=(reinforce, link))
    supersede = (RowWrite(replace_memory, (old, exact)),)
    return Decision(Outcome.REINFORCED, exact, writes=(reinforce, *supersede), superseded=old)


def is_current_again(actor: Actor, context: WriteContext) -> bool:
    """True if a candidate that is stored again may count at once: it was superseded, and nothing stands against it now.

    That is so if the caller names what superseded it, or if that chain has no live version any more.
    """
    restated = restated_doubt(actor, context.group, context.withdrawn, context.neighbours)
    is_held = not context.is_probed or restated or _write_doubt(actor, context)
    return context.former is not None and not is_held


def _new_draft_row(actor: Actor, context: WriteContext, group: Group, *, trust: str, now: datetime) -> Memory:
    """The unsaved row of the draft; without its source_ref if the source's first row keeps it."""
    row = new_row(actor, context.draft, group, trust=trust, now=now, columns=context.prepared.columns)
    if context.source is not None and not context.source.is_merged:
        row.source_ref = ""
    return row


def _pass_source_on(context: WriteContext) -> tuple[Write, ...]:
    """The write that takes the source_ref from a wording kept in another memory: the source's next text gets it."""
    source = context.source
    return (RowWrite(release_source, (source.row,)),) if source is not None and source.is_merged else ()


def _keep_wording(
    actor: Actor, context: WriteContext, into: Memory, *, after: Memory | None = None, now: datetime
) -> KeepWording:
    """The write that keeps the draft's wording as a row merged into a memory."""
    # Restored, it counts no more than that memory did.
    trust = Trust.ACTIVE if into.trust in VISIBLE_TRUSTS else into.trust
    row = _new_draft_row(actor, context, into.group, trust=trust, now=now)
    row.scope, row.state = into.scope, State.MERGED
    row.state_changed_at = row.retired_at = now
    return KeepWording(row, context.prepared, into, after)


def _decide_new(
    actor: Actor, context: WriteContext, *, now: datetime, lapsed: Memory | None = None
) -> Decision:
    """Decide on a text that is not live yet: a restatement of a neighbour, a candidate, or a new memory.

    `lapsed` is a live row with the same text whose time is over; the new memory is its next version.
    """
    old, neighbours = context.replaces, context.neighbours
    retire: tuple[Write, ...] = _pass_source_on(context)
    retire += (RowWrite(retire_lapsed, (lapsed,)),) if lapsed is not None else ()
    quarantined = held_for_person(context.draft)
    same = _find_restated_neighbour(context) if not quarantined else None
    if same is not None:
        reinforce = Reinforce(same.memory, _earlier_start(actor, same.memory, context.draft))
        writes = (*retire, _keep_wording(actor, context, same.memory, now=now), reinforce)
        return Decision(
            Outcome.REINFORCED, same.memory, same.comparison.why, writes=writes, neighbours=neighbours
        )
    restated = restated_doubt(actor, context.group, context.withdrawn, neighbours)
    held = _write_doubt(actor, context)
    doubt = quarantined or restated or ("" if context.is_probed else UNPROBED) or held
    trust = Trust.QUARANTINED if quarantined else Trust.CANDIDATE if doubt else Trust.ACTIVE
    row = _new_draft_row(actor, context, context.group, trust=trust, now=now)
    ended = None if doubt or old or lapsed else _find_ended_chain(context)
    after = None if doubt else old or lapsed or ended
    insert = Insert(
        row, context.prepared, context.group, after=after, replaces=old, why=_logged_doubt(context, doubt)
    )
    targets = _find_approval_targets(context) if doubt else []
    has_links = after is not None or bool(targets)
    links = (LinkNeighbours(row, neighbours, has_links=has_links),) if neighbours and not quarantined else ()
    if doubt:
        approval = (RowWrite(link_successor, (row, target)) for target in targets)
        # What restates a withdrawn text or is held back waits for a curator, whatever the owed comparison finds.
        after_probe = "" if quarantined or restated or held else Trust.ACTIVE.value
        probe = () if context.is_probed else (AwaitProbe(row, after_probe),)
        writes = (*retire, insert, *approval, *links, *probe)
        return Decision(Outcome.QUEUED, row, doubt, writes=writes, neighbours=neighbours)
    retired = lapsed or ended
    point = (RowWrite(point_to_successor, (retired, row)),) if retired is not None else ()
    replaced = context.replaced
    supersede = (RowWrite(replace_memory, (replaced, row)),) if replaced is not None else ()
    return Decision(
        Outcome.CREATED,
        row,
        writes=(*retire, insert, *links, *point, *supersede),
        neighbours=neighbours,
        superseded=replaced,
    )


def _logged_doubt(context: WriteContext, doubt: str) -> str:
    """Why a draft waits, for the log of its group: it names no memory that another group withdrew."""
    neighbours = (n for n in context.neighbours if n.is_withdrawn)
    is_elsewhere = any(n.memory.group_id != context.group.key for n in neighbours)
    if doubt and (is_elsewhere or (context.withdrawn is not None and not context.withdrawn.is_own)):
        return WITHDRAWN_ELSEWHERE
    return doubt


def _earlier_start(actor: Actor, memory: Memory, draft: Draft) -> datetime | None:
    """The beginning of valid time that a restatement of a fact names, if it is earlier; else None.

    None, too, where the policy's table would hold back an edit of the memory's time.
    """
    start, current = draft.valid_from, memory.valid_from
    is_earlier = start is not None and current is not None and start < current
    if memory.type == Type.EPISODIC or not is_earlier or held_back(actor, Change.EDIT, memory):
        return None
    return start


def _find_restated_neighbour(context: WriteContext) -> Neighbour | None:
    """The live memory of the same group and scope that states the same fact in other words; None for events.

    A restatement of a memory of another group or scope is kept and linked, since that memory may be withdrawn there.
    """
    is_like_withdrawn = context.withdrawn is not None or not context.is_probed
    if context.draft.type == Type.EPISODIC or context.replaces is not None or is_like_withdrawn:
        return None
    for neighbour in context.neighbours:
        memory = neighbour.memory
        is_own = memory.group_id == context.group.key and memory.scope == context.draft.scope
        is_trusted = memory.state == State.LIVE and memory.trust in VISIBLE_TRUSTS
        if neighbour.restates and is_trusted and is_own:
            return neighbour
    return None


def _write_doubt(actor: Actor, context: WriteContext) -> str:
    """Why a person must decide on a new text, or on what it replaces, apart from withdrawn texts; empty if none must."""
    if context.former is not None:
        current, named = head_of(context.former), context.replaces
        is_own = current.group_id == context.group.key
        is_standing = is_own and current.state == State.LIVE and current.trust != Trust.REJECTED
        if is_standing and (named is None or named.root_key != current.root_key):
            return f"this text was superseded by {current.id}; pass supersedes to make it current again"
    source = context.source
    if source is not None and source.is_by_hand and source.went_back(context.draft):
        return f"its source went back to an earlier text, and {source.current.id} was edited since; a curator decides"
    hold = context.prepared.hold
    return (
        hold
        or held_for_person(context.draft)
        or policy_doubt(actor, context.group, context.draft.confidence)
        or _replacing_doubt(actor, context)
    )


def _replacing_doubt(actor: Actor, context: WriteContext) -> str:
    """Why the memory that the draft replaces stays until a curator decides; empty if it does not."""
    old = context.replaced
    if old is None:
        return ""
    return held_back(actor, Change.SUPERSEDE, old, confidence=context.draft.confidence)


def _find_ended_chain(context: WriteContext) -> Memory | None:
    """The retracted head of the chain that has superseded this text: its ids lead to the new memory from now on."""
    head = head_of(context.former) if context.former is not None else None
    is_own = head is not None and head.group_id == context.group.key and head.scope == context.draft.scope
    return head if is_own and head is not None and head.state == State.RETRACTED else None


def _find_approval_targets(context: WriteContext) -> list[Memory]:
    """The memories that a candidate supersedes once approved.

    That is the one the caller or the source names. For a text that was superseded it is the current head of its chain as
    well: approving the text states that it is true again.
    """
    named = context.replaces
    targets = [named] if named is not None else []
    if context.former is None:
        return targets
    head = head_of(context.former)
    is_other = named is None or named.root_key != head.root_key
    is_own = head.state == State.LIVE and head.group_id == context.group.key
    return [*targets, head] if is_other and is_own else targets
