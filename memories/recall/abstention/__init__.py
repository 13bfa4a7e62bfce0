"""Abstention: whether the best candidates answer the question at all. The weights are in memories.recall.weights."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from memories.models import Memory
from memories.recall.abstention.amounts import lacks_amount
from memories.recall.abstention.filler import is_filler, unwanted
from memories.recall.abstention.limits import choose_limits, small_store_limit
from memories.recall.abstention.nearness import measure_nearness
from memories.recall.abstention.times import is_time_empty
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.trace import Trace
from memories.recall.weights import FEW, JUDGED_CANDIDATES, SURE_MARGIN
from memories.search.identifiers import exact_numbers_in, has_identifier

__all__ = [
    "NOTHING_RELEVANT",
    "Answerability",
    "Confidence",
    "is_answerable",
    "judge",
    "unwanted",
]

# Why a candidate is not in the answer, wherever that is shown.
NOTHING_RELEVANT = "nothing found is close enough to be an answer"
_HAS_DIGIT_OR_PATH = re.compile(r"[\d/]")


class Confidence(StrEnum):
    """How sure it is that the memories answer the question."""

    HIGH = "high"
    LOW = "low"


class Answerability(NamedTuple):
    """Whether the best candidates answer the question, how sure that is, and a remark if it is not."""

    is_answerable: bool
    confidence: Confidence = Confidence.LOW
    doubt: str = ""


UNSURE = "Low confidence"
BY_WORDS_ALONE = "By words alone, low confidence: the model does not read the question's language well"
NOTHING, SURE = Answerability(False), Answerability(True, Confidence.HIGH)


def is_answerable(question: Question, ranking: Ranking, best: Sequence[Memory], trace: Trace) -> bool:
    """Whether the best candidates answer the question, as judge() says."""
    return judge(question, ranking, best, trace).is_answerable


def judge(question: Question, ranking: Ranking, best: Sequence[Memory], trace: Trace) -> Answerability:
    """Whether the best candidates come close to the question in meaning and words, or one has all of its words.

    All candidates together are what the group knows on the topic: a name in none of them is unknown there. Without
    vectors one shared word is enough, and so it is for a question that is not in English. Only mode hybrid knows kinds of
    text, names and speakers.
    """
    if not best:
        trace.add("relevance", answerable=False, why="there are no candidates")
        return NOTHING
    if unknown := unknown_identifiers(question, ranking):
        trace.add("relevance", answerable=False, why=f"nothing has {', '.join(unknown)}")
        return NOTHING
    judged = best[:JUDGED_CANDIDATES]
    if question.is_time_alone and ranking.dated.all:
        trace.add("relevance", answerable=True, why="these are the memories of that time")
        return SURE
    if is_time_empty(question, ranking, judged):
        times = ", ".join(str(time) for time in question.dates)
        trace.add("relevance", answerable=False, why=f"nothing is stored of {times}")
        return NOTHING
    if lacks_amount(question, ranking, judged):
        trace.add("relevance", answerable=False, why="nothing about it has an amount of money")
        return NOTHING
    return judge_nearness(question, ranking, judged, trace)


def judge_nearness(
    question: Question, ranking: Ranking, judged: Sequence[Memory], trace: Trace
) -> Answerability:
    """The verdict by how close the judged memories come."""
    cosines = {key: c.vector for key, c in ranking.candidates.items() if c.vector}
    limits = choose_limits(ranking, [memory.key for memory in judged], vectors=len(cosines))
    wanted = small_store_limit(len(cosines)) if limits is FEW else limits.wanted
    nearness = measure_nearness(question, ranking, judged, cosines, limits)
    reached = nearness.reached(limits)
    is_read = question.is_english and any(memory.key in cosines for memory in judged)
    has_all_words = nearness.shared_words == 1.0 and not nearness.others_lead
    if is_read:
        answerable = reached >= wanted or has_all_words
    else:
        answerable = not question.is_english or nearness.shared_words > 0
    # In a language that the model cannot read, fillers alone may reach the limit.
    answerable = answerable and not all(is_filler(memory.key, ranking, question) for memory in judged)
    is_sure = is_read and answerable and (has_all_words or reached >= wanted + SURE_MARGIN)
    doubt = "" if is_sure or not answerable else UNSURE if question.is_english else BY_WORDS_ALONE
    verdict = Answerability(answerable, Confidence.HIGH if is_sure else Confidence.LOW, doubt)
    numbers = {**vars(nearness), "reached": reached, "wanted": wanted}
    rounded = {name: round(number, 4) for name, number in numbers.items()}
    trace.add(
        "relevance", answerable=answerable, kind=limits.kind, **rounded, confidence=verdict.confidence.value
    )
    return verdict


def unknown_identifiers(question: Question, ranking: Ranking) -> tuple[str, ...]:
    """The question's identifiers and exact numbers if no candidate has one of them in its text or tags; none otherwise.

    A name in code without a digit or a path is no proof: texts write it in other forms.
    """
    exact = tuple(i for i in question.identifiers if _HAS_DIGIT_OR_PATH.search(i))
    if not question.dates:
        exact += tuple(n for n in exact_numbers_in(question.text) if n not in exact)
    rows = ranking.rows.values()
    is_known = any(
        has_identifier(row.content, i) or has_identifier(row.tags, i) for i in exact for row in rows
    )
    return () if is_known or not rows else exact
