"""Candidates of a question, their fused and adjusted scores, and the trace in which each step says what it did."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2
from typing import Any, NamedTuple

from access.limits.deadline import check_time
from access.visibility import Visibility
from memories.language.word_forms import root
from memories.recall.dates import is_told
from memories.recall.dates.spans import NamedTime, local_day
from memories.recall.dates.written import mentions_time
from memories.recall.question import Question, Speakers
from memories.recall.weights import (
    BESIDE_BEST,
    BESIDE_REACH,
    CHARS_PER_WORD,
    CLEAR_LEAD,
    CONFIDENCE_WEIGHT,
    IMPORTANCE_WEIGHT,
    LONG_QUESTION,
    LONG_TEXT_WORDS,
    LONG_TURN_WORDS,
    MATCH_PER_WORD,
    NEWEST_LEAD,
    RARE_MATCH,
    RECENCY_WEIGHT,
    RRF_K,
    SHORT_WORDS,
    THREAD_BEST,
    TRUST_BOOST,
    TUNING,
    USUAL_IMPORTANCE,
    WEIGHTED_VECTOR,
    Tuning,
)
from memories.search.base import SearchIndex
from memories.search.keyword import COUNTED_CHARS
from memories.search.query_terms import has_identifier, words
from memories.search.rows import HybridHits, RankingFields

# Yields keys with their numbers; called only if they are read, which most recalls never do.
_NumberSource = Callable[[], Iterable[tuple[int, Mapping[str, float]]]]


@dataclass(frozen=True)
class TraceStep:
    """One step: its name and what it did, as JSON values."""

    name: str
    detail: dict[str, Any]


@dataclass
class Trace:
    """Steps in order, and for each memory (by key) the numbers behind its rank."""

    steps: list[TraceStep] = field(default_factory=list)
    dropped: dict[int, str] = field(default_factory=dict)
    _numbers: dict[int, dict[str, float]] = field(default_factory=dict)
    _sources: list[_NumberSource] = field(default_factory=list)

    @property
    def numbers(self) -> dict[int, dict[str, float]]:
        """The numbers of all memories, rounded to four digits."""
        sources, self._sources = self._sources, []
        for source in sources:
            for key, numbers in source():
                rounded = {name: round(value, 4) for name, value in numbers.items()}
                self._numbers.setdefault(key, {}).update(rounded)
        return self._numbers

    def add(self, name: str, **detail: Any) -> None:
        """Append a step."""
        self.steps.append(TraceStep(name, detail))

    def add_numbers(self, source: _NumberSource) -> None:
        """Register numbers of many memories, computed when they are read; each step calls it once."""
        self._sources.append(source)

    def drop(self, key: int, reason: str) -> None:
        """Record why a memory is not in the answer."""
        self.dropped[key] = reason


class Candidate(NamedTuple):
    """A memory that may be the answer. A score is 0 if that search does not find it at all; ranks start at 1.

    add_lengths_and_turns() fills in `words`, its length, and `is_turn`, whether its thread has others next to it.
    """

    key: int
    keyword: float = 0.0
    vector: float = 0.0
    keyword_rank: int | None = None
    vector_rank: int | None = None
    words: int = 0
    is_turn: bool = False

    @property
    def is_found(self) -> bool:
        """True if a search returned it; False if only a relation led to it."""
        return self.keyword_rank is not None or self.vector_rank is not None


def find_candidates(
    index: SearchIndex,
    question: Question,
    visibility: Visibility,
    *,
    mode: str,
    limit: int,
    also: Collection[int] = (),
    trace: Trace,
) -> tuple[list[Candidate], Mapping[int, RankingFields]]:
    """The best `limit` memories of each search, each also scored in the search that did not return it, and their rows.

    Visible ones of the keys `also` are candidates too, whatever their scores.
    """
    found = index.find(
        None if mode == "vector" else question.match,
        None if mode == "keyword" else question.vector,
        visibility,
        limit=limit,
        also=also,
    )
    trace.add("candidates", keyword=len(found.words), vector=len(found.nearest), limit=limit)
    candidates = merge(found)

    def numbers() -> Iterator[tuple[int, dict[str, float]]]:
        for c in candidates:
            ranks = {"keyword_rank": c.keyword_rank, "vector_rank": c.vector_rank}
            found_ranks = {name: rank for name, rank in ranks.items() if rank}
            yield c.key, {"keyword": c.keyword, "vector": c.vector, **found_ranks}

    trace.add_numbers(numbers)
    return candidates, found.rows


def merge(found: HybridHits) -> list[Candidate]:
    """One candidate per memory, from the hits of both searches and the scores looked up for the other one."""
    keyword = dict(found.words) | found.keyword
    vector = dict(found.nearest) | found.vector
    keyword_rank = {hit.key: rank for rank, hit in enumerate(found.words, start=1)}
    vector_rank = {hit.key: rank for rank, hit in enumerate(found.nearest, start=1)}
    keys = dict.fromkeys([*keyword_rank, *vector_rank, *found.extra])
    return [
        Candidate(
            key, keyword.get(key, 0.0), vector.get(key, 0.0), keyword_rank.get(key), vector_rank.get(key)
        )
        for key in keys
    ]


def add_lengths_and_turns(
    candidates: Sequence[Candidate], rows: Mapping[int, RankingFields]
) -> list[Candidate]:
    """The candidates with `words` and `is_turn` filled in from `rows`; no queries.

    A turn has a place after the first in its thread, or another candidate next to it there.
    """
    threads = Counter(rows[c.key].thread_id for c in candidates)
    complete = []
    for c in candidates:
        row = rows[c.key]
        is_turn = row.thread_id is not None and bool(row.position or threads[row.thread_id] > 1)
        complete.append(Candidate(*c[:5], word_count(row.content), is_turn))
    return complete


def word_count(text: str) -> int:
    """Number of words, beyond COUNTED_CHARS as many as before; a text without spaces counts by its characters."""
    longer = max(1.0, len(text) / COUNTED_CHARS)
    return max(int(longer * len(text[:COUNTED_CHARS].split())), len(text) // CHARS_PER_WORD)


_Fused = dict[int, float]
MODES = ("keyword", "vector", "rrf", "weighted", "hybrid")


def fuse(
    candidates: Sequence[Candidate], *, mode: str, tuning: Tuning = TUNING, readable: float = 1.0
) -> _Fused:
    """Each candidate's fused score by key, in the mode of the request.

    `readable` is the share (0–1) of the question's letters that the model can read, for mode hybrid.
    """
    match mode:
        case "keyword":
            return {c.key: c.keyword for c in candidates if c.keyword_rank}
        case "vector":
            return {c.key: c.vector for c in candidates if c.vector_rank}
        case "rrf":  # reciprocal rank fusion, both searches at equal weight
            return {
                c.key: sum(1 / (RRF_K + rank) for rank in (c.keyword_rank, c.vector_rank) if rank)
                for c in candidates
            }
        case "weighted":
            return _fuse_weighted(candidates)
    return _fuse_hybrid(candidates, tuning, readable)


def _fuse_weighted(candidates: Sequence[Candidate]) -> _Fused:
    """Weighted sum of both searches' scores, each scaled to 0–1 between its least and greatest."""
    keyword = _scale_to_unit([c.keyword for c in candidates])
    vector = _scale_to_unit([c.vector for c in candidates])
    return {
        c.key: WEIGHTED_VECTOR * v + (1 - WEIGHTED_VECTOR) * k
        for c, k, v in zip(candidates, keyword, vector, strict=True)
    }


