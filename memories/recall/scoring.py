"""Candidates of a question, their features and scores, and the trace in which each step says what it did."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from access.limits.deadline import check_time
from access.visibility import Visibility
from memories.embedding.manifest import MINILM, Model
from memories.language.dates.spans import NamedTime
from memories.language.word_forms import root
from memories.recall.dates import day_of_row, is_of, is_told
from memories.recall.question import Question
from memories.recall.weights import (
    BESIDE_BEST,
    BESIDE_REACH,
    CHARS_PER_WORD,
    FEW_OF_A_DAY,
    LONG_TEXT_WORDS,
    LONG_TURN_WORDS,
    NEWEST_LEAD,
    RRF_K,
    SHORT_WORDS,
    THREAD_BEST,
    USUAL_IMPORTANCE,
    WEIGHTED_VECTOR,
    WEIGHTS,
    Weights,
)
from memories.search.base import SearchIndex
from memories.search.keyword import COUNTED_CHARS
from memories.search.query_terms import has_identifier, words
from memories.search.rows import HybridHits, RankingFields
from memories.types import Trust

# Yields keys with their numbers; called only if they are read, which most recalls never do.
_NumberSource = Callable[[], Iterable[tuple[int, Mapping[str, float]]]]


@dataclass(frozen=True)
class TraceStep:
    """One step: its name and what it did, as JSON values."""

    name: str
    detail: dict[str, Any]


@dataclass
class Trace:
    """Steps in order, and for each memory (by key) the numbers behind its rank; `order` are the candidates, best first."""

    steps: list[TraceStep] = field(default_factory=list)
    dropped: dict[int, str] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
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

    def branch(self) -> "Trace":
        """A trace that goes on from here, for another answer to the question."""
        return Trace([*self.steps], _numbers=dict(self.numbers))

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
    candidates = merge(found, question.model)

    def numbers() -> Iterator[tuple[int, dict[str, float]]]:
        for c in candidates:
            ranks = {"keyword_rank": c.keyword_rank, "vector_rank": c.vector_rank}
            found_ranks = {name: rank for name, rank in ranks.items() if rank}
            yield c.key, {"keyword": c.keyword, "vector": c.vector, **found_ranks}

    trace.add_numbers(numbers)
    return candidates, found.rows


def merge(found: HybridHits, model: Model = MINILM) -> list[Candidate]:
    """One candidate per memory, from the hits of both searches and the scores looked up for the other one; `model` is the vector's."""
    keyword = dict(found.words) | found.keyword
    vector = {k: model.question_cosine(cosine) for k, cosine in (dict(found.nearest) | found.vector).items()}
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


MODES = ("keyword", "vector", "rrf", "weighted", "hybrid")


def fuse(
    candidates: Sequence[Candidate], *, mode: str, readable: float = 1.0, weights: Weights = WEIGHTS
) -> dict[int, float]:
    """Each candidate's score by key, from what the two searches say of it alone.

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
        case "hybrid":
            return _add_up(candidates, _measure_searches(candidates, readable), weights)
    keyword = _scale_to_unit([c.keyword for c in candidates])
    vector = _scale_to_unit([c.vector for c in candidates])
    return {
        c.key: WEIGHTED_VECTOR * v + (1 - WEIGHTED_VECTOR) * k
        for c, k, v in zip(candidates, keyword, vector, strict=True)
    }


def _scale_to_unit(values: list[float]) -> list[float]:
    """The values scaled to 0–1 between the least and the greatest; all 1 if they are equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


SPEAKER_LABEL = re.compile(r"^([\w .'’-]{1,40}): ")
# A feature's values, one for each candidate in order; a feature that is 0 for all of them may be missing.
_Features = dict[str, NDArray[np.float64]]
# Features that are shown as one part of a score.
_PARTS: Final = {
    "fact_meaning": "meaning", "turn_meaning": "meaning", "long_meaning": "meaning",
    "fact_words": "words", "turn_words": "words", "long_words": "words", "unread_words": "words",
    "day": "date", "bound": "date", "short": "length", "long_turn": "length", "asked": "relation",
}  # fmt: skip


