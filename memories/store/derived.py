"""What was made from a memory follows it: summaries that hold a withdrawn text, and facts that rest on it.

A link of the kind `derived` leads from a summary's root to a source's, one of the kind `evidence` from a promoted
fact's root to an event's. The sources that a summary stands for are compacted, and superseded by it.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.conf import settings
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from memories.language.cleaning import fold
from memories.language.plurals import format_memory_count
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.models.text_lookup import fold_start, fold_starts_with_any
from memories.queries.snapshot import RELATED_ROWS, changes, snapshot
from memories.queries.versions import head_keys
from memories.store.threads import refresh_threads
from memories.store.tombstones import find_tombstones
from memories.store.writes.links import link
from memories.types import State, Trust, Type

WITHDRAWN: Final = "a source was withdrawn"
# What becomes of a fact that loses what it rested on, by its trust; one that a person verified stays, with a conflict.
WEAKENED_TRUST: Final[dict[str, Trust]] = {Trust.CANDIDATE: Trust.REJECTED, Trust.ACTIVE: Trust.DISPUTED}


@dataclass(frozen=True)
class DerivedChanges:
    """What followed from a change inside its transaction: how many other rows changed, in words, and for the log."""

    changed: int = 0
    consequences: tuple[str, ...] = ()
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WeakenedFact:
    """A promoted fact (the version that counts) that loses evidence: the links it loses, and on how many it still rests."""

    head: Memory
    links: tuple[Link, ...]
    left: int
    says_the_same: bool

    @property
    def falls(self) -> bool:
        """True where too little is left of what it rested on, or its text is the one that was withdrawn."""
        return self.says_the_same or self.left < settings.LOCI.maintenance.promote_at_least

    def said(self) -> str:
        """Say what becomes of it."""
        if not self.falls or self.head.state != State.LIVE:
            return f"the fact {self.head.id} loses evidence; it rests on {format_memory_count(self.left)} now"
        if self.head.trust == Trust.VERIFIED:
            return f"the fact {self.head.id} rested on it and stays, since a person verified it: look at the conflict"
        less = WEAKENED_TRUST.get(self.head.trust, self.head.trust)
        return f"the fact {self.head.id} rested on it and is {less} now"


@dataclass(frozen=True)
class WithdrawalReach:
    """What a withdrawal reaches: all versions of summaries, the other sources they stood for, and facts."""

    source: Memory
    summaries: tuple[Memory, ...] = ()
    freed: tuple[Memory, ...] = ()
    facts: tuple[WeakenedFact, ...] = ()

    def doomed(self) -> tuple[Memory, ...]:
        """Give what a purge destroys beside the memory itself: what was made from its text and holds it."""
        roots = {f.head.root_key for f in self.facts if f.says_the_same and f.head.trust != Trust.VERIFIED}
        facts = Memory.objects.filter(Q(key__in=roots) | Q(root__in=roots)).select_related(*RELATED_ROWS)
        return (*self.summaries, *(facts if roots else ()))

    def said(self, *, is_purge: bool = False) -> tuple[str, ...]:
        """Say what follows, a line each."""
        doomed = {row.root_key for row in self.doomed()} if is_purge else set[int]()
        roots = dict.fromkeys(row.root_key for row in self.summaries)
        heads = {row.root_key: row for row in self.summaries}
        done = "destroyed" if is_purge else "withdrawn"
        lines = [f"the summary {heads[root].id}, which was made from it, is {done}" for root in roots]
        if self.freed:
            lines.append(f"{format_memory_count(len(self.freed))} that it stood for besides count again")
        for fact in self.facts:
            is_gone = fact.head.root_key in doomed
            lines.append(
                f"the fact {fact.head.id} says the same and is destroyed" if is_gone else fact.said()
            )
        return tuple(lines)


def find_reach(source: Memory, rows: Sequence[Memory]) -> WithdrawalReach:
    """Give what was made from the rows (a memory, with what is withdrawn together with it); writes nothing."""
    own = {row.root_key for row in rows}
    summaries = find_summaries(own)
    gone = own | {row.root_key for row in summaries}
    return WithdrawalReach(
        source,
        tuple(summaries),
        tuple(find_freed_sources(summaries, gone)),
        tuple(find_weakened_facts(gone, [row.content for row in rows])),
    )


def withdraw_derived(actor: Actor, reach: WithdrawalReach, *, is_purge: bool = False) -> DerivedChanges:
    """Carry out what a withdrawal reaches; inside the verb's transaction. A purge destroys the doomed rows itself."""
    said = reach.said(is_purge=is_purge)
    doomed = {row.key for row in reach.doomed()} if is_purge else set[int]()
    freed = _free(actor, reach.freed)
    gone = withdraw_rows(actor, [row for row in reach.summaries if row.key not in doomed])
    kept = [fact for fact in reach.facts if fact.head.key not in doomed]
    weakened = sum(weaken_fact(actor, fact, reach.source, is_purge=is_purge) for fact in kept)
    touched = {row.thread_id for row in (*reach.freed, *reach.summaries) if row.thread_id is not None}
    refresh_threads(sorted(touched))
    return DerivedChanges(freed + gone + weakened, said)


