"""From a question to ranked memories: candidates with everything known of them, then their scores."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.conf import settings

from access.visibility import Visibility
from memories.entities.lines import RelationEnds
from memories.recall.dates.stored import NOTHING_OF_THAT_TIME, OfThatTime, memories_of
from memories.recall.question import Question
from memories.recall.relations import NO_RELATIONS, RelatedMemories, find_related
from memories.recall.scoring import (
    Candidate,
    FusionSettings,
    Trace,
    add_lengths_and_turns,
    adjust,
    find_candidates,
    fit_to_question,
    fuse,
)
from memories.recall.weights import CANDIDATES, FEW_OF_A_DAY, TUNING, Tuning
from memories.search.base import RankingFields, search_index


@dataclass(frozen=True)
class CandidateSet:
    """The candidates for a question; in mode hybrid also their `rows` by key and the `related` memories.

    `dated` are those of the time that the question names, `group_key` is the one group of the request, None for all.
    """

    candidates: list[Candidate]
    rows: Mapping[int, RankingFields]
    related: RelatedMemories = NO_RELATIONS
    dated: OfThatTime = NOTHING_OF_THAT_TIME
    group_key: int | None = None

    def without_relations(self) -> "CandidateSet":
        """The set without the candidates that only a relation led to."""
        return replace(self._only({*self.dated.all}), related=NO_RELATIONS)

    def without_dates(self) -> "CandidateSet":
        """The set without the candidates that only the question's time led to."""
        return replace(self._only({*self.related.reasons}), dated=NOTHING_OF_THAT_TIME)

    def _only(self, also: Collection[int]) -> "CandidateSet":
        """The set with the candidates that a search found, and with those of these keys."""
        candidates = [c for c in self.candidates if c.is_found or c.key in also]
        rows = {c.key: self.rows[c.key] for c in candidates if c.key in self.rows}
        return replace(self, candidates=candidates, rows=rows)


@dataclass(frozen=True)
class Ranking:
    """Keys with their scores, best first, the candidates by key, and the rows read of them.

    `requested` are the memories that prove, or are the other end of, a relation that the question asks for, those of the
    time that it asks for alone, or those of a name that the second hop followed; `dated` and `group_key` are the
    CandidateSet's. `requested_relations` are the ends of those relations by the relations' keys.
    """

    scores: list[tuple[int, float]]
    candidates: dict[int, Candidate]
    rows: Mapping[int, RankingFields]
    requested: frozenset[int] = frozenset()
    dated: OfThatTime = NOTHING_OF_THAT_TIME
    group_key: int | None = None
    requested_relations: Mapping[int, RelationEnds] = field(default_factory=dict)

    @cached_property
    def score_by_key(self) -> dict[int, float]:
        """The scores by key."""
        return dict(self.scores)

    @property
    def best_score(self) -> float:
        """The best score; 0 without candidates."""
        return self.scores[0][1] if self.scores else 0.0


def current_tuning() -> Tuning:
    """The weights in use: the defaults, with the setting's penalty for long turns."""
    return replace(TUNING, length_penalty=settings.LOCI.retrieval.length_penalty)


def gather(
    question: Question, visibility: Visibility, *, mode: str, trace: Trace, also: Collection[int] = ()
) -> CandidateSet:
    """The candidates inside the Visibility, those of the keys `also` among them; every query of ranking happens here."""
    dated = find_dated(question, visibility, mode=mode, trace=trace)
    if question.is_time_alone and dated.all:
        read = search_index().find(None, None, visibility, limit=CANDIDATES, also=dated.listed).rows
        return CandidateSet([Candidate(key) for key in dated.listed if key in read], read, dated=dated)
    related = find_related(question, visibility) if mode == "hybrid" else NO_RELATIONS
    also = {*related.reasons, *dated.all, *also}
    candidates, rows = find_candidates(
        search_index(), question, visibility, mode=mode, limit=CANDIDATES, also=also, trace=trace
    )
    if mode != "hybrid":
        return CandidateSet(candidates, {})
    present = [c for c in candidates if c.key in rows]
    own = {c.key: rows[c.key] for c in present}
    found, beside = [c for c in present if c.is_found], [c for c in present if not c.is_found]
    # Separately: a memory that only a relation led to makes no turn of a search's hit.
    complete = [*add_lengths_and_turns(found, own), *add_lengths_and_turns(beside, own)]
    groups = visibility.groups or ()
    return CandidateSet(complete, own, related, dated, next(iter(groups)) if len(groups) == 1 else None)


def find_dated(question: Question, visibility: Visibility, *, mode: str, trace: Trace) -> OfThatTime:
    """The memories of the time that the question names; with other words in it, only in mode hybrid and of a time with an end."""
    times = question.dates
    if not question.is_time_alone:
        times = tuple(time for time in times if not time.is_open) if mode == "hybrid" else ()
    if not times:
        return NOTHING_OF_THAT_TIME
    dated = memories_of(times, visibility)
    trace.add("dates", dates=[str(time) for time in times], found=len(dated.all), events=len(dated.events))
    return dated


def list_in_order(gathered: CandidateSet) -> Ranking:
    """The memories of a time, newest first: there is nothing else to rank them by."""
    keys = [c.key for c in gathered.candidates]
    scores = [(key, 1 - at / (len(keys) + 1)) for at, key in enumerate(keys)]
    return Ranking(
        scores,
        {c.key: c for c in gathered.candidates},
        gathered.rows,
        requested=frozenset(keys),
        dated=gathered.dated,
    )


def score_candidates(
    gathered: CandidateSet, question: Question, *, mode: str, tuning: Tuning, trace: Trace
) -> Ranking:
    """Fuse and adjust the candidates' scores; no queries."""
    if question.is_time_alone and gathered.dated.all:
        return list_in_order(gathered)
    if not tuning.date_boost:
        gathered = gathered.without_dates()
    elif 0 < len(gathered.dated.all) <= FEW_OF_A_DAY and all(time.is_day for time in question.dates):
        tuning = replace(tuning, date_boost=tuning.day_boost)
    if not tuning.by_relations:
        gathered = gathered.without_relations()
    if mode == "hybrid":
        tuning = fit_to_question(tuning, question, gathered.candidates)
    parameters = FusionSettings(tuning=tuning, readable=question.readable)
    scores = fuse(gathered.candidates, mode=mode, settings=parameters)
    trace.add("fuse", mode=mode, candidates=len(scores), readable=round(question.readable, 2))
    related = gathered.related
    if related.entities:
        trace.add("relations", entities=list(related.entities), followed=related.describe(scores))
    if mode == "hybrid":
        boosts = related.boosts(scores, tuning)
        scores = adjust(
            scores, gathered.candidates, gathered.rows, question,
            tuning=tuning, related=boosts, group_key=gathered.group_key, trace=trace,
        )  # fmt: skip
    best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    requested = frozenset(key for key, reason in related.reasons.items() if reason.is_requested)
    by_key = {c.key: c for c in gathered.candidates}
    return Ranking(
        best_first,
        by_key,
        gathered.rows,
        requested,
        gathered.dated,
        gathered.group_key,
        related.requested_relations,
    )