def score(
    candidates: Sequence[Candidate],
    rows: Mapping[int, RankingFields],
    question: Question,
    *,
    weights: Weights = WEIGHTS,
    related: Mapping[int, str] | None = None,
    group_key: int | None = None,
    trace: Trace,
) -> dict[int, float]:
    """Each candidate's score in mode hybrid, about 0–1, by key: its features times their weights.

    `related` names the feature of each memory that is related to an entity of the question. `group_key` is the one group
    of the request, None for all.
    """
    features = measure(candidates, rows, question, weights=weights, related=related, group_key=group_key)
    scores = _add_up(candidates, features, weights)

    def numbers() -> Iterator[tuple[int, dict[str, float]]]:
        for at, c in enumerate(candidates):
            shown = defaultdict[str, float](float)
            for name, values in features.items():
                if values[at]:
                    shown[_PARTS.get(name, name)] += getattr(weights, name) * float(values[at])
            yield c.key, {**shown, "final": scores[c.key]}

    trace.add_numbers(numbers)
    return scores


def _add_up(candidates: Sequence[Candidate], features: _Features, weights: Weights) -> dict[int, float]:
    parts = (getattr(weights, name) * values for name, values in features.items())
    return dict(zip((c.key for c in candidates), sum(parts, np.zeros(len(candidates))).tolist(), strict=True))


def measure(
    candidates: Sequence[Candidate],
    rows: Mapping[int, RankingFields],
    question: Question,
    *,
    weights: Weights = WEIGHTS,
    related: Mapping[int, str] | None = None,
    group_key: int | None = None,
) -> _Features:
    """The features of each candidate, named as the fields of Weights.

    Those of a memory's surroundings compare what the two searches say of it and of others, by their weights.
    """
    own = [rows[c.key] for c in candidates]
    features = _measure_searches(candidates, question.readable)
    found = _add_up(candidates, features, weights)
    features |= _measure_surroundings(candidates, rows, found, question)
    if question.dates:
        features |= _measure_dates(own, question.dates)
    if question.names:
        features["speaker"] = _column(bool(question.names & speaker_of(row.content)) for row in own)
    for name, exact in (("identifier", question.identifiers), ("number", question.numbers)):
        if exact:
            features[name] = _column(
                sum(has_identifier(row.content, each) for each in exact) / len(exact) for row in own
            )
    if related:
        for name in ("relation", "asked"):
            features[name] = _column(related.get(c.key) == name for c in candidates)
    return features | {
        "short": _column(
            log2(SHORT_WORDS / max(c.words, 1)) if c.words < SHORT_WORDS else 0 for c in candidates
        ),
        "long_turn": _column(
            log2(c.words / LONG_TURN_WORDS) if c.is_turn and c.words > LONG_TURN_WORDS else 0
            for c in candidates
        ),
        "tags": _column(_fit_of_tags(row.tags, question.subject_words) for row in own),
        "elsewhere": _column(is_elsewhere(row, group_key) for row in own),
        "verified": _column(row.trust == Trust.VERIFIED for row in own),
        "confidence": _column(map(_sureness, own)),
        "importance": _column(row.importance - USUAL_IMPORTANCE for row in own),
    }


def _column(values: Iterable[float]) -> NDArray[np.float64]:
    return np.fromiter(values, np.float64)


def _measure_searches(candidates: Sequence[Candidate], readable: float) -> _Features:
    """What the two searches say of each, by the kind of its text.

    Meaning counts by the share of the question's letters that the model can read (`readable`, 0–1), and not where the
    vector is owed; the rest is left to words alone.
    """
    most = max((c.keyword for c in candidates), default=0.0) or 1.0
    features = {
        f"{kind}_{what}": np.zeros(len(candidates))
        for kind in ("fact", "turn", "long")
        for what in ("meaning", "words")
    }
    unread = features["unread_words"] = np.zeros(len(candidates))
    for at, c in enumerate(candidates):
        kind = "turn" if c.is_turn else "long" if c.words > LONG_TEXT_WORDS else "fact"
        read = readable if c.vector else 0.0
        features[f"{kind}_meaning"][at] = read * c.vector
        features[f"{kind}_words"][at] = read * c.keyword / most
        unread[at] = (1 - read) * c.keyword / most
    return features


def _measure_surroundings(
    candidates: Sequence[Candidate],
    rows: Mapping[int, RankingFields],
    found: Mapping[int, float],
    question: Question,
) -> _Features:
    """How each compares with its thread, with what was stored next to it, and with newer ones, by the score that is `found`."""
    check_time()
    turns = {c.key: rows[c.key].thread_id or 0 for c in candidates if c.is_turn}
    threads = thread_scores(found, turns)
    surroundings = {
        "thread": {key: threads[thread] - found[key] for key, thread in turns.items()},
        "neighbours": beside_scores(found, rows),
        "recency": _order_of_storing([c.key for c in candidates if not c.is_turn]),
        "newest": _leads_of_newest(found, turns, rows) if question.asks_state else {},
    }
    return {
        name: _column(values.get(c.key, 0.0) for c in candidates)
        for name, values in surroundings.items()
        if values
    }


