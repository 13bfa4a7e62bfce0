"""Whether a summary answers what its sources answered: a source is retired only after that."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from access.visibility import Visibility
from maintenance.cycle.vectors import Matrix
from memories.language.word_forms import root
from memories.models import Memory
from memories.search.base import search_index
from memories.search.query_terms import STOP_WORDS, Match, words

PROBE_WORDS = 6  # a question has about so many words that say something
# Of the words asked for, the summary has at least so many: recall takes a text with fewer for half an answer.
SHARED = 0.5


@dataclass(frozen=True)
class SourceQuery:
    """A question that a source answers: its most distinctive words, and its own vector in the place of their meaning."""

    source: int
    match: Match
    vector: NDArray[np.float32]


def make_probes(
    sources: Sequence[Memory], vectors: Mapping[int, NDArray[np.float32]], *, around: Sequence[str]
) -> list[SourceQuery]:
    """Give a probe for each source that has words and a vector; `around` are the texts it is to be told from."""
    spread = Counter(word for text in around for word in set(words(text)))
    probes = []
    for source in sources:
        terms = distinctive_words(source.content, spread, total=len(around))
        if terms and source.key in vectors:
            probes.append(SourceQuery(source.key, Match(terms), vectors[source.key]))
    return probes


def distinctive_words(text: str, spread: Counter[str], *, total: int) -> tuple[str, ...]:
    """Give the words that tell a text from the others best, at most PROBE_WORDS; of equal ones the first."""
    said = Counter(words(text))
    telling = [word for word in said if word not in STOP_WORDS] or list(said)
    ranked = sorted(telling, key=lambda word: -said[word] * log(1 + total / max(spread[word], 1)))
    return tuple(ranked[:PROBE_WORDS])


def may_answer(
    probes: Sequence[SourceQuery], text: str, pieces: Matrix, *, cosine: float
) -> list[SourceQuery]:
    """Give the probes that a text might answer, before it is in any index.

    It has enough of the words, and its nearest piece (float32[n, 384]) is as near as the events of a topic are. This
    costs no lock, and decides the meaning for good: a text's cosine is the same in the index as here.
    """
    said = {root(word) for word in words(text)}
    return [
        probe
        for probe in probes
        if _share(probe, said) >= SHARED and float((pieces @ probe.vector).max(initial=-1.0)) >= cosine
    ]


def _share(probe: SourceQuery, said: Collection[str]) -> float:
    wanted = {root(word) for word in probe.match.terms}
    return len(wanted.intersection(said)) / len(wanted)


def answered_by_sources(
    probes: Sequence[SourceQuery], visibility: Visibility, *, top: int
) -> list[SourceQuery]:
    """Give the probes whose source is among the first `top` that the keyword index finds."""
    index = search_index()
    return [
        probe
        for probe in probes
        if any(hit.key == probe.source for hit in index.keyword(probe.match, visibility, limit=top))
    ]


def answered_by(
    summary: int, probes: Sequence[SourceQuery], visibility: Visibility, *, sources: Collection[int], top: int
) -> set[int]:
    """Give the sources whose probe finds the summary among the first `top`, once those it stands for are out of the way.

    Reads the real index, so it runs inside the transaction that wrote the summary. Sources that stay keep their place
    before it: it is asked again until no more of them stay.
    """
    index = search_index()
    found = {
        probe.source: [hit.key for hit in index.keyword(probe.match, visibility, limit=top + len(sources))]
        for probe in probes
    }
    passing = set(found)
    while True:
        kept = {
            source
            for source in passing
            if summary in [key for key in found[source] if key not in passing][:top]
        }
        if kept == passing:
            return kept
        passing = kept
