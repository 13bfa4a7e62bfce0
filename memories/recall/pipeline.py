"""From a question to ranked memories: candidates with everything known of them, their scores, a second hop by name, and what a person verified first."""

import re
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Final

import numpy as np
from django.conf import settings
from django.db.models import Q, QuerySet

from access.visibility import Visibility
from guard.judge import JudgeError, JudgeUse, find_judge
from memories.language.cleaning import fold
from memories.language.dates.written import MONTH_NUMBER, READ_CHARS, WEEKDAYS
from memories.language.word_forms import bearing_words, root
from memories.language.word_tables import parse_words, read_sections
from memories.models import Link, LinkStatus, Memory
from memories.models.link import REVIEWED_KINDS
from memories.recall.dates import NOTHING_OF_THAT_TIME, OfThatTime, memories_of
from memories.recall.question import Question
from memories.recall.relations import NO_RELATIONS, NamedRelations, RelatedMemories, find_related
from memories.recall.scoring import (
    Candidate,
    Trace,
    add_lengths_and_turns,
    claimed_part,
    find_candidates,
    fuse,
    score,
)
from memories.recall.weights import (
    ABOUT_COSINE,
    CANDIDATES,
    CLEARLY_HIGHER,
    CROWDED_OUT,
    HOP_BOOST,
    HOP_CANDIDATES,
    HOP_NAMES,
    HOP_TO_FIRST,
    JUDGED_CANDIDATES,
    JUDGED_PAIRS,
    NAMING_CHARS,
    NEARER_BY,
    NEARLY_SAME_SCORE,
    RESTATED_COSINE,
    SAME_MATTER_COSINE,
    SIMILAR_COSINE,
    WEIGHTS,
    Weights,
)
from memories.search.base import search_index
from memories.search.query_terms import STOP_WORDS, identifiers_in, match_for, words
from memories.search.rows import RankingFields, read_memories, resolve_vector
from memories.store.neighbours import read_pieces
from memories.store.pieces import as_vector, indexed_model
from memories.store.withdrawn.left_out import find_left_out
from memories.types import Scope, State, Trust, Type
from storage.compiled_queries import CompiledQuery


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


@dataclass(frozen=True)
class Ranking:
    """Keys with their scores, best first, the candidates by key, and the rows read of them.

    `requested` are the memories that prove, or are the other end of, a relation that the question asks for, those of the
    time that it asks for alone, or those of a name that the second hop followed; `dated` and `group_key` are the
    CandidateSet's. `relations` are those of the entities that the question names. `sure` says of each memory that a judge scored
    whether it is sure that it answers.
    """

    scores: list[tuple[int, float]]
    candidates: dict[int, Candidate]
    rows: Mapping[int, RankingFields]
    requested: frozenset[int] = frozenset()
    dated: OfThatTime = NOTHING_OF_THAT_TIME
    group_key: int | None = None
    relations: NamedRelations = field(default_factory=NamedRelations)
    sure: Mapping[int, bool] = field(default_factory=dict)

    @cached_property
    def score_by_key(self) -> dict[int, float]:
        """The scores by key."""
        return dict(self.scores)

    @property
    def best_score(self) -> float:
        """The best score; 0 without candidates."""
        return self.scores[0][1] if self.scores else 0.0

    def leading(self, other: "Ranking") -> "Ranking":
        """The other ranking behind those of this one that score clearly higher than all of it."""
        lead = [(key, reached) for key, reached in self.scores if reached > other.best_score + CLEARLY_HIGHER]
        return replace(
            other,
            scores=[*lead, *other.scores],
            candidates=self.candidates | other.candidates,
            rows={**self.rows, **other.rows},
        )


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


def _list_in_order(gathered: CandidateSet) -> Ranking:
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
    gathered: CandidateSet, question: Question, *, mode: str, trace: Trace, weights: Weights = WEIGHTS
) -> Ranking:
    """Score the candidates; no queries."""
    if question.is_time_alone and gathered.dated.all:
        return _list_in_order(gathered)
    related = gathered.related
    if mode == "hybrid":
        scores = score(
            gathered.candidates, gathered.rows, question,
            weights=weights, related=related.features, group_key=gathered.group_key, trace=trace,
        )  # fmt: skip
    else:
        scores = fuse(gathered.candidates, mode=mode)
    trace.add("score", mode=mode, candidates=len(scores))
    if related.entities:
        trace.add("relations", entities=list(related.entities), followed=related.describe(scores))
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
        related.relations,
    )