def _fuse_hybrid(candidates: Sequence[Candidate], tuning: Tuning, readable: float) -> _Fused:
    """Words as a share of the best keyword match and meaning on a fixed scale, weighted by the kind of text.

    The fixed scale adapts to the question: if nothing is close in meaning, meaning adds little to any candidate.
    """
    most_keyword = max((c.keyword for c in candidates), default=0.0) or 1.0
    fused = {}
    for c in candidates:
        share = vector_share(c, tuning, readable)
        fused[c.key] = share * c.vector / tuning.full_cosine + (1 - share) * c.keyword / most_keyword
    return fused


def vector_share(candidate: Candidate, tuning: Tuning = TUNING, readable: float = 1.0) -> float:
    """Weight of meaning against words for a candidate, 0–1; 0 while its vector is owed."""
    if not candidate.vector:
        return 0.0
    if candidate.is_turn:
        share = tuning.turn_share
    else:
        share = tuning.long_share if candidate.words > LONG_TEXT_WORDS else tuning.fact_share
    return share * readable


def fit_to_question(tuning: Tuning, question: Question, candidates: Sequence[Candidate]) -> Tuning:
    """The weights for this question: statements count less by meaning if it is long, or one memory leads by rare words."""
    length = len(question.subject_words)
    best = max((c.keyword for c in candidates), default=0.0)
    long = progress(length, LONG_QUESTION) * progress(best / max(length, 1), MATCH_PER_WORD)
    drop = tuning.long_question_drop * long + tuning.rare_word_drop * lead_by_words(candidates)
    return replace(tuning, fact_share=tuning.fact_share - drop) if drop else tuning


