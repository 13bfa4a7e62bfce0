"""Adjusting fused scores by what the question and the memories say beside their words and meaning."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log2
from typing import NamedTuple

from memories.recall.candidates import Candidate
from memories.recall.dates import NamedDate, mentions_time
from memories.recall.fusion import vector_share
from memories.recall.question import Question, Speakers
from memories.recall.trace import Trace
from memories.recall.weights import TUNING, Tuning
from memories.search.base import RankingFields
from memories.types import Trust

THREAD_BEST = 3  # a thread is as good as the mean of its three best turns
BESIDE_BEST = 2  # of those that were stored beside it
REACH = 3  # so many before it and after it
SHORT_WORDS = 25
LONG_WORDS = 100  # a longer turn has a word of everything
CONFIDENCE_WEIGHT = 0.05
TRUST_BOOST: dict[str, float] = {Trust.VERIFIED: 0.05, Trust.DISPUTED: -0.1}
SPEAKERS: dict[Speakers, frozenset[str]] = {
    Speakers.USER: frozenset({"user", "human"}),
    Speakers.ASSISTANT: frozenset({"assistant", "ai", "agent"}),
    Speakers.ANYONE: frozenset(),
}
_SPEAKER = re.compile(r"^([\w .'’-]{1,40}): ")


class NeighbourScores(NamedTuple):
    """A candidate's own fused score, its thread's where it is a turn, and beside_scores() of it."""

    own: float
    thread: float | None
    beside: float


class Adjustments(NamedTuple):
    """What is added to a candidate's fused score, by the reason for it."""

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
    relation: float = 0.0


def adjust(
    fused: Mapping[int, float],
    candidates: Sequence[Candidate],
    rows: Mapping[int, RankingFields],
    question: Question,
    *,
    tuning: Tuning = TUNING,
    related: Mapping[int, float] | None = None,
    room: int | None = None,
    trace: Trace,
) -> dict[int, float]:
    """Give the scores with each boost added; the trace keeps every part. Fused scores are about 0–1.

    `related` has the boosts of what hangs on the entities that the question names, by key. `room` is the key of the one
    group that is asked in, None where all are.
    """
    turns = {c.key: rows[c.key].thread_id or 0 for c in candidates if c.is_turn}
    threads = thread_scores(fused, turns)
    beside = beside_scores(fused, rows) if tuning.beside_share else {}
    parts = {
        c.key: _parts(
            c,
            rows[c.key],
            question,
            NeighbourScores(fused[c.key], threads.get(turns.get(c.key, -1)), beside.get(c.key, 0.0)),
            tuning,
            room,
        )
        for c in candidates
    }
    for key, boost in (related or {}).items():
        parts[key] = parts[key]._replace(relation=boost)
    adjusted = {key: fused[key] + sum(own) for key, own in parts.items()}
    trace.score(
        lambda: (
            (
                c.key,
                _told(
                    vector_share(c, tuning, question.readable), fused[c.key], parts[c.key], adjusted[c.key]
                ),
            )
            for c in candidates
        )
    )
    trace.add(
        "adjust",
        threads=len(threads),
        turns=len(turns),
        dates=[_shown(date) for date in question.dates],
        names=sorted(question.names),
        asks_when=question.asks_when,
        said_by=question.said_by.value,
    )
    return adjusted


def _parts(
    c: Candidate,
    row: RankingFields,
    question: Question,
    near: NeighbourScores,
    tuning: Tuning,
    room: int | None,
) -> Adjustments:
    """Give what is added to one candidate."""
    speaker = speaker_of(row.content) if question.names or question.said_by else frozenset()
    return Adjustments(
        thread=tuning.thread_share * (near.thread - near.own) if near.thread is not None else 0.0,
        beside=tuning.beside_share * near.beside,
        date=tuning.date_boost if question.dates and is_dated(row, question.dates) else 0.0,
        time=tuning.time_boost if question.asks_when and mentions_time(row.content) else 0.0,
        speaker=tuning.speaker_boost if question.names & speaker else 0.0,
        said=tuning.said_boost if speaker and speaker <= SPEAKERS[question.said_by] else 0.0,
        length=length_adjustment(c.words, is_turn=c.is_turn, tuning=tuning),
        confidence=CONFIDENCE_WEIGHT * (row.confidence - 0.5),
        trust=TRUST_BOOST.get(row.trust, 0.0),
        elsewhere=elsewhere_adjustment(row, room, tuning),
    )


def elsewhere_adjustment(row: RankingFields, room: int | None, tuning: Tuning = TUNING) -> float:
    """Give what is taken off another group's memory, where one group is asked in."""
    return -tuning.elsewhere_penalty if room not in (None, row.group_id) else 0.0


def _told(share: float, score: float, parts: Adjustments, final: float) -> dict[str, float]:
    shown = {name: part for name, part in parts._asdict().items() if part}
    return {"vector_share": share, "fused": score, **shown, "final": final}


def thread_scores(fused: Mapping[int, float], turns: Mapping[int, int]) -> dict[int, float]:
    """Give each thread the sum of its best turns' scores over THREAD_BEST; `turns` has each turn's thread."""
    by_thread: defaultdict[int, list[float]] = defaultdict(list)
    for key, thread in turns.items():
        by_thread[thread].append(fused[key])
    return {
        thread: sum(sorted(scores, reverse=True)[:THREAD_BEST]) / THREAD_BEST
        for thread, scores in by_thread.items()
    }


def beside_scores(fused: Mapping[int, float], rows: Mapping[int, RankingFields]) -> dict[int, float]:
    """Give each memory outside of threads the mean of the two best scores of its group among the three memories that were
    stored right before it and the three right after it; who is no candidate counts as 0.
    """
    alone = sorted(key for key in fused if rows[key].thread_id is None)
    near: defaultdict[int, list[float]] = defaultdict(list)
    for at, key in enumerate(alone):
        for other in alone[at + 1 : at + 1 + REACH]:
            if other - key > REACH:
                break
            if rows[key].group_id == rows[other].group_id:
                near[key].append(fused[other])
                near[other].append(fused[key])
    return {key: sum(sorted(scores)[-BESIDE_BEST:]) / BESIDE_BEST for key, scores in near.items()}


def length_adjustment(words: int, *, is_turn: bool, tuning: Tuning = TUNING) -> float:
    """Give what a memory's length takes off: little words say little, and a long turn has a word of everything."""
    if words < SHORT_WORDS:
        return -tuning.short_penalty * log2(SHORT_WORDS / max(words, 1))
    if is_turn and words > LONG_WORDS:
        return -tuning.length_penalty * log2(words / LONG_WORDS)
    return 0.0


def is_dated(row: RankingFields, dates: Sequence[NamedDate]) -> bool:
    """Say whether one of the dates names the memory's own: all that the date says must fit."""
    moment = row.valid_from
    if moment is None:
        return False
    return any(
        (date.year in (None, moment.year))
        and (date.month in (None, moment.month))
        and (date.day in (None, moment.day))
        for date in dates
    )


def speaker_of(content: str) -> frozenset[str]:
    """Give the words of the name before the colon that a turn begins with ("Maria: …"), in lower case."""
    label = _SPEAKER.match(content)
    return frozenset(label.group(1).lower().split()) if label else frozenset()


def _shown(date: NamedDate) -> str:
    return "-".join(str(part) if part is not None else "*" for part in (date.year, date.month, date.day))