_TABLE: Final = read_sections("descriptions")
_PEOPLE, _AFTER = ("|".join(sorted(parse_words(_TABLE[name]))) for name in ("people", "followed by"))
_DESCRIBES: Final = re.compile(
    rf"\b(?:the|our|your) (?:[\w-]+ ){{0,2}}?(?:{_PEOPLE})(?: \w+){{0,2}}? (?:{_AFTER})\b"
    rf"|\bwhoever\b|['’]s (?:{_PEOPLE})\b",
    re.I,
)
# A capital within a sentence, or at its beginning before another one.
_NAME: Final = re.compile(
    r"(?<![.!?:\n] )(?<!^)\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?\b|\b[A-Z][a-z]+(?= [A-Z][a-z])"
)
_DAYS: Final = frozenset(f"{day}{plural}" for day in WEEKDAYS for plural in ("", "s"))


def find_ranking(question: Question, visibility: Visibility, *, mode: str, trace: Trace) -> Ranking:
    """The ranked candidates of a question, with the weights in use and the second hop."""
    gathered = gather(question, visibility, mode=mode, trace=trace)
    missed: list[int] = []
    if mode == "hybrid":
        missed = _find_crowded_out(gathered, question, visibility, limit=CANDIDATES)
    if missed:
        gathered = gather(question, visibility, mode=mode, trace=trace, also=missed)
    ranking = score_candidates(gathered, question, mode=mode, trace=trace)
    ranking = _follow_name(ranking, question, visibility, mode=mode, trace=trace, also=missed)
    if settings.LOCI.judges.folders and visibility.states != {State.DORMANT}:
        ranking = _judge_best(ranking, question, trace)
    ranking = _put_newest_first(ranking, question, trace)
    return _put_verified_first(ranking, question, trace)


def _follow_name(
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    *,
    mode: str,
    trace: Trace,
    also: Sequence[int] = (),
) -> Ranking:
    """The ranking with the memories of a name that its first memory brings, if the question describes a person.

    They are scored like every candidate and lifted by HOP_BOOST, but not above the first. Three more statements and a second
    search for such a question, nothing for others.
    """
    if mode != "hybrid" or not ranking.scores or not describes_person(question.text):
        return ranking
    match = match_for(" ".join(_find_new_names(ranking, question, visibility)))
    if match is None:
        return ranking
    named = [hit.key for hit in search_index().keyword(match, visibility, limit=HOP_CANDIDATES)]
    gathered = gather(question, visibility, mode=mode, trace=Trace(), also=[*named, *also])
    widened = score_candidates(gathered, question, mode=mode, trace=trace)
    first, best = ranking.scores[0]
    wanted = {*named} - {first}
    scores = {
        key: max(score, min(score + HOP_BOOST, best - HOP_TO_FIRST)) if key in wanted else score
        for key, score in widened.scores
    }
    trace.add("second hop", names=list(match.terms), found=len(wanted))
    in_order = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return replace(widened, scores=in_order, requested=widened.requested | wanted)


def describes_person(question: str) -> bool:
    """Whether a question says what a person does instead of who it is."""
    return _DESCRIBES.search(question) is not None


def _find_new_names(ranking: Ranking, question: Question, visibility: Visibility) -> list[str]:
    """Names in the first memory that the question does not have; none of a text that the group has withdrawn."""
    key = ranking.scores[0][0]
    rows = read_memories([key])
    if key not in rows or find_left_out(rows.values(), visibility):
        return []
    text = rows[key].content[:READ_CHARS]
    known = {*words(question.text), *MONTH_NUMBER, *STOP_WORDS, *_DAYS}
    found = dict.fromkeys([*_NAME.findall(text), *identifiers_in(text)])
    return [name for name in found if not known.issuperset(words(name))][:HOP_NAMES]


_ASKING = parse_words(read_sections("question_words")["before what is asked for"])


