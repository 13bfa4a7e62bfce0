"""What a move would do: the families that another group accepts, and for each other one why it stays.

A family moves together: a memory with all its versions, its other wordings, and what it replaced.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext, pgettext

from access.additions import additions
from access.answers import Answer
from access.errors import LociError
from access.models import Group
from memories.draft import TEXTS, Draft, guard_draft, stored_door
from memories.lifecycle.entering import CONTENT, find_barred
from memories.models import Doubt, Link, LinkStatus, Memory, Proposal, ProposalStatus, Thread
from memories.models.link import ON_APPROVAL
from memories.models.text_lookup import fold_start, fold_starts_with_any
from memories.queries.snapshot import RELATED_ROWS
from memories.store.withdrawn.marks import Withdrawn, read_marks
from memories.types import SUMMARY_SOURCE, Scope, State, Trust, Type
from relations.models import EntityAlias, Relation
from storage.bulk import AT_ONCE, batches

MOVABLE_TRUST: Final = (Trust.ACTIVE, Trust.VERIFIED, Trust.CANDIDATE)
_Reasons = dict[int, str]  # by the key of a family's head


@dataclass(frozen=True)
class StayingMemory(Answer):
    """A memory whose scope stays as it is, and why."""

    id: UUID
    why: str


@dataclass
class MovingFamily:
    """A current memory and every row of its group that leads to it."""

    head: Memory
    rows: list[Memory] = field(default_factory=list)

    @property
    def roots(self) -> set[int]:
        """The keys of the chains' roots, which relations, names and links point to."""
        return {row.root_key for row in self.rows}


def families_of(heads: Sequence[Memory]) -> list[MovingFamily]:
    """The families of current memories of one group, in their order; rows of other groups are left out.

    The number of queries grows with the length of the chains and every 400 memories, not with each.
    """
    families = {head.key: MovingFamily(head, [head]) for head in heads}
    owner = {head.key: head.key for head in heads}
    by_root = {head.root_key: head.key for head in heads}
    fresh: list[Memory] = list(heads)
    while fresh:
        found = [row for row in leading_to(fresh) if row.key not in owner]
        fresh = []
        for row in found:
            head = by_root.get(row.root_key) or owner.get(row.superseded_by_id or 0)
            if head is None or row.key in owner:
                continue
            owner[row.key] = head
            by_root.setdefault(row.root_key, head)
            families[head].rows.append(row)
            fresh.append(row)
    for family in families.values():
        family.rows.sort(key=lambda row: row.key)
    return list(families.values())


