"""Adjusting fused scores by what the question and the memories say beside their words and meaning."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log2
from typing import NamedTuple

from memories.recall.candidates import Candidate
from memories.recall.dates import NamedDate, tells_when
from memories.recall.fusion import vector_share
from memories.recall.judged import Judged
from memories.recall.query import Question
from memories.recall.trace import Trace
from memories.types import Trust

THREAD_BEST = 3  # a thread is as good as the mean of its three best turns
THREAD_SHARE = 0.3  # of the thread's score in a turn's own
DATE_BOOST = 0.3  # all that the question says of a date fits the memory's
TIME_BOOST = 0.1  # the question asks when, and the memory speaks of a time
SPEAKER_BOOST = 0.07  # the question names who speaks
SHORT_WORDS, SHORT_PENALTY = 25, 0.04  # for each halving below: "Wow, nice!" answers nothing
LONG_WORDS = 100  # long turns have a word of everything: a penalty for each doubling beyond
CONFIDENCE_WEIGHT = 0.05
TRUST_BOOST: dict[str, float] = {Trust.VERIFIED: 0.05, Trust.DISPUTED: -0.1}
_SPEAKER = re.compile(r"^([\w .'’-]{1,40}): ")


class Parts(NamedTuple):
    """What is added to a candidate's fused score, by the reason for it."""

    thread: float
    date: float
    time: float
    speaker: float
    length: float
    confidence: float
    trust: float


def adjust(
    fused: Mapping[int, float],
    candidates: Sequence[Candidate],
    rows: Mapping[int, Judged],
    question: Question,
    *,
    length_penalty: float,
    trace: Trace,
) -> dict[int, float]:
    """Give the scores with each boost added; the trace keeps every part. Fused scores are about 0–1."""
    turns = {c.key: rows[c.key].thread_id or 0 for c in candidates if c.is_turn}
    threads = thread_scores(fused, turns)
    parts = {
        c.key: _parts(
            c, rows[c.key], question, fused[c.key], threads.get(turns.get(c.key, -1)), length_penalty
        )
        for c in candidates
    }
    adjusted = {key: fused[key] + sum(own) for key, own in parts.items()}
    trace.score(lambda: ((c.key, _told(c, fused[c.key], parts[c.key], adjusted[c.key])) for c in candidates))
    trace.add(
        "adjust",
        threads=len(threads),
        turns=len(turns),
        dates=[_shown(date) for date in question.dates],
        names=sorted(question.names),
        asks_when=question.asks_when,
    )
    return adjusted


def _parts(
    c: Candidate, row: Judged, question: Question, score: float, thread: float | None, length_penalty: float
) -> Parts:
    """Give what is added to one candidate; `thread` is its thread's score where it is a turn."""
    return Parts(
        thread=THREAD_SHARE * (thread - score) if c.is_turn and thread is not None else 0.0,
        date=DATE_BOOST if question.dates and is_dated(row, question.dates) else 0.0,
        time=TIME_BOOST if question.asks_when and tells_when(row.content) else 0.0,
        speaker=SPEAKER_BOOST if question.names and question.names & speaker_of(row.content) else 0.0,
        length=length_part(c.words, is_turn=c.is_turn, penalty=length_penalty),
        confidence=CONFIDENCE_WEIGHT * (row.confidence - 0.5),
        trust=TRUST_BOOST.get(row.trust, 0.0),
    )


def _told(c: Candidate, score: float, parts: Parts, final: float) -> dict[str, float]:
    shown = {name: part for name, part in parts._asdict().items() if part}
    return {"vector_share": vector_share(c), "fused": score, **shown, "final": final}


def thread_scores(fused: Mapping[int, float], turns: Mapping[int, int]) -> dict[int, float]:
    """Give each thread the sum of its best turns' scores over THREAD_BEST; `turns` has each turn's thread."""
    by_thread: defaultdict[int, list[float]] = defaultdict(list)
    for key, thread in turns.items():
        by_thread[thread].append(fused[key])
    return {
        thread: sum(sorted(scores, reverse=True)[:THREAD_BEST]) / THREAD_BEST
        for thread, scores in by_thread.items()
    }


def length_part(words: int, *, is_turn: bool, penalty: float) -> float:
    """Give what a memory's length takes off: little words say little, and a long turn has a word of everything."""
    if words < SHORT_WORDS:
        return -SHORT_PENALTY * log2(SHORT_WORDS / max(words, 1))
    if is_turn and words > LONG_WORDS:
        return -penalty * log2(words / LONG_WORDS)
    return 0.0


def is_dated(row: Judged, dates: Sequence[NamedDate]) -> bool:
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