def _find_crowded_out(
    gathered: CandidateSet, question: Question, visibility: Visibility, *, limit: int
) -> list[int]:
    """Verified memories about the question that many other texts kept out of the candidates; none of a small store."""
    if question.vector is None or len(gathered.rows) < limit or Trust.VERIFIED not in visibility.trusts:
        return []
    groups = visibility.groups or ()
    if (
        _verified_query(len(groups)).first(*groups) is None
    ):  # no memory of the groups, and no global one, is verified
        return []
    only = replace(visibility, trusts=frozenset({Trust.VERIFIED.value}))
    hits = search_index().nearest(resolve_vector(question.vector), only, limit=CROWDED_OUT)
    about = [hit.key for hit in hits if question.model.question_cosine(hit.score) >= ABOUT_COSINE]
    return [key for key in about if key not in gathered.rows]


@cache
def _verified_query(count: int) -> CompiledQuery[tuple[int]]:
    def make(*groups: int) -> "QuerySet[Memory, tuple[int]]":
        # The first condition and the order only name the index `memory_kept`; SQLite would read the whole store.
        rows = Memory.objects.filter(
            Q(pinned=True) | Q(trust=Trust.VERIFIED), trust=Trust.VERIFIED, state=State.LIVE
        )
        if groups:
            rows = rows.filter(Q(group__in=groups) | Q(scope=Scope.GLOBAL))
        return rows.order_by("group_id", "key").values_list("key")[:1]

    return CompiledQuery(make, count)


def _judge_best(ranking: Ranking, question: Question, trace: Trace) -> Ranking:
    """The best JUDGED_PAIRS in the judge's order; each takes the score of its new place.

    Unchanged if there is no judge, it is late, or the list is one of a time.
    """
    keys = [key for key, _ in ranking.scores[:JUDGED_PAIRS]]
    if not ranking.rows or (question.is_time_alone and ranking.dated.all):
        return ranking
    chosen, began = settings.LOCI.judges, time.monotonic()
    seconds = chosen.recall_ms / 1000
    try:
        judge = find_judge(chosen.folders, JudgeUse.RECALL, seconds)
        if judge is None:
            return ranking
        pairs = [(question.text, ranking.rows[key].content) for key in keys]
        scores = dict(zip(keys, judge.score(pairs, seconds + began - time.monotonic()), strict=True))
    except JudgeError as error:
        trace.add("judge", scored=0, why=str(error), at_most_ms=chosen.recall_ms)
        return ranking
    order = sorted(keys, key=lambda key: -scores[key])
    took = round((time.monotonic() - began) * 1000, 1)
    trace.add("judge", scored=len(keys), former_ranks=[keys.index(key) + 1 for key in order], took_ms=took)
    trace.add_numbers(lambda: ((key, {"judge": score}) for key, score in scores.items()))
    in_place = [(key, reached) for key, (_, reached) in zip(order, ranking.scores, strict=False)]
    return replace(
        ranking,
        scores=[*in_place, *ranking.scores[len(order) :]],
        sure={key: score >= judge.threshold for key, score in scores.items()},
    )


def _put_newest_first(ranking: Ranking, question: Question, trace: Trace) -> Ranking:
    """The ranking with events that say the same of different days newest first, in each other's places.

    As it is if the question names a time or a number, which may be what tells them apart. But for numbers they have the same
    words, or half of them and nearly the same score. No queries.
    """
    places: list[tuple[frozenset[str], float, list[int]]] = []
    is_told_apart = bool(question.dates) or any(map(str.isdigit, question.text))
    for at, (key, reached) in enumerate([] if is_told_apart else ranking.scores[:JUDGED_CANDIDATES]):
        row = ranking.rows.get(key)
        if row is None or row.type != Type.EPISODIC or ranking.candidates[key].is_turn:
            continue
        said = frozenset(word for word in bearing_words(fold(row.content)) if word.isalpha())
        for other, best, same in places:
            is_near = best - reached <= NEARLY_SAME_SCORE
            if said == other or (is_near and 2 * len(said & other) >= max(len(said), len(other))):
                same.append(at)
                break
        else:
            places.append((said, reached, [at]))
    order = list(ranking.scores)
    for *_, same in places:
        keys = sorted(
            (order[at][0] for at in same), key=lambda key: str(ranking.rows[key].stored_moment), reverse=True
        )
        for at, key in zip(same, keys, strict=True):
            order[at] = (key, order[at][1])
    if order == ranking.scores:
        return ranking
    trace.add("newest first", order=[key for key, _ in order[:JUDGED_CANDIDATES]])
    return replace(ranking, scores=order)