def leading_to(rows: Collection[Memory]) -> Iterator[Memory]:
    """The rows of the same group that share a chain with one of these, or that became part of one."""
    group = {row.group_id for row in rows}
    wanted = {(row.key, row.root_key) for row in rows}
    for some in batches(sorted(wanted), AT_ONCE // 2):
        keys, roots = [key for key, _ in some], {root for _, root in some}
        related = Q(superseded_by__in=keys) | Q(root__in=roots) | Q(key__in=roots)
        yield from Memory.objects.filter(related, group__in=group).select_related(*RELATED_ROWS)


@dataclass(frozen=True)
class MovePlan:
    """The families that move, those that stay, and the relations that go along."""

    source: Group
    target: Group
    moving: tuple[MovingFamily, ...]
    staying: tuple[StayingMemory, ...] = ()
    relations: tuple[int, ...] = field(default=(), repr=False)

    @property
    def rows(self) -> list[Memory]:
        """Every row that moves."""
        return [row for family in self.moving for row in family.rows]


def plan_move(families: Sequence[MovingFamily], source: Group, target: Group) -> MovePlan:
    """Which of the families another group accepts as they are, inside the caller's transaction; writes nothing."""
    why: _Reasons = {}  # the first reason of each that stays
    for check in (
        _refuse_state, _refuse_summaries, _refuse_conversations, _refuse_global, _refuse_withdrawn, _refuse_guarded, _refuse_twins,
        _refuse_sources, _refuse_waiting, *additions("reasons to stay"),
    ):  # fmt: skip
        why |= check([each for each in families if each.head.key not in why], target)
    relations = _find_relations(families, source)
    while torn := _torn_apart([each for each in families if each.head.key not in why], relations):
        why |= torn
    moving = tuple(each for each in families if each.head.key not in why)
    roots = {root for family in moving for root in family.roots}
    along = tuple(row.pk for row in relations if _goes_along(row, roots))
    staying = tuple(StayingMemory(f.head.id, why[f.head.key]) for f in families if f.head.key in why)
    return MovePlan(source, target, moving, staying, along)


def _refuse_state(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """Withdrawn memories stay: their tombstones are this group's. So do those that a person has to judge."""
    line = gettext("it is {state} and {trust}; only a live memory that is not rejected or quarantined moves")
    heads = [family.head for family in families]
    return {
        head.key: line.format(state=pgettext("word", head.state), trust=pgettext("word", head.trust))
        for head in heads
        if head.state != State.LIVE or head.trust not in MOVABLE_TRUST
    }


def _refuse_summaries(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """A summary tells of events that stay; where they go, the next cycle makes another."""
    line = gettext("it is a summary: move its events")
    return {family.head.key: line for family in families if family.head.source == SUMMARY_SOURCE}


def _refuse_conversations(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """Turns of a site's conversation move with it; so does its summary."""
    why: _Reasons = {}
    for family in families:
        captured = next((r.thread for r in family.rows if r.thread and r.thread.platform), None)
        if captured is not None:
            line = gettext("it belongs to the conversation “{label}”: move that one")
            why[family.head.key] = line.format(label=captured.label)
    keys = {row.key: family.head.key for family in families for row in family.rows}
    for some in batches(keys):
        for thread in Thread.objects.filter(summary__in=some):
            line = gettext("it sums up the conversation “{label}”: move that one")
            why[keys[thread.summary_id or 0]] = line.format(label=thread.label)
    return why


def _refuse_global(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """A private group has no global memories."""
    line = gettext("it is global, and '{group}' is private").format(group=target.slug)
    fits = {each.head.key: all(target.may_hold(row.scope) for row in each.rows) for each in families}
    return {key: line for key, may_come in fits.items() if not may_come}


def _refuse_withdrawn(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """The target's tombstones hold, for the memories and for what goes along with them."""
    if not read_marks(target.key).exact:
        return {}
    rows = [*_memories_and_threads(families), *rows_going_along(families)]
    why: _Reasons = {}
    for (head, _), barred in zip(rows, find_barred(target, [row for _, row in rows]), strict=True):
        if barred is not None:
            why.setdefault(head, _barred_line(*barred, target))
    return why


def _barred_line(path: str, withdrawn: Withdrawn, target: Group) -> str:
    kind = pgettext("word", withdrawn.tombstone.kind)
    if path == CONTENT and not withdrawn.is_own:
        return gettext("its text was withdrawn elsewhere")
    if path == CONTENT:
        return gettext("its text was {kind} in '{group}'").format(kind=kind, group=target.slug)
    line = gettext("'{path}' of it, or of what goes along, repeats a text that was withdrawn for '{group}'")
    return line.format(path=path, group=target.slug)


def _memories_and_threads(families: Sequence[MovingFamily]) -> Iterator[tuple[int, Model]]:
    """The rows and their threads, whose titles the target's threads take over, each with the key of its family's head."""
    for family in families:
        yield from ((family.head.key, row) for row in family.rows)
        threads = {row.thread for row in family.rows if row.thread is not None}
        yield from ((family.head.key, thread) for thread in threads)


def rows_going_along(families: Sequence[MovingFamily]) -> Iterator[tuple[int, Model]]:
    """Names, disputes, links, waiting proposals and relations of the families, each with the key of a family's head."""
    source = families[0].head.group if families else None
    owner = {key: f.head.key for f in families for row in f.rows for key in (row.key, row.root_key)}
    for some in batches(owner):
        of_memory: tuple[QuerySet[Any], ...] = (
            EntityAlias.objects.filter(memory__in=some, group=source),
            Doubt.objects.filter(memory__in=some),
            Proposal.objects.filter(memory__in=some, group=source, status=ProposalStatus.WAITING),
        )
        for row in chain.from_iterable(of_memory):
            yield owner[row.memory_id], row
        for link in Link.objects.filter(source__in=some):
            yield owner[link.source_id], link
    for relation in _find_relations(families, source) if source is not None else ():
        if relation.retired_at is None and _goes_along(relation, owner):
            for end in {relation.subject_id, relation.object_id} & owner.keys():
                yield owner[end], relation


def _refuse_guarded(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """Texts that the target's rules for sensitive text would change, refuse or hold."""
    line = gettext("the rules of '{group}' for sensitive text do not take it as it is").format(
        group=target.slug
    )
    return {head: line for head, row in _live_rows(families) if not is_taken_as_is(row, target)}


def is_taken_as_is(row: Memory, target: Group) -> bool:
    """True if the target's guard leaves every text of the memory unchanged and lets it in."""
    try:
        texts = {name: getattr(row, name) for name in TEXTS if name not in ("tags", "thread")}
        thread = row.thread.name if row.thread else ""
        draft = Draft(**texts, type=row.type, tags=tuple(row.tags), thread=thread)
        seen = guard_draft(draft, target, stored_door(row))
    except LociError:
        return False
    is_same = all(getattr(seen, name) == getattr(draft, name) for name in TEXTS)
    return is_same and not any(f.treatment == "quarantine" for f in seen.findings)


def _refuse_twins(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """Texts that the target has already, or that it has superseded."""
    facts = [(head, row) for head, row in _live_rows(families) if row.type != Type.EPISODIC]
    there: dict[tuple[str, str, str], Memory] = {}
    for some in batches(sorted({fold_start(row.fold_hash) for _, row in facts})):
        rows = Memory.objects.filter(
            fold_starts_with_any(some), group=target, state__in=[State.LIVE, State.SUPERSEDED]
        )
        for row in rows.order_by("key"):
            if row.state == State.LIVE or row.superseded_by_id is not None:
                key = (row.scope, row.type, row.content_hash)
                there[key] = row if row.state == State.LIVE else there.get(key, row)
    return {
        head: gettext("the same text is {state} in '{group}' as {id}").format(
            state=pgettext("word", twin.state), group=target.slug, id=twin.id
        )
        for head, row in facts
        if (twin := there.get((row.scope, row.type, row.content_hash))) is not None
    }


def _refuse_sources(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """A source that the target has already brought."""
    named = [(f.head.key, row) for f in families for row in f.rows if row.source_ref]
    there: dict[tuple[str, str], Memory] = {}
    for some in batches(sorted({row.source_ref for _, row in named})):
        rows = Memory.objects.filter(~Q(source_ref=""), group=target, source_ref__in=some)
        there |= {(row.source, row.source_ref): row for row in rows}
    return {
        head: gettext("'{group}' has its source already, as {id}").format(group=target.slug, id=twin.id)
        for head, row in named
        if (twin := there.get((row.source, row.source_ref))) is not None
    }


def _refuse_waiting(families: Sequence[MovingFamily], target: Group) -> _Reasons:
    """A correction that waits for a curator names both of its ends: it is decided first."""
    owner = {root: family.head.key for family in families for root in family.roots}
    why: _Reasons = {}
    for some in batches(owner):
        ends = Q(source__in=some) | Q(target__in=some)
        for link in Link.objects.filter(ends, status=LinkStatus.OPEN).only("source", "target", "evidence"):
            if ON_APPROVAL in link.evidence:
                for end in {link.source_id, link.target_id} & owner.keys():
                    why[owner[end]] = gettext("a correction of it waits in the Review: decide that first")
    return why


def _live_rows(families: Iterable[MovingFamily]) -> list[tuple[int, Memory]]:
    """The live rows, each with the key of its family's head."""
    return [(f.head.key, row) for f in families for row in f.rows if row.state == State.LIVE]


def _find_relations(families: Sequence[MovingFamily], source: Group) -> list[Relation]:
    """The relations of the source group that have one of these entities at an end."""
    roots = {root for family in families if family.head.type == Type.ENTITY for root in family.roots}
    found: dict[int, Relation] = {}
    for some in batches(roots):
        rows = Relation.objects.filter(Q(subject__in=some) | Q(object__in=some), group=source)
        found |= {row.pk: row for row in rows.select_related("subject", "object").order_by("key")}
    return list(found.values())


def _torn_apart(families: Sequence[MovingFamily], relations: Sequence[Relation]) -> _Reasons:
    """Entities with a relation to one that stays: only global ones may be in another group than their relation."""
    owner = {root: family.head.key for family in families for root in family.roots}
    others: defaultdict[int, list[str]] = defaultdict(list)
    for row in relations:
        ends = (row.subject, row.object)
        inside = [end for end in ends if end.pk in owner]
        if row.retired_at is not None or len(inside) != 1:
            continue
        other = next(end for end in ends if end.pk not in owner)
        if Scope.GLOBAL not in (inside[0].scope, other.scope):
            others[owner[inside[0].pk]].append(other.content)
    return {
        head: gettext("it is related to “{name}”, which stays: move both together").format(name=names[0][:60])
        for head, names in others.items()
    }


def _goes_along(row: Relation, moving: Collection[int]) -> bool:
    """True if the relation moves: with both of its ends, or with one whose other end every group sees."""
    ends = ((row.subject_id, row.subject.scope), (row.object_id, row.object.scope))
    if all(key in moving for key, _ in ends):
        return True
    return any(key in moving and scope != Scope.GLOBAL for key, scope in ends)