def withdraw_with(actor: Actor, twins: Sequence[Memory]) -> int:
    """Withdraw live memories that say the same words as one that is being retracted; inside the verb's transaction."""
    withdrawn = withdraw_rows(actor, twins)
    refresh_threads(sorted({row.thread_id for row in twins if row.thread_id is not None}))
    return withdrawn


def withdraw_replaced(actor: Actor, event: Memory) -> int:
    """Withdraw the summaries that tell an event which was restored and is replaced now; inside the writer's transaction.

    The other events that they stood for count again. Facts stay: the event was true, and something else is now.
    """
    if event.type != Type.EPISODIC:
        return 0
    reach = find_reach(event, [event])
    return withdraw_derived(actor, replace(reach, facts=())).changed if reach.summaries else 0


def find_summaries(roots: Collection[int]) -> list[Memory]:
    """Give all versions of the summaries that were made from these chains, and of what was made from those."""
    found, fresh = dict[int, Memory](), set(roots)
    seen = set(roots)
    while fresh:
        linked = Link.objects.filter(kind=LinkKind.DERIVED, target__in=fresh).values_list("source", flat=True)
        compacted = Memory.objects.filter(
            Q(key__in=fresh) | Q(root__in=fresh), state=State.COMPACTED, superseded_by__isnull=False
        ).select_related("superseded_by")
        made = set(linked) | {
            row.superseded_by.root_key for row in compacted if row.superseded_by is not None
        }
        fresh = made - seen
        seen |= fresh
        rows = Memory.objects.filter(Q(key__in=fresh) | Q(root__in=fresh)).select_related(*RELATED_ROWS)
        found |= {row.key: row for row in rows.order_by("key")} if fresh else {}
    return list(found.values())


def find_freed_sources(summaries: Sequence[Memory], gone: Collection[int]) -> list[Memory]:
    """Give the other sources of the summaries, which count again; what is barred or live in a twin stays as it is."""
    if not summaries:
        return []
    rows = list(
        Memory.objects.filter(state=State.COMPACTED, superseded_by__in=[row.key for row in summaries])
        .exclude(Q(key__in=gone) | Q(root__in=gone))
        .select_related(*RELATED_ROWS)
        .order_by("key")
    )
    barred = {
        (group.key, text)
        for group in {row.group for row in rows}
        for text in find_tombstones(group, [row.content for row in rows if row.group_id == group.key])
    }
    twins = find_live_texts(rows)
    return [row for row in rows if (row.group_id, row.content) not in barred and _text(row) not in twins]


def find_live_texts(rows: Sequence[Memory]) -> set[tuple[int, str, str, str]]:
    """Give the texts that are live already; events are never twins."""
    starts = {fold_start(row.fold_hash) for row in rows if row.type != Type.EPISODIC}
    live = Memory.objects.filter(
        fold_starts_with_any(starts), ~Q(type=Type.EPISODIC), state=State.LIVE
    ).order_by()
    return {_text(row) for row in live} if starts else set()


def _text(row: Memory) -> tuple[int, str, str, str]:
    return (row.group_id, row.scope, row.type, row.content_hash)


