"""Withdrawals propagate to what was derived from a memory: summaries that repeat its text, facts that rest on it.

A link of the kind `derived` leads from a summary's root to a source's root, one of the kind `evidence` from a promoted
fact's root to an event's. The compacted sources of a summary name it.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.models import Group
from memories.language.cleaning import fold, format_memory_count
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.queries.snapshot import RELATED_ROWS, changes, snapshot
from memories.queries.versions import head_keys
from memories.store.change import change_rows
from memories.store.for_review import link, raise_doubt
from memories.types import SUMMARY_SOURCE, VISIBLE_TRUSTS, State, Trust, Type
from storage.bulk import batches

PROMOTE_AT_LEAST = 3  # similar events, to propose a fact
WITHDRAWN: Final = "a source was withdrawn"
_UNPROVEN: Final = (
    "too little of what it rested on is left"  # why an active fact that lost its evidence is doubted
)


@dataclass(frozen=True)
class DerivedChanges:
    """The effects of a change on other rows: how many changed, the sentences for people, and the payload of the log."""

    changed: int = 0
    consequences: tuple[str, ...] = ()
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _WeakenedFact:
    """A promoted fact (its head) that loses evidence: the links it loses, and how many are left."""

    head: Memory
    links: tuple[Link, ...]
    left: int
    restates_source: bool

    @property
    def falls(self) -> bool:
        """True if too little evidence is left, or the fact's text is itself withdrawn."""
        return self.restates_source or self.left < PROMOTE_AT_LEAST

    def describe(self) -> str:
        """The effect on the fact, as a sentence."""
        if not self.falls or self.head.state != State.LIVE:
            return f"the fact {self.head.id} loses evidence; it rests on {format_memory_count(self.left)} now"
        if self.head.trust == Trust.VERIFIED:
            return f"the fact {self.head.id} rested on it and stays, since a person verified it: look at the conflict"
        if self.head.trust == Trust.ACTIVE:
            return f"the fact {self.head.id} rested on it and is disputed now"
        trust = Trust.REJECTED if self.head.trust == Trust.CANDIDATE else self.head.trust
        return f"the fact {self.head.id} rested on it and is {trust} now"


@dataclass(frozen=True)
class WithdrawalReach:
    """What a withdrawal of rows reaches: all versions of the summaries, the number of other sources, and weakened facts."""

    source: Memory
    rows: tuple[Memory, ...] = ()
    summaries: tuple[Memory, ...] = ()
    others: int = 0
    facts: tuple[_WeakenedFact, ...] = ()

    def doomed(self) -> tuple[Memory, ...]:
        """The derived rows that a purge destroys with the memory, since they repeat its text."""
        roots = {f.head.root_key for f in self.facts if f.restates_source and f.head.trust != Trust.VERIFIED}
        facts = Memory.objects.filter(Q(key__in=roots) | Q(root__in=roots)).select_related(*RELATED_ROWS)
        return (*self.summaries, *(facts if roots else ()))

    def describe(self, *, is_purge: bool = False) -> tuple[str, ...]:
        """The effects, one sentence each."""
        doomed = {row.root_key for row in self.doomed()} if is_purge else set[int]()
        roots = dict.fromkeys(row.root_key for row in self.summaries)
        heads = {row.root_key: row for row in self.summaries}
        done = "destroyed" if is_purge else "withdrawn"
        lines = [f"the summary {heads[root].id}, which was made from it, is {done}" for root in roots]
        if self.others:
            lines.append(
                f"{format_memory_count(self.others)} that it also stood for are listed by themselves again"
            )
        for fact in self.facts:
            is_gone = fact.head.root_key in doomed
            lines.append(
                f"the fact {fact.head.id} says the same and is destroyed" if is_gone else fact.describe()
            )
        return tuple(lines)


def find_reach(source: Memory, rows: Sequence[Memory], *, hidden: Sequence[Memory] = ()) -> WithdrawalReach:
    """What was derived from the rows (a memory and what is withdrawn with it); writes nothing.

    `hidden`: what recall leaves out with them. Its summaries repeat the same text.
    """
    roots = {row.root_key for row in rows}
    summaries = _find_summaries(roots | {row.root_key for row in hidden if row.group_id == source.group_id})
    gone = roots | {row.root_key for row in summaries}
    return WithdrawalReach(
        source,
        tuple(rows),
        tuple(summaries),
        _compacted_behind([*rows, *summaries]).exclude(Q(key__in=gone) | Q(root__in=gone)).count(),
        tuple(_find_weakened_facts(gone, [row.content for row in rows])),
    )


def withdraw_derived(actor: Actor, reach: WithdrawalReach, *, is_purge: bool = False) -> DerivedChanges:
    """Apply a withdrawal to what it reaches, inside the verb's transaction. A purge destroys the doomed rows itself."""
    consequences = reach.describe(is_purge=is_purge)
    doomed = {row.key for row in reach.doomed()} if is_purge else set[int]()
    # The next cycle makes a summary of the others.
    _compacted_behind([*reach.rows, *reach.summaries]).update(summary=None)
    withdrawn = withdraw_rows(actor, [row for row in reach.summaries if row.key not in doomed])
    spared = [fact for fact in reach.facts if fact.head.key not in doomed]
    weakened = sum(_weaken_fact(actor, fact, reach.source, is_purge=is_purge) for fact in spared)
    return DerivedChanges(withdrawn + weakened, consequences)


