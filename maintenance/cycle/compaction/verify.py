"""Verify that a summary answers the queries its sources answered; a source is retired only then."""

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

_PROBE_WORDS = 6  # about the number of meaningful words in a query
# The share of a probe's words that the summary must contain: recall rates a text with fewer as a partial answer.
MIN_WORD_SHARE = 0.5


@dataclass(frozen=True)
class SourceQuery:
    """A query that a source answers: its most distinctive words, with its own vector as the query vector."""

    source: int
    match: Match
    vector: NDArray[np.float32]


def make_probes(
    sources: Sequence[Memory], vectors: Mapping[int, NDArray[np.float32]], *, around: Sequence[str]
) -> list[SourceQuery]:
    """A probe for each source that has words and a vector; `around` are the texts to distinguish it from."""
    spread = Counter(word for text in around for word in set(words(text)))
    probes = []
    for source in sources:
        terms = distinctive_words(source.content, spread, total=len(around))
        if terms and source.key in vectors:
            probes.append(SourceQuery(source.key, Match(terms), vectors[source.key]))
    return probes


def distinctive_words(text: str, spread: Counter[str], *, total: int) -> tuple[str, ...]:
    """The _PROBE_WORDS words with the highest TF-IDF; ties keep the order of the text.

    `spread` counts the texts that have each word, out of `total`.
    """
    counts = Counter(words(text))
    content_words = [word for word in counts if word not in STOP_WORDS] or list(counts)
    ranked = sorted(content_words, key=lambda word: -counts[word] * log(1 + total / max(spread[word], 1)))
    return tuple(ranked[:_PROBE_WORDS])


def select_promising_probes(
    probes: Sequence[SourceQuery], text: str, pieces: Matrix, *, cosine: float
) -> list[SourceQuery]:
    """The probes that a text might answer, before it is in any index.

    The text has enough of their words, and its nearest piece (`pieces`, float32[n, 384]) is as close as the events of
    a topic are. This takes no lock, and settles the vector part: a text's cosine is the same in the index as here.
    """
    roots = {root(word) for word in words(text)}
    promising = []
    for probe in probes:
        wanted = {root(word) for word in probe.match.terms}
        if (
            len(wanted & roots) / len(wanted) >= MIN_WORD_SHARE
            and float((pieces @ probe.vector).max(initial=-1.0)) >= cosine
        ):
            promising.append(probe)
    return promising


def select_answerable_probes(
    probes: Sequence[SourceQuery], visibility: Visibility, *, top: int
) -> list[SourceQuery]:
    """The probes whose source is among the first `top` keyword hits."""
    index = search_index()
    return [
        probe
        for probe in probes
        if any(hit.key == probe.source for hit in index.keyword(probe.match, visibility, limit=top))
    ]


def find_replaceable_sources(
    summary: int, probes: Sequence[SourceQuery], visibility: Visibility, *, sources: Collection[int], top: int
) -> set[int]:
    """The sources whose probe finds the summary among the first `top` hits once the replaced sources are gone.

    Reads the real index, so it runs inside the transaction that wrote the summary. Sources that remain still rank
    above it, so the check repeats until the set is stable.
    """
    index = search_index()
    found = {
        probe.source: [hit.key for hit in index.keyword(probe.match, visibility, limit=top + len(sources))]
        for probe in probes
    }
    passing = set(found)
    while True:
        still_passing = {
            source
            for source in passing
            if summary in [key for key in found[source] if key not in passing][:top]
        }
        if still_passing == passing:
            return still_passing
        passing = still_passing