def _put_verified_first(ranking: Ranking, question: Question, trace: Trace) -> Ranking:
    """The ranking with each verified memory in the place of the first text that it stands before.

    By who stands behind a text, not by its claims: importance, confidence and tags are claims of a text's author. A verified
    memory that nearly says the same, contradicts the text or answers the question as well without those claims takes the
    text's place; a text about the same subject that answers another question keeps it. It takes that text's score too. Two queries if a verified memory is a candidate and not the first, else none.
    """
    keys = [key for key, _ in ranking.scores]
    verified = [key for key in keys if key in ranking.rows and ranking.rows[key].trust == Trust.VERIFIED]
    last = max(map(keys.index, verified), default=0)
    others = [key for key in keys[:last] if key not in verified and key in ranking.rows]
    if not others:
        return ranking
    pairs = _Pairs(ranking, question, verified, others)
    order = list(ranking.scores)
    for key in verified:
        at = next(i for i, (other, _) in enumerate(order) if other == key)
        place = next((i for i in range(at) if pairs.stands_before(key, order[i][0])), at)
        if place < at:
            order.insert(place, (key, order[place][1]))
            del order[at + 1]
    if order == ranking.scores:
        return ranking
    trace.add("verified first", order=[key for key, _ in order[:JUDGED_CANDIDATES]])
    return replace(ranking, scores=order)


class _Pairs:
    """Verified candidates and the others before them: how near they are, which are linked, and their scores without claims."""

    def __init__(
        self, ranking: Ranking, question: Question, verified: Sequence[int], others: Sequence[int]
    ) -> None:
        self.about = {key: ranking.candidates[key].vector for key in (*verified, *others)}
        # A text that quotes the question is nearer to it and answers it no better.
        said = {key: {*words(ranking.rows[key].content)} for key in (*verified, *others)}
        self.about |= {key: 0.0 for key in others if said[key].issuperset(words(question.text))}
        named = {root(word) for word in question.subject_words - _ASKING if len(word) >= NAMING_CHARS}
        self._named = {key: named.intersection(map(root, own)) for key, own in said.items()}
        self.fair = {
            key: ranking.score_by_key[key] - claimed_part(ranking.rows[key], question)
            for key in (*verified, *others)
        }
        self.others = frozenset(others)
        self._vectors = vectors_of([*verified, *others])
        self._linked = _linked_pairs(verified, others)

    def stands_before(self, key: int, other: int) -> bool:
        """Whether a verified memory stands before another candidate that scores higher."""
        if other not in self.others:
            return False
        if self.fair[key] >= self.fair[other]:
            return True
        if self.about[key] < ABOUT_COSINE:
            return False
        cosine = self.cosine(key, other)
        if (key, other) in self._linked or cosine >= RESTATED_COSINE:
            return True
        # Nearer to the question, with a word of it that the verified memory lacks ("floor", "rolled"): another answer.
        if self.about[other] > self.about[key] and not self._named[other] <= self._named[key]:
            return False
        if cosine >= SAME_MATTER_COSINE:
            return True
        return cosine >= SIMILAR_COSINE and self.about[key] >= self.about[other] - NEARER_BY

    def cosine(self, key: int, other: int) -> float:
        """The cosine of the nearest pieces of two memories; 0 while a vector is owed."""
        one, two = self._vectors.get(key), self._vectors.get(other)
        return float((one @ two.T).max()) if one is not None and two is not None else 0.0


def vectors_of(keys: Sequence[int]) -> Mapping[int, np.ndarray]:
    """The vectors of the memories' pieces, float32[n, width], by the memories' keys."""
    found: defaultdict[int, list[np.ndarray]] = defaultdict(list)
    for piece in read_pieces(keys, indexed_model()):
        found[piece.memory_id].append(as_vector(piece.embedding))
    return {key: np.vstack(rows) for key, rows in found.items()}


def _linked_pairs(verified: Collection[int], others: Collection[int]) -> set[tuple[int, int]]:
    """The pairs of a verified memory and another that an open conflict or possible duplicate links, by their keys."""
    keys = dict(Memory.objects.filter(key__in=[*verified, *others]).values_list("key", "root"))
    heads = {root or key: key for key, root in keys.items()}
    rows = Link.objects.filter(
        source__in=heads, target__in=heads, status=LinkStatus.OPEN, kind__in=REVIEWED_KINDS
    )
    ends = [(heads[source], heads[target]) for source, target in rows.values_list("source", "target")]
    return {*ends, *((two, one) for one, two in ends)}