def _measure_dates(own: Sequence[RankingFields], dates: Sequence[NamedTime]) -> _Features:
    """Whether each is of the time that the question names; what was so as of a day is told best on that day.

    One of the few of a day is of `day` instead of `date`; one that is only inside a bound, of `bound`.
    """
    exact = [end for time in dates if (end := time.exact) is not None]
    days = [day_of_row(row) for row in own]
    inside = _column(is_of(day, dates) for day in days)
    fits = _column(
        bool(exact) and (is_of(day, exact) or is_told(row, day, exact))
        for row, day in zip(own, days, strict=True)
    )
    is_day = all(time.is_day for time in dates) and 0 < inside.sum() <= FEW_OF_A_DAY
    return {"day" if is_day else "date": fits, "bound": inside * (1 - fits)}


def _sureness(row: RankingFields) -> float:
    """Confidence above the middle; what is below, as with age, takes nothing off: an old answer is still the answer."""
    return max(row.confidence - 0.5, 0.0)


def claimed_part(row: RankingFields, question: Question) -> float:
    """The part of a score that the memory's author claims: confidence, importance and tags."""
    return (
        WEIGHTS.confidence * _sureness(row)
        + WEIGHTS.importance * (row.importance - USUAL_IMPORTANCE)
        + WEIGHTS.tags * _fit_of_tags(row.tags, question.subject_words)
    )


def _fit_of_tags(tags: str, subject: Collection[str]) -> float:
    """How far the memory's tags are the question, 0–1: the square of the share of its words, in any ending, that are tags.

    Half of a tag is none, and all words of a question together are rarer than each.
    """
    if tags == "[]" or not subject:
        return 0.0
    wanted = {root(word) for word in subject}
    each = ({root(word) for word in words(tag)} for tag in json.loads(tags))
    return (len(set[str]().union(*(tag for tag in each if tag <= wanted))) / len(wanted)) ** 2


def _order_of_storing(keys: Collection[int]) -> dict[int, float]:
    """The place of each key in the order of storing: 0 for the oldest, 1 for the newest."""
    last = max(len(keys) - 1, 1)
    return {key: at / last for at, key in enumerate(sorted(keys))}


def is_elsewhere(row: RankingFields, group_key: int | None) -> bool:
    """Whether it is another group's memory in a request to one group."""
    return group_key not in (None, row.group_id)


def thread_scores(found: Mapping[int, float], turns: Mapping[int, int]) -> dict[int, float]:
    """Each thread's score: the sum of its best turns' scores over THREAD_BEST. `turns` maps turns to threads."""
    by_thread: defaultdict[int, list[float]] = defaultdict(list)
    for key, thread in turns.items():
        by_thread[thread].append(found[key])
    return {
        thread: sum(sorted(scores, reverse=True)[:THREAD_BEST]) / THREAD_BEST
        for thread, scores in by_thread.items()
    }


def _leads_of_newest(
    found: Mapping[int, float], turns: Mapping[int, int], rows: Mapping[int, RankingFields]
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
    return {key: NEWEST_LEAD + max(map(found.__getitem__, keys)) - found[key] for key, keys in newest.items()}


def beside_scores(found: Mapping[int, float], rows: Mapping[int, RankingFields]) -> dict[int, float]:
    """For each memory outside threads, the mean of the two best scores among the memories stored next to it.

    These are the three right before and the three right after, in the same group; one that is not a candidate counts as 0.
    What other groups store in between does not part them.
    """
    alone = sorted((rows[key].group_id, rows[key].place, key) for key in found if rows[key].thread_id is None)
    neighbours: defaultdict[int, list[float]] = defaultdict(list)
    for at, (group, place, key) in enumerate(alone):
        for other_group, other_place, other in alone[at + 1 : at + 1 + BESIDE_REACH]:
            if other_group != group or other_place - place > BESIDE_REACH:
                break
            neighbours[key].append(found[other])
            neighbours[other].append(found[key])
    return {key: sum(sorted(scores)[-BESIDE_BEST:]) / BESIDE_BEST for key, scores in neighbours.items()}


def is_dated(row: RankingFields, dates: Sequence[NamedTime]) -> bool:
    """Whether one of the times covers the day of a memory: its own, or that on which it was stored."""
    return is_of(day_of_row(row), dates)


def speaker_of(content: str) -> frozenset[str]:
    """The lower-case words of the name before the colon at a turn's beginning ("Maria: …")."""
    label = SPEAKER_LABEL.match(content)
    return frozenset(label.group(1).lower().split()) if label else frozenset()
