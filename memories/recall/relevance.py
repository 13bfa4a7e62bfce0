"""Judging whether the best candidates answer the question at all."""

from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

from django.conf import settings

from memories.index.forms import forms_in
from memories.index.terms import Match, words
from memories.models import Memory
from memories.recall.query import Question
from memories.recall.trace import Trace

JUDGED = 10  # of the best candidates
# What the nearest cosine must come to, with the share of the question's words that one candidate has, and less the
# share of its names that none of the group's candidates has. Of questions with an answer 99.5 % reach it
# (docs/recall.md, "Nothing relevant"; fitted over five folds of groups).
RELATED = 0.47
WORDS_WEIGHT = 0.45
STRANGERS_WEIGHT = 0.18
# Unrelated texts have cosines about this mean and spread, and the nearest of a few of them is not as near as the nearest
# of many: where fewer than MANY candidates were found, less is asked, and names that are not there say nothing.
UNRELATED_MEAN, UNRELATED_SPREAD = 0.02, 0.075
MANY = 60
MUCH_TEXT = 20_000  # characters in all: so much text counts as many memories, however few it is cut into
ROOT_CHARS = 5


def is_answerable(
    question: Question,
    best: Sequence[Memory],
    cosines: Mapping[int, float],
    trace: Trace,
    *,
    contents: Iterable[str] = (),
) -> bool:
    """Say whether the best candidates come near the question in meaning and words, or one has all of its words.

    `cosines` has those of all candidates that have vectors, by key; `contents` all candidates' texts: they are what the
    group says on the matter, and who is not named in any of them is not known there. Without vectors one shared word
    is enough.
    """
    if not best:
        trace.add("relevance", answerable=False, why="there are no candidates")
        return False
    judged = best[:JUDGED]
    shared = max(shared_words(question.match, [memory.content for memory in judged]))
    near = [cosines[memory.key] for memory in judged if memory.key in cosines]
    nearest = max(near, default=0.0)
    said = list(contents)
    is_much = len(cosines) >= many() or sum(map(len, said)) >= MUCH_TEXT
    wanted = RELATED if is_much else related_from(len(cosines))
    strangers = unknown_share(question.named, said) if is_much else 0.0
    reached = nearest + WORDS_WEIGHT * shared - STRANGERS_WEIGHT * strangers
    answerable = (reached >= wanted if near else shared > 0) or shared == 1.0
    trace.add(
        "relevance",
        answerable=answerable,
        nearest_cosine=round(nearest, 4),
        shared_words=round(shared, 4),
        unknown_names=round(strangers, 4),
        reached=round(reached, 4),
        wanted=round(wanted, 4),
    )
    return answerable


def unknown_share(names: Iterable[str], contents: Iterable[str]) -> float:
    """Give the share (0–1) of the names that no text has, whatever their endings; 0 where nothing is named."""
    roots = {root(name) for name in names}
    if not roots:
        return 0.0
    missing = set(roots)
    for content in contents:
        lowered = content.lower()
        missing = {name for name in missing if name not in lowered}
        if not missing:
            return 0.0
    return len(missing) / len(roots)


def is_padding(keyword: float, cosine: float) -> bool:
    """Say whether a candidate only fills up the answer: it shares no word and is no nearer than unrelated texts are."""
    return not keyword and cosine < UNRELATED_MEAN + UNRELATED_SPREAD


def many() -> int:
    """Give how many candidates are many: no more than either search is asked for."""
    return min(MANY, settings.LOCI.retrieval.candidates)


def related_from(candidates: int) -> float:
    """Give what is asked of the nearest of so many candidates: more than nine in ten nearest unrelated ones have.

    The expected greatest of n normal values lies about sqrt(2 ln n) spreads above their mean.
    """
    if candidates >= many():
        return RELATED
    return UNRELATED_MEAN + UNRELATED_SPREAD * (sqrt(2 * log(max(candidates, 2))) + 0.7)


def shared_words(match: Match | None, contents: Sequence[str]) -> list[float]:
    """Give the share (0–1) of the words looked for that each text has, whatever their endings."""
    wanted = {root(word) for term in match.terms for word in term.split()} if match else set()
    if not wanted:
        return [0.0] * len(contents)
    return [
        len(wanted & {root(word) for word in {*words(text), *_others(text)}}) / len(wanted)
        for text in contents
    ]


def _others(text: str) -> list[str]:
    return [] if text.isascii() else forms_in(text)


def root(word: str) -> str:
    """Give what a word's forms have in common, roughly: its first five letters, without a plural s."""
    return word[:ROOT_CHARS] if len(word) > ROOT_CHARS else word.rstrip("s")
