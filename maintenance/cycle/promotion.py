"""Promotion: statements that events repeat become facts, with the events as evidence.

The group's policy decides whether such a fact counts at once, labelled as derived, or waits for a curator.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db.models import Count, QuerySet

from access.models import AuditPayload
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.repetition import RepeatedEvents, count_occasions, countable_events, find_repeated
from maintenance.cycle.step import NOT_ADMITTED, Batch, NotAdmitted, Turn, admit_draft
from maintenance.cycle.vectors import next_with_vectors, usable_encoder
from memories.draft import Draft
from memories.draft.registry import inherited_fields
from memories.embedding import Encoder
from memories.language.cleaning import content_hash
from memories.language.dress import fold_hash
from memories.models import Link, LinkKind, Memory
from memories.models.text_lookup import has_text
from memories.queries.labels import PROMOTED_SOURCE
from memories.store import PreparedDraft
from memories.store.derived import PROMOTE_AT_LEAST
from memories.store.neighbours import ComparedText, Neighbour, probe_neighbours
from memories.store.pieces import embed_passages, passage_of
from memories.store.policy import policy_doubt
from memories.store.withdrawn.marks import find_withdrawn
from memories.store.withdrawn.near import withdrawn_doubt
from memories.types import WITHDRAWN_TRUSTS, Scope, State, Trust, Type

_EVIDENCE_REASON: Final = "states the same"
_NEW_AT_ONCE = 2_000  # events compared with the group's at a time: 16 MB of cosines
# What is left of the doubt about a fact with each further occasion and author.
_DOUBT_PER_OCCASION: Final = 0.85
_DOUBT_PER_AUTHOR: Final = 0.7
_MOST_CONFIDENCE: Final = 0.95
_FACTS_AT_ONCE = 3  # per transaction; each takes 5 to 10 ms of write lock


@dataclass(frozen=True)
class _ReadyFact:
    """A fact ready to be written, with the events that support it."""

    cluster: RepeatedEvents
    prepared: PreparedDraft


@dataclass(frozen=True)
class Promote:
    """At least PROMOTE_AT_LEAST similar events, of as many days or threads, become a fact.

    The events stay as they are; compacted ones count too. Events that are already half of some fact's evidence are
    not proposed again, whatever became of that fact.
    """

    name: str = "promote"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next facts to propose; the mark is the highest key compared."""
        encoder = usable_encoder()
        if encoder is None:
            return None
        after, plan = turn.mark or 0, list[RepeatedEvents]()
        if cursor:
            after, plan = cursor["after"], [RepeatedEvents(*stored) for stored in cursor["plan"]]
        while True:
            if plan:
                now, plan = plan[:_FACTS_AT_ONCE], plan[_FACTS_AT_ONCE:]
                return _prepare_batch(turn, now, after=after, plan=plan, encoder=encoder)
            keys = next_with_vectors(countable_events(turn).filter(key__gt=after), limit=_NEW_AT_ONCE)
            if not keys:
                return None
            after = keys[-1]
            plan = find_repeated(turn, keys, encoder=encoder)
            if not plan:
                return _prepare_batch(turn, [], after=after, plan=[], encoder=encoder)


def _prepare_batch(
    turn: Turn,
    clusters: Sequence[RepeatedEvents],
    *,
    after: int,
    plan: Sequence[RepeatedEvents],
    encoder: Encoder,
) -> Batch:
    """The batch that writes these clusters, with `plan` as the rest; the last one marks keys up to `after` as done."""
    proposals, stopped = list[_ReadyFact](), Counter[str]()
    for one in clusters:
        try:
            if (ready := _prepare_fact(turn, one, encoder)) is not None:
                proposals.append(ready)
        except NotAdmitted:
            stopped.update(NOT_ADMITTED)

    def write(recorder: Recorder) -> Mapping[str, int]:
        counts = Counter(stopped)
        for proposal in proposals:
            counts.update(_write_fact(turn, proposal, recorder))
        return counts

    return Batch({"after": after, "plan": plan}, write, mark=None if plan else after)


def _prepare_fact(turn: Turn, cluster: RepeatedEvents, encoder: Encoder) -> _ReadyFact | None:
    """Embed the fact and look up its neighbours, before any transaction; None if it must not be proposed."""
    events = _read_events(turn, cluster)
    if len(events) < len(cluster.keys) or _is_half_used(events) or is_barred(turn, events, cluster):
        return None
    draft = _draft_fact(turn, events, next(event for event in events if event.key == cluster.representative))
    embedded = embed_passages([passage_of(draft)], encoder=encoder)[0]
    groups = frozenset({turn.group.key})
    found = probe_neighbours(ComparedText(draft.content, draft.type), embedded.vectors[0], groups=groups)
    return _ReadyFact(cluster, PreparedDraft(draft, embedded, found))


def _read_events(turn: Turn, cluster: RepeatedEvents) -> list[Memory]:
    """The events of a cluster that still count, by key."""
    rows = countable_events(turn).filter(key__in=cluster.keys)
    return list(rows.select_related("group", "thread").order_by("key"))


def _draft_fact(turn: Turn, events: Sequence[Memory], text: Memory) -> Draft:
    """The fact in the words of `text`; its scope is not wider than its events'."""
    inherited = inherited_fields(events) | {"confidence": _confidence_of(events)}
    return admit_draft(
        turn,
        Draft(
            text.content,
            type=Type.SEMANTIC,
            group=turn.group.slug,
            scope=Scope.GROUP if turn.group.private else text.scope,
            metadata={"promoted_from": str(text.id)},
            source=PROMOTED_SOURCE,
            **inherited,
        ),
    )