def lead_by_words(candidates: Sequence[Candidate]) -> float:
    """How clearly one candidate leads by rare words, 0–1.

    The best BM25 score says how rare its words are in the groups asked, the second one whether others have them too.
    """
    scores = sorted((c.keyword for c in candidates), reverse=True)
    if not scores or not scores[0]:
        return 0.0
    second = scores[1] if len(scores) > 1 else 0.0
    return progress(scores[0], RARE_MATCH) * progress(second / scores[0], CLEAR_LEAD)


def progress(value: float, bounds: tuple[float, float]) -> float:
    """How far a value has come from the first bound to the second, 0–1."""
    start, end = bounds
    return min(max((value - start) / (end - start), 0.0), 1.0)


def _scale_to_unit(values: list[float]) -> list[float]:
    """The values scaled to 0–1 between the least and the greatest; all 1 if they are equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


SPEAKERS: dict[Speakers, frozenset[str]] = {
    Speakers.USER: frozenset({"user", "human"}),
    Speakers.ASSISTANT: frozenset({"assistant", "ai", "agent"}),
    Speakers.ANYONE: frozenset(),
}
SPEAKER_LABEL = re.compile(r"^([\w .'’-]{1,40}): ")


class _Adjustments(NamedTuple):
    """The parts added to a candidate's fused score, by reason."""

    thread: float
    beside: float
    date: float
    time: float
    speaker: float
    said: float
    length: float
    confidence: float
    trust: float
    elsewhere: float
    identifier: float
    tags: float
    importance: float
    recency: float = 0.0
    relation: float = 0.0
    newest: float = 0.0


def adjust(
    fused: Mapping[int, float],
    candidates: Sequence[Candidate],
    rows: Mapping[int, RankingFields],
    question: Question,
    *,
    tuning: Tuning = TUNING,
    related: Mapping[int, float] | None = None,
    group_key: int | None = None,
    trace: Trace,
) -> dict[int, float]:
    """The scores with every adjustment added; the trace records each part. Fused scores are about 0–1.

    `related` holds the boosts of memories related to the entities of the question, by key. `group_key` is the one group
    of the request, None for all.
    """
    turns = {c.key: rows[c.key].thread_id or 0 for c in candidates if c.is_turn}
    threads = thread_scores(fused, turns)
    beside = beside_scores(fused, rows) if tuning.beside_share else {}
    recency = recency_adjustments([c.key for c in candidates if not c.is_turn])
    parts = {
        c.key: _candidate_adjustments(
            c,
            rows[c.key],
            question,
            tuning,
            group_key,
            own=fused[c.key],
            thread=threads.get(turns.get(c.key, -1)),
            beside=beside.get(c.key, 0.0),
            recency=recency.get(c.key, 0.0),
        )
        for c in candidates
    }
    for key, boost in (related or {}).items():
        parts[key] = parts[key]._replace(relation=boost)
    if question.asks_state:
        for key, boost in _newest_adjustments(fused, turns, rows).items():
            parts[key] = parts[key]._replace(newest=boost)
    adjusted = {key: fused[key] + sum(own) for key, own in parts.items()}

    def numbers() -> Iterator[tuple[int, dict[str, float]]]:
        for c in candidates:
            share = vector_share(c, tuning, question.readable)
            effective = {name: part for name, part in parts[c.key]._asdict().items() if part}
            yield c.key, {"vector_share": share, "fused": fused[c.key], **effective, "final": adjusted[c.key]}

    trace.add_numbers(numbers)
    trace.add(
        "adjust",
        threads=len(threads),
        turns=len(turns),
        dates=[str(date) for date in question.dates],
        names=sorted(question.names),
        asks_when=question.asks_when,
        said_by=question.said_by.value,
    )
    return adjusted