def find_weakened_facts(gone: Collection[int], texts: Sequence[str]) -> list[WeakenedFact]:
    """Give the facts that rest on any of these chains."""
    evidence = Link.objects.filter(kind=LinkKind.EVIDENCE).exclude(status=LinkStatus.DISMISSED)
    roots = set(evidence.filter(target__in=gone).values_list("source", flat=True)) - set(gone)
    if not roots:
        return []
    ties: defaultdict[int, list[Link]] = defaultdict(list)
    for tie in evidence.filter(source__in=roots).order_by("key"):
        ties[tie.source_id].append(tie)
    heads = head_keys(roots)
    rows = Memory.objects.select_related(*RELATED_ROWS).in_bulk(set(heads.values()))
    folded = {fold(text) for text in texts}
    return [
        WeakenedFact(
            head := rows[heads[root]],
            tuple(tie for tie in ties[root] if tie.target_id in gone),
            sum(tie.target_id not in gone for tie in ties[root]),
            fold(head.content) in folded,
        )
        for root in sorted(roots)
    ]


def _free(actor: Actor, rows: Sequence[Memory]) -> int:
    """Let compacted sources count again, so that the next summary is made from them."""
    now = timezone.now()
    return update_and_log(
        actor,
        Operation.RESTORE,
        rows,
        state=State.LIVE,
        superseded_by=None,
        retired_at=None,
        decayed_at=now,
        state_changed_at=now,
        updated_at=now,
    )


def withdraw_rows(actor: Actor, rows: Sequence[Memory]) -> int:
    """Withdraw every version of the summaries, without a tombstone: the other sources may be summarised in like words."""
    now = timezone.now()
    return update_and_log(
        actor,
        Operation.RETRACT,
        [row for row in rows if row.state != State.RETRACTED],
        state=State.RETRACTED,
        retired_at=Coalesce(F("retired_at"), Value(now)),
        state_changed_at=now,
        updated_at=now,
    )


def update_and_log(actor: Actor, operation: Operation, rows: Sequence[Memory], **values: Any) -> int:
    """Write fields of many rows, each with its row in the log: what it was and is; give how many."""
    keys = [row.key for row in rows]
    changed = Memory.objects.filter(key__in=keys).update(**values)
    now = Memory.objects.select_related(*RELATED_ROWS).in_bulk(keys)
    audit.append_many(
        actor,
        [
            audit.AuditEvent(
                operation,
                row.id,
                row.group.id,
                payload={
                    "changes": changes(snapshot(row), snapshot(now[row.key])),
                    "reason": WITHDRAWN,
                },
            )
            for row in rows
        ],
    )
    return changed


def weaken_fact(actor: Actor, fact: WeakenedFact, source: Memory, *, is_purge: bool) -> int:
    """Take the evidence from a fact and, where too little is left, let it count less; give how many rows changed."""
    now, head = timezone.now(), fact.head
    Link.objects.filter(pk__in=[tie.pk for tie in fact.links]).update(
        status=LinkStatus.DISMISSED, settled_at=now, settled_by=actor.name
    )
    new = WEAKENED_TRUST.get(head.trust) if fact.falls and head.state == State.LIVE else None
    before = snapshot(head)
    if new is not None:
        Memory.objects.filter(pk=head.pk).update(trust=new, updated_at=now)
        head.refresh_from_db(fields=["trust", "updated_at"])
    elif fact.falls and head.trust == Trust.VERIFIED and head.state == State.LIVE and not is_purge:
        _ask(actor, head, source)
    audit.append(
        actor,
        Operation.TRUST if new is not None else Operation.LINK,
        memory_id=head.id,
        group=head.group.id,
        payload={
            "changes": changes(before, snapshot(head)),
            "evidence_left": fact.left,
            "reason": WITHDRAWN,
        },
    )
    return 1 if new is not None else 0


def _ask(actor: Actor, head: Memory, source: Memory) -> None:
    """Have a person look at a verified fact; a conflict that was settled before is open again."""
    tie = link(actor, head, source, kind=LinkKind.CONFLICT, reason="what it rested on was withdrawn")
    if tie is not None:
        Link.objects.filter(pk=tie.pk).exclude(status=LinkStatus.OPEN).update(
            status=LinkStatus.OPEN, settled_at=None, settled_by=""
        )