def _confidence_of(events: Sequence[Memory]) -> float:
    """What a fact begins with: what its events had when they were stored, nearer to 1 with each occasion and each author.

    What decay took from the events says nothing against the fact.
    """
    stored = _stored_confidences(events)
    doubt = 1 - sum(stored) / len(stored)
    doubt *= _DOUBT_PER_OCCASION ** (count_occasions(events) - 1)
    doubt *= _DOUBT_PER_AUTHOR ** (len({event.author_name for event in events}) - 1)
    return round(min(1 - doubt, _MOST_CONFIDENCE), 4)


def _stored_confidences(events: Sequence[Memory]) -> list[float]:
    """The confidence of each event as the log has it from its storing; the present one where the log does not say."""
    rows = AuditPayload.objects.filter(
        entry__memory_id__in=[event.id for event in events], payload__has_key="after"
    )
    found = {
        row.entry.memory_id: row.payload["after"].get("confidence")
        for row in rows.select_related("entry").order_by("-entry")
    }
    return [event.confidence if (known := found.get(event.id)) is None else float(known) for event in events]


def _is_half_used(events: Sequence[Memory]) -> bool:
    """True if some fact, in any state, already has at least half of these events as its evidence."""
    roots = {event.root_key for event in events}
    most = (
        Link.objects.filter(kind=LinkKind.EVIDENCE, target__in=roots)
        .values("source")
        .annotate(count=Count("target", distinct=True))
        .order_by("-count")
        .first()
    )
    return most is not None and 2 * most["count"] >= len(roots)


def is_barred(turn: Turn, events: Sequence[Memory], cluster: RepeatedEvents) -> bool:
    """True if the fact's text has a tombstone, or a person rejected or hid it."""
    event = next(event for event in events if event.key == cluster.representative)
    scope = Scope.GROUP if turn.group.private else event.scope
    return (
        find_withdrawn(turn.group, scope, event.content) is not None
        or _find_facts_with_text(turn, event.content).filter(trust__in=WITHDRAWN_TRUSTS).exists()
    )


def _find_facts_with_text(turn: Turn, text: str) -> QuerySet[Memory]:
    """The group's facts with exactly this text, in any state."""
    same_text = has_text(content_hash(text), fold_hash(text))
    return Memory.objects.filter(same_text, group=turn.group, type=Type.SEMANTIC).order_by()


def _write_fact(turn: Turn, proposal: _ReadyFact, recorder: Recorder) -> dict[str, int]:
    """Propose a fact, or add the evidence to an equal one that exists; write nothing if either is settled.

    Runs inside the batch's transaction and re-checks what _prepare_fact() checked.
    """
    events = _read_events(turn, proposal.cluster)
    is_whole = len(events) == len(proposal.cluster.keys)
    if not is_whole or count_occasions(events) < PROMOTE_AT_LEAST or _is_half_used(events):
        return {}
    if is_barred(turn, events, proposal.cluster):
        return {}
    neighbours = proposal.prepared.current_neighbours(turn.group.key)
    if withdrawn_doubt(neighbours):
        return {}  # it restates a retracted memory
    known = list(_find_facts_with_text(turn, proposal.prepared.draft.content)) or _find_restated(
        turn, neighbours
    )
    live = max((fact for fact in known if fact.state == State.LIVE), key=lambda fact: fact.key, default=None)
    if known and live is None:
        return {}  # superseded, forgotten or merged: a decision about this text exists
    if live is not None:
        links = [
            recorder.link(live, event, at=turn.now, kind=LinkKind.EVIDENCE, reason=_EVIDENCE_REASON)
            for event in events
        ]
        return {"evidence": sum(links)} if any(links) else {}
    fact = _propose_fact(turn, proposal, neighbours, recorder)
    evidence = recorder.link_new(fact, events, at=turn.now, kind=LinkKind.EVIDENCE, reason=_EVIDENCE_REASON)
    return {"promoted": 1, "evidence": evidence}


def _find_restated(turn: Turn, neighbours: Sequence[Neighbour]) -> list[Memory]:
    """The group's own fact that states the same in other words, as a list of at most one."""
    return [
        neighbour.memory
        for neighbour in neighbours
        if neighbour.is_same
        and neighbour.memory.group_id == turn.group.key
        and neighbour.memory.trust not in WITHDRAWN_TRUSTS
    ][:1]


def _propose_fact(
    turn: Turn, proposal: _ReadyFact, neighbours: Sequence[Neighbour], recorder: Recorder
) -> Memory:
    """Insert the fact, with links to its possible duplicates and conflicts."""
    # A fact has no author, so by the group's policy it is an agent's write, whoever began the run.
    doubt = policy_doubt(
        replace(recorder.actor, is_person=False), turn.group, proposal.prepared.draft.confidence
    )
    trust = Trust.CANDIDATE if doubt else Trust.ACTIVE
    fact = recorder.store(proposal.prepared, turn.group, trust=trust, at=turn.now)
    for neighbour in neighbours:
        if neighbour.link_kind is not None:
            recorder.link(
                fact, neighbour.memory, at=turn.now,
                kind=neighbour.link_kind, score=neighbour.cosine, reason=neighbour.why, evidence=neighbour.evidence,
            )  # fmt: skip
    return fact