def _candidate_adjustments(
    c: Candidate,
    row: RankingFields,
    question: Question,
    tuning: Tuning,
    group_key: int | None,
    *,
    own: float,
    thread: float | None,
    beside: float,
    recency: float,
) -> _Adjustments:
    """The parts of one candidate, without its relation: from its own fused score, its thread's if it is a turn, and its
    score in beside_scores().
    """
    check_time()
    speaker = speaker_of(row.content) if question.names or question.said_by else frozenset()
    return _Adjustments(
        thread=tuning.thread_share * (thread - own) if thread is not None else 0.0,
        beside=tuning.beside_share * beside,
        date=_date_adjustment(row, question.dates, tuning) if question.dates else 0.0,
        time=tuning.time_boost if question.asks_when and mentions_time(row.content) else 0.0,
        speaker=tuning.speaker_boost if question.names & speaker else 0.0,
        said=tuning.said_boost if speaker and speaker <= SPEAKERS[question.said_by] else 0.0,
        length=length_adjustment(c.words, is_turn=c.is_turn, tuning=tuning),
        confidence=_for_confidence(row),
        trust=TRUST_BOOST.get(row.trust, 0.0),
        elsewhere=elsewhere_adjustment(row, group_key, tuning),
        identifier=_identifier_adjustment(row.content, question.identifiers, tuning),
        tags=tag_adjustment(row.tags, question.subject_words, tuning),
        importance=IMPORTANCE_WEIGHT * (row.importance - USUAL_IMPORTANCE),
        recency=recency,
    )


def _for_confidence(row: RankingFields) -> float:
    """What the confidence adds; what is below the middle, as with age, takes nothing off: an old answer is still the answer."""
    return CONFIDENCE_WEIGHT * max(row.confidence - 0.5, 0.0)


def claimed_adjustment(row: RankingFields, question: Question) -> float:
    """The parts of a score that the memory's author claims: confidence, importance and tags."""
    return (
        _for_confidence(row)
        + IMPORTANCE_WEIGHT * (row.importance - USUAL_IMPORTANCE)
        + tag_adjustment(row.tags, question.subject_words)
    )


def _identifier_adjustment(content: str, identifiers: Sequence[str], tuning: Tuning = TUNING) -> float:
    """The boost for the question's identifiers that the text has, by their share."""
    if not identifiers:
        return 0.0
    return tuning.identifier_boost * sum(has_identifier(content, i) for i in identifiers) / len(identifiers)


def tag_adjustment(tags: str, subject: Collection[str], tuning: Tuning = TUNING) -> float:
    """The boost for a memory whose tags are the question, in any ending, or a part of it by their share of its words."""
    if tags == "[]" or not subject:
        return 0.0
    wanted = {root(word) for word in subject}
    each = ({root(word) for word in words(tag)} for tag in json.loads(tags))
    named: set[str] = set().union(*(tag for tag in each if tag <= wanted))
    if len(named) == len(wanted) > 1:
        return tuning.all_tags_boost
    return tuning.tag_boost * len(named) / len(wanted)


def recency_adjustments(keys: Collection[int]) -> dict[int, float]:
    """A little for each statement by the order of storing: nothing for the oldest, RECENCY_WEIGHT for the newest."""
    last = max(len(keys) - 1, 1)
    return {key: RECENCY_WEIGHT * at / last for at, key in enumerate(sorted(keys))}


