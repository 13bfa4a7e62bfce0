"""Adjustments of fused scores by what the question and the memories tell beside their words and meaning."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log2
from typing import NamedTuple

from access.limits.deadline import check_time
from memories.language.word_forms import root
from memories.recall.candidates import Candidate
from memories.recall.dates import NamedTime, local_day, mentions_time
from memories.recall.dates.stored import is_told
from memories.recall.fusion import vector_share
from memories.recall.question import Question, Speakers
from memories.recall.trace import Trace
from memories.recall.weights import (
    BESIDE_BEST,
    BESIDE_REACH,
    CONFIDENCE_WEIGHT,
    IMPORTANCE_WEIGHT,
    LONG_TURN_WORDS,
    NEWEST_LEAD,
    RECENCY_WEIGHT,
    SHORT_WORDS,
    THREAD_BEST,
    TRUST_BOOST,
    TUNING,
    USUAL_IMPORTANCE,
    Tuning,
)
from memories.search.base import RankingFields
from memories.search.identifiers import has_identifier
from memories.search.query_terms import words

SPEAKERS: dict[Speakers, frozenset[str]] = {
    Speakers.USER: frozenset({"user", "human"}),
    Speakers.ASSISTANT: frozenset({"assistant", "ai", "agent"}),
    Speakers.ANYONE: frozenset(),
}
SPEAKER_LABEL = re.compile(r"^([\w .'’-]{1,40}): ")


class NeighbourScores(NamedTuple):
    """A candidate's own fused score, its thread's if it is a turn, and its score in beside_scores()."""

    own: float
    thread: float | None
    beside: float


class Adjustments(NamedTuple):
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
        c.key: candidate_adjustments(
            c,
            rows[c.key],
            question,
            NeighbourScores(fused[c.key], threads.get(turns.get(c.key, -1)), beside.get(c.key, 0.0)),
            tuning,
            group_key,
            recency=recency.get(c.key, 0.0),
        )
        for c in candidates
    }
    for key, boost in (related or {}).items():
        parts[key] = parts[key]._replace(relation=boost)
    if question.asks_state:
        for key, boost in newest_adjustments(fused, turns, rows).items():
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


def candidate_adjustments(
    c: Candidate,
    row: RankingFields,
    question: Question,
    scores: NeighbourScores,
    tuning: Tuning,
    group_key: int | None,
    *,
    recency: float = 0.0,
) -> Adjustments:
    """The parts of one candidate, without its relation."""
    check_time()
    speaker = speaker_of(row.content) if question.names or question.said_by else frozenset()
    return Adjustments(
        thread=tuning.thread_share * (scores.thread - scores.own) if scores.thread is not None else 0.0,
        beside=tuning.beside_share * scores.beside,
        date=date_adjustment(row, question.dates, tuning) if question.dates else 0.0,
        time=tuning.time_boost if question.asks_when and mentions_time(row.content) else 0.0,
        speaker=tuning.speaker_boost if question.names & speaker else 0.0,
        said=tuning.said_boost if speaker and speaker <= SPEAKERS[question.said_by] else 0.0,
        length=length_adjustment(c.words, is_turn=c.is_turn, tuning=tuning),
        confidence=CONFIDENCE_WEIGHT * (row.confidence - 0.5),
        trust=TRUST_BOOST.get(row.trust, 0.0),
        elsewhere=elsewhere_adjustment(row, group_key, tuning),
        identifier=identifier_adjustment(row.content, question.identifiers, tuning)
        if question.identifiers
        else 0.0,
        tags=tag_adjustment(row.tags, question.subject_words, tuning) if row.tags != "[]" else 0.0,
        importance=IMPORTANCE_WEIGHT * (row.importance - USUAL_IMPORTANCE),
        recency=recency,
    )


def claimed_adjustment(row: RankingFields, question: Question, tuning: Tuning = TUNING) -> float:
    """The parts of a score that the memory's author claims: confidence, importance and tags."""
    return (
        CONFIDENCE_WEIGHT * (row.confidence - 0.5)
        + IMPORTANCE_WEIGHT * (row.importance - USUAL_IMPORTANCE)
        + tag_adjustment(row.tags, question.subject_words, tuning)
    )


def identifier_adjustment(content: str, identifiers: Sequence[str], tuning: Tuning = TUNING) -> float:
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


def newest_adjustments(
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
    """For each memory outside threads, the mean of the two best scores among the memories stored beside it.

    These are the three right before and the three right after, in the same group; one that is no candidate counts as 0.
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


def date_adjustment(row: RankingFields, dates: Sequence[NamedTime], tuning: Tuning = TUNING) -> float:
    """The boost of a memory of the time that the question names, smaller inside a bound.

    What was so as of a day is told best on that day.
    """
    exact = [end for time in dates if (end := time.exact) is not None]
    if is_dated(row, exact) or is_told(row.content, row.moment, exact):
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
