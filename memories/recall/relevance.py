"""Judging whether the best candidates answer the question at all. Plain thresholds; not calibrated per group."""

from collections.abc import Mapping, Sequence
from math import log, sqrt

from memories.index.terms import Match, words
from memories.models import Memory
from memories.recall.query import Question
from memories.recall.trace import Trace

JUDGED = 10  # of the best candidates
# What the nearest cosine and a fifth of the share of the question's words must come to. Of questions with an answer
# 99.9 % reach it (docs/recall.md, "Nothing relevant").
RELATED = 0.34
# Unrelated texts have cosines about this mean and spread, and the nearest of a few of them is not as near as the nearest
# of many: where fewer than MANY candidates were found, less is asked (docs/recall.md).
UNRELATED_MEAN, UNRELATED_SPREAD = 0.02, 0.075
MANY = 100
WORDS_WEIGHT = 0.2
ROOT_CHARS = 5


def is_answerable(
    question: Question, best: Sequence[Memory], cosines: Mapping[int, float], trace: Trace
) -> bool:
    """Say whether the best candidates come near the question in meaning and words, or one has all of its words.

    `cosines` has those of all candidates that have vectors, by key. Without vectors one shared word is enough.
    """
    if not best:
        trace.add("relevance", answerable=False, why="there are no candidates")
        return False
    judged = best[:JUDGED]
    shared = max(shared_words(question.match, [memory.content for memory in judged]))
    near = [cosines[memory.key] for memory in judged if memory.key in cosines]
    nearest = max(near, default=0.0)
    wanted = related_from(len(cosines))
    is_near = nearest + WORDS_WEIGHT * shared >= wanted if near else shared > 0
    answerable = is_near or shared == 1.0
    trace.add(
        "relevance",
        answerable=answerable,
        nearest_cosine=round(nearest, 4),
        shared_words=round(shared, 4),
        wanted=round(wanted, 4),
    )
    return answerable


def is_padding(keyword: float, cosine: float) -> bool:
    """Say whether a candidate only fills up the answer: it shares no word and is no nearer than unrelated texts are."""
    return not keyword and cosine < UNRELATED_MEAN + UNRELATED_SPREAD


def related_from(candidates: int) -> float:
    """Give what is asked of the nearest of so many candidates: more than nine in ten nearest unrelated ones have.

    The expected greatest of n normal values lies about sqrt(2 ln n) spreads above their mean.
    """
    if candidates >= MANY:
        return RELATED
    return UNRELATED_MEAN + UNRELATED_SPREAD * (sqrt(2 * log(max(candidates, 2))) + 0.7)


def shared_words(match: Match | None, contents: Sequence[str]) -> list[float]:
    """Give the share (0–1) of the words looked for that each text has, whatever their endings."""
    wanted = {root(word) for term in match.terms for word in term.split()} if match else set()
    if not wanted:
        return [0.0] * len(contents)
    return [len(wanted & {root(word) for word in set(words(text))}) / len(wanted) for text in contents]


def root(word: str) -> str:
    """Give what a word's forms have in common, roughly: its first five letters, without a plural s."""
    return word[:ROOT_CHARS] if len(word) > ROOT_CHARS else word.rstrip("s")