def withdraw_summaries(actor: Actor, event: Memory) -> DerivedChanges:
    """Withdraw the summaries that repeat an event, or a summary, which no longer counts, inside the caller's transaction.

    What was behind a summary is listed by itself again. Facts stay: the event was true.
    """
    if event.type != Type.EPISODIC:
        return DerivedChanges()
    return withdraw_derived(actor, replace(find_reach(event, [event]), facts=()))


def standing(prefix: str = "") -> Q:
    """Condition: the memory, or the one that the prefix leads to, is a summary that stands for events now."""
    names = {"source": SUMMARY_SOURCE, "state": State.LIVE, "trust__in": VISIBLE_TRUSTS}
    return Q(**{f"{prefix}{name}": value for name, value in names.items()})


def withdraw_left_behind(actor: Actor, moved: Sequence[Memory], target: Group) -> None:
    """Withdraw the summaries in other groups of what has just moved to this one, inside the mover's transaction."""
    for some in batches([row for row in moved if row.type == Type.EPISODIC]):
        summaries = _find_summaries({row.root_key for row in some})
        left = tuple(row for row in summaries if row.group_id != target.pk)
        withdraw_derived(actor, WithdrawalReach(some[0], tuple(some), left))


def _find_summaries(roots: Collection[int]) -> list[Memory]:
    """All versions of the summaries made from these chains, and of summaries made from those."""
    found, fresh = dict[int, Memory](), set(roots)
    seen = set(roots)
    while fresh:
        linked = Link.objects.filter(kind=LinkKind.DERIVED, target__in=fresh).values_list("source", flat=True)
        compacted = Memory.objects.filter(Q(key__in=fresh) | Q(root__in=fresh), summary__isnull=False)
        behind = compacted.select_related("summary")
        fresh = {*linked, *(row.summary.root_key for row in behind if row.summary is not None)} - seen
        seen |= fresh
        rows = Memory.objects.filter(Q(key__in=fresh) | Q(root__in=fresh)).select_related(*RELATED_ROWS)
        found |= {row.key: row for row in rows.order_by("key")} if fresh else {}
    return list(found.values())


def _compacted_behind(summaries: Sequence[Memory]) -> QuerySet[Memory]:
    """The events behind these summaries."""
    return Memory.objects.filter(summary__in=[row.key for row in summaries])


def _find_weakened_facts(gone: Collection[int], texts: Sequence[str]) -> list[_WeakenedFact]:
    """The facts that rest on any of these chains; `texts` are the withdrawn ones."""
    evidence = Link.objects.filter(kind=LinkKind.EVIDENCE).exclude(status=LinkStatus.DISMISSED)
    roots = set(evidence.filter(target__in=gone).values_list("source", flat=True)) - set(gone)
    if not roots:
        return []
    links: defaultdict[int, list[Link]] = defaultdict(list)
    for row in evidence.filter(source__in=roots).order_by("key"):
        links[row.source_id].append(row)
    heads = head_keys(roots)
    rows = Memory.objects.select_related(*RELATED_ROWS).in_bulk(set(heads.values()))
    folded = {fold(text) for text in texts}
    return [
        _WeakenedFact(
            head := rows[heads[root]],
            tuple(row for row in links[root] if row.target_id in gone),
            sum(row.target_id not in gone for row in links[root]),
            fold(head.content) in folded,
        )
        for root in sorted(roots)
    ]


def withdraw_rows(actor: Actor, rows: Sequence[Memory]) -> int:
    """Retract rows without a tombstone: the other sources may be summarised in the same words."""
    left = [row for row in rows if row.state != State.RETRACTED]
    values = {"state": State.RETRACTED, "retired_at": Coalesce(F("retired_at"), Value(timezone.now()))}
    return len(change_rows(actor, Operation.RETRACT, left, values, reason=WITHDRAWN))


def _weaken_fact(actor: Actor, fact: _WeakenedFact, source: Memory, *, is_purge: bool) -> int:
    """Dismiss a fact's evidence; if too little is left, reject a candidate and doubt an active fact; returns how many changed."""
    now, head = timezone.now(), fact.head
    Link.objects.filter(pk__in=[row.pk for row in fact.links]).update(
        status=LinkStatus.DISMISSED, settled_at=now, settled_by=actor.name
    )
    operation, before = Operation.LINK, snapshot(head)
    falling = head.trust if fact.falls and head.state == State.LIVE else ""
    if falling == Trust.CANDIDATE:
        operation = Operation.TRUST
        Memory.objects.filter(pk=head.pk).update(trust=Trust.REJECTED, updated_at=now)
        head.refresh_from_db(fields=["trust", "updated_at"])
    elif falling == Trust.ACTIVE:
        operation = Operation.DISPUTE
        raise_doubt(actor, head, _UNPROVEN)
    elif falling == Trust.VERIFIED and not is_purge:
        _open_conflict(actor, head, source)
    audit.append(
        actor,
        operation,
        memory_id=head.id,
        group=head.group.id,
        payload={
            "changes": changes(before, snapshot(head)),
            "evidence_left": fact.left,
            "reason": WITHDRAWN,
        },
    )
    return 0 if operation is Operation.LINK else 1


def _open_conflict(actor: Actor, head: Memory, source: Memory) -> None:
    """Link a verified fact to its withdrawn source as a conflict; one that was settled before is reopened."""
    conflict, _ = link(actor, head, source, kind=LinkKind.CONFLICT, reason="what it rested on was withdrawn")
    if conflict is not None:
        Link.objects.filter(pk=conflict.pk).exclude(status=LinkStatus.OPEN).update(
            status=LinkStatus.OPEN, settled_at=None, settled_by=""
        )