def elsewhere_adjustment(row: RankingFields, group_key: int | None, tuning: Tuning = TUNING) -> float:
    """The penalty of another group's memory in a request to one group, as a negative number."""
    return -tuning.elsewhere_penalty if group_key not in (None, row.group_id) else 0.0


def thread_scores(fused: Mapping[int, float], turns: Mapping[int, int]) -> dict[int, float]:
    """Each thread's score: the sum of its best turns' scores over THREAD_BEST. `turns` maps turns to threads."""
    by_thread: defaultdict[int, list[float]] = defaultdict(list)
    for key, thread in turns.items():
        by_thread[thread].append(fused[key])
    return {
        thread: sum(sorted(scores, reverse=True)[:THREAD_BEST]) / THREAD_BEST
        for thread, scores in by_thread.items()
    }


def _newest_adjustments(
    fused: Mapping[int, float], turns: Mapping[int, int], rows: Mapping[int, RankingFields]
) -> dict[int, float]:
    """What lifts the newest note of each thread to the thread's best one: it tells how things stand now.

    In a conversation, most of whose turns have speakers, the newest turn tells of anything.
    """
    by_thread: defaultdict[int, list[int]] = defaultdict(list)
    for key, thread in turns.items():
        by_thread[thread].append(key)
    notes = [
        keys
        for keys in by_thread.values()
        if 2 * sum(bool(speaker_of(rows[key].content)) for key in keys) <= len(keys)
    ]
    newest = {max(keys, key=lambda key: rows[key].position or 0): keys for keys in notes}
    return {key: NEWEST_LEAD + max(map(fused.__getitem__, keys)) - fused[key] for key, keys in newest.items()}


def beside_scores(fused: Mapping[int, float], rows: Mapping[int, RankingFields]) -> dict[int, float]:
    """For each memory outside threads, the mean of the two best scores among the memories stored next to it.

    These are the three right before and the three right after, in the same group; one that is not a candidate counts as 0.
    What other groups store in between does not part them.
    """
    alone = sorted((rows[key].group_id, rows[key].place, key) for key in fused if rows[key].thread_id is None)
    neighbours: defaultdict[int, list[float]] = defaultdict(list)
    for at, (group, place, key) in enumerate(alone):
        for other_group, other_place, other in alone[at + 1 : at + 1 + BESIDE_REACH]:
            if other_group != group or other_place - place > BESIDE_REACH:
                break
            neighbours[key].append(fused[other])
            neighbours[other].append(fused[key])
    return {key: sum(sorted(scores)[-BESIDE_BEST:]) / BESIDE_BEST for key, scores in neighbours.items()}


def length_adjustment(words: int, *, is_turn: bool, tuning: Tuning = TUNING) -> float:
    """The penalty for a memory's length, as a negative number: few words tell little, a long turn has a word of everything."""
    if words < SHORT_WORDS:
        return -tuning.short_penalty * log2(SHORT_WORDS / max(words, 1))
    if is_turn and words > LONG_TURN_WORDS:
        return -tuning.length_penalty * log2(words / LONG_TURN_WORDS)
    return 0.0


def _date_adjustment(row: RankingFields, dates: Sequence[NamedTime], tuning: Tuning = TUNING) -> float:
    """The boost of a memory of the time that the question names, smaller inside a bound.

    What was so as of a day is told best on that day.
    """
    exact = [end for time in dates if (end := time.exact) is not None]
    if exact and (is_dated(row, exact) or is_told(row.content, row.moment, exact)):
        return tuning.date_boost
    return tuning.bound_boost if is_dated(row, dates) else 0.0


def is_dated(row: RankingFields, dates: Sequence[NamedTime]) -> bool:
    """Whether one of the times covers the day of a memory: its own, or that on which it was stored."""
    moment = row.moment
    if moment is None:
        return False
    day = local_day(moment)
    return any(time.covers(day) for time in dates)


def speaker_of(content: str) -> frozenset[str]:
    """The lower-case words of the name before the colon at a turn's beginning ("Maria: …")."""
    label = SPEAKER_LABEL.match(content)
    return frozenset(label.group(1).lower().split()) if label else frozenset()
