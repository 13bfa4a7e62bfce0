"""Promotion: what events say again and again is proposed as a fact, with them as its evidence; a person decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, QuerySet

from access.audit.operations import Operation
from maintenance.cycle.compaction import shared_tags, usable_encoder
from maintenance.cycle.links import tie, tie_new
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.repetition import RepeatedEvents, countable, find_repeated, occasions
from maintenance.cycle.step import Batch, Turn
from maintenance.cycle.vectors import first_owed
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.language.cleaning import content_hash, fold_hash
from memories.models import Link, LinkKind, Memory
from memories.models.text_lookup import says
from memories.queries.snapshot import snapshot
from memories.store import PreparedDraft, insert_version, withdrawn_doubt
from memories.store.neighbours import ComparedText, Neighbour, probe
from memories.store.pieces import embed_passages, passage_of
from memories.store.tombstones import find_tombstone
from memories.types import Scope, State, Trust, Type

PROMOTED_SOURCE: Final = "loci:promote"
SAYS_SO: Final = "it says the same"
NEW_AT_ONCE = 2_000  # events compared with the group's in one go: 16 MB of cosines at a time
FACTS_AT_ONCE = 3  # in one transaction; each takes 5 to 10 ms of write lock
# What a person turned down or hid is not proposed again.
SETTLED = frozenset({Trust.REJECTED, Trust.QUARANTINED})


@dataclass(frozen=True)
class ReadyFact:
    """A fact that is ready to be written, and the keys of the events that support it."""

    cluster: RepeatedEvents
    prepared: PreparedDraft


@dataclass(frozen=True)
class Promote:
    """At least `promote_at_least` like events, of as many days or threads, become a semantic candidate.

    The events stay as they are, and count also where a summary stands for them. What a fact rests on already by half
    is not proposed again, whatever became of that fact.
    """

    name: str = "promote"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """Give the next facts to propose; the mark is the highest key that was looked at."""
        encoder = usable_encoder()
        if encoder is None:
            return None
        begun = turn.mark or 0
        after, plan = (cursor["after"], cursor["plan"]) if cursor else (begun, [])
        while True:
            if plan:
                now, plan = plan[:FACTS_AT_ONCE], plan[FACTS_AT_ONCE:]
                return _batch(turn, now, after=after, plan=plan, encoder=encoder)
            keys = _new_keys(turn, after=after)
            if not keys:
                return None
            after = keys[-1]
            plan = [[found.text, *found.keys] for found in find_repeated(turn, keys, encoder=encoder)]
            if not plan:
                return _batch(turn, [], after=after, plan=[], encoder=encoder)


def _new_keys(turn: Turn, *, after: int) -> list[int]:
    rows = countable(turn).filter(key__gt=after).order_by("key")
    owed = first_owed(turn.group)
    if owed is not None:
        rows = rows.filter(key__lt=owed)
    return list(rows.values_list("key", flat=True)[:NEW_AT_ONCE])


def _batch(
    turn: Turn,
    clusters: Sequence[Sequence[int]],
    *,
    after: int,
    plan: Sequence[Sequence[int]],
    encoder: Encoder,
) -> Batch:
    """Give the batch that writes these clusters; its mark says that all up to `after` was looked at."""
    chosen = [RepeatedEvents(cluster[0], tuple(cluster[1:])) for cluster in clusters]
    proposals = [made for one in chosen if (made := _prepare(turn, one, encoder)) is not None]

    def write(recorder: Recorder) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for proposal in proposals:
            for name, count in _write(turn, proposal, recorder).items():
                counts[name] = counts.get(name, 0) + count
        return counts

    return Batch({"after": after, "plan": plan}, write, mark=None if plan else after)


def _prepare(turn: Turn, cluster: RepeatedEvents, encoder: Encoder) -> ReadyFact | None:
    """Embed the fact and look for near ones, before any transaction; None where it is not to be proposed."""
    events = _read(turn, cluster)
    if len(events) < len(cluster.keys) or _rests_on_half(events) or _is_barred(turn, events, cluster):
        return None
    draft = _draft(turn, events, next(event for event in events if event.key == cluster.text))
    embedded = embed_passages([passage_of(draft)], encoder=encoder)[0]
    groups = frozenset({turn.group.key})
    found = probe(ComparedText(draft.content, draft.type), embedded.vectors[0], groups=groups)
    return ReadyFact(cluster, PreparedDraft(draft, embedded, found))


def _read(turn: Turn, cluster: RepeatedEvents) -> list[Memory]:
    rows = countable(turn).filter(key__in=cluster.keys)
    return list(rows.select_related("group", "thread").order_by("key"))


def _draft(turn: Turn, events: Sequence[Memory], text: Memory) -> Draft:
    """Give the fact as a draft: no wider and no surer than its events."""
    return check_draft(
        Draft(
            text.content,
            type=Type.SEMANTIC,
            group=turn.group.slug,
            scope=Scope.GROUP if turn.group.private else text.scope,
            tags=shared_tags([event.tags for event in events]),
            metadata={"promoted_from": str(text.id)},
            confidence=round(sum(event.confidence for event in events) / len(events), 6),
            importance=max(event.importance for event in events),
            source=PROMOTED_SOURCE,
        )
    )


def _rests_on_half(events: Sequence[Memory]) -> bool:
    """Say whether some fact, in any state, has at least half of these events as its evidence."""
    roots = {event.root_key for event in events}
    most = (
        Link.objects.filter(kind=LinkKind.EVIDENCE, target__in=roots)
        .values("source")
        .annotate(count=Count("target", distinct=True))
        .order_by("-count")
        .first()
    )
    return most is not None and 2 * most["count"] >= len(roots)


def _is_barred(turn: Turn, events: Sequence[Memory], cluster: RepeatedEvents) -> bool:
    text = next(event.content for event in events if event.key == cluster.text)
    return (
        find_tombstone(turn.group, text) is not None
        or _same_text(turn, text).filter(trust__in=SETTLED).exists()
    )


def _same_text(turn: Turn, text: str) -> QuerySet[Memory]:
    """Give the facts of the group that say this letter by letter."""
    said = says(content_hash(text), fold_hash(text))
    return Memory.objects.filter(said, group=turn.group, type=Type.SEMANTIC).order_by()


def _write(turn: Turn, proposal: ReadyFact, recorder: Recorder) -> dict[str, int]:
    """Propose a fact, or give the one that says so already its evidence; nothing where either is settled."""
    events = _read(turn, proposal.cluster)
    is_whole = len(events) == len(proposal.cluster.keys)
    if not is_whole or occasions(events) < turn.limits.promote_at_least or _rests_on_half(events):
        return {}
    if _is_barred(turn, events, proposal.cluster):
        return {}
    nears = proposal.prepared.current_neighbours(turn.group.key)
    if withdrawn_doubt(nears, proposal.prepared.draft.content):
        return {}  # it restates what was withdrawn as wrong
    known = list(_same_text(turn, proposal.prepared.draft.content)) or _restated(turn, nears)
    live = max((fact for fact in known if fact.state == State.LIVE), key=lambda fact: fact.key, default=None)
    if known and live is None:
        return {}  # superseded, forgotten or merged: somebody decided about this text
    if live is not None:
        return _counted(evidence=_prove(turn, live, events, recorder))
    fact = _propose(turn, proposal, nears, recorder)
    evidence = tie_new(recorder, turn, fact, events, kind=LinkKind.EVIDENCE, reason=SAYS_SO)
    return _counted(promoted=1, evidence=evidence)


def _counted(**counts: int) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _restated(turn: Turn, nears: Sequence[Neighbour]) -> list[Memory]:
    """Give the group's own fact that says the same in other words."""
    return [
        near.memory
        for near in nears
        if near.is_same and near.memory.group_id == turn.group.key and near.memory.trust not in SETTLED
    ][:1]


def _propose(turn: Turn, proposal: ReadyFact, nears: Sequence[Neighbour], recorder: Recorder) -> Memory:
    fact = insert_version(recorder.actor, proposal.prepared, turn.group, trust=Trust.CANDIDATE, now=turn.now)
    recorder.made(fact, "state", "trust", "pinned", "updated_at")
    recorder.log(Operation.STORE, memory=fact.id, group=turn.group.id, payload={"after": snapshot(fact)})
    for near in nears:
        if near.link_kind is not None:
            tie(
                recorder, turn, fact, near.memory,
                kind=near.link_kind, score=near.cosine, reason=near.why, evidence=near.evidence,
            )  # fmt: skip
    return fact


def _prove(turn: Turn, fact: Memory, events: Sequence[Memory], recorder: Recorder) -> int:
    """Give a fact its events as evidence; count those that it did not have."""
    return sum(tie(recorder, turn, fact, event, kind=LinkKind.EVIDENCE, reason=SAYS_SO) for event in events)
