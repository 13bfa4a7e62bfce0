"""Keyword search: BM25 whose counts are those of the visible groups, over a database's lists of the texts that have a word.

A database's own rank counts texts and words over all groups: a caller could read from a score that another group has a word.
So the database only says which texts have a word, and the score is computed here, in two steps. The first knows whether a word is in a
text or in its context, and orders all matches. The second also counts how often the text has it, and scores those that may
be returned. Nothing in either depends on a row of a group outside the Visibility.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from access.limits.deadline import check_time
from access.visibility import Visibility
from memories.language.word_forms import count_root, root
from memories.search.query_terms import Match
from memories.search.rows import Hit, RankingFields, RowReader, groups_sql
from storage.compiled_queries import fetch

POSTING_BUDGET = 25_000  # matches to rank: about 10 ms
MAX_AGE_S = 600.0  # older counts are read again
MAX_COUNTS = 20_000
_CountAll = Callable[[Sequence[str]], Sequence[int]]


class TermCounts:
    """Counts by place and word; the oldest are dropped. Safe to share between threads.

    A place is a database and the groups in which it was counted, so that no caller gets counts of other groups.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[tuple[Hashable, str], tuple[int, float]] = OrderedDict()

    def of(self, place: Hashable, terms: Sequence[str], count: _CountAll) -> dict[str, int]:
        """Number of texts with each word in a place; `count` reads those that are not cached from the index."""
        now = time.monotonic()
        cached = {term: self._counts.get((place, term)) for term in terms}
        missing = [term for term, entry in cached.items() if entry is None or now - entry[1] > MAX_AGE_S]
        fresh = dict(zip(missing, count(missing), strict=True)) if missing else {}
        with self._lock:
            for term, number in fresh.items():
                self._counts[place, term] = number, now
                self._counts.move_to_end((place, term))
            while len(self._counts) > MAX_COUNTS:
                self._counts.popitem(last=False)
        return {term: entry[0] for term, entry in cached.items() if entry is not None} | fresh


def within_budget(match: Match, counts: Mapping[str, int], *, budget: int = POSTING_BUDGET) -> Match:
    """The rarest terms that together match at most `budget` texts, in query order; at least one."""
    chosen: set[str] = set()
    total = 0
    for term in sorted(match.searched, key=counts.__getitem__):
        total += counts[term]
        if chosen and total > budget:
            break
        chosen.add(term)
    return Match(tuple(term for term in match.searched if term in chosen))


# Chosen on the development sets from 0.6 to 1.2 and 0.65 to 0.9 (docs/dev/recall.md, "Words").
# A word that more than nine tenths of the texts have counts less, down to a hundredth: it says nothing about any of them.
FADING_SHARE, LEAST_FADED = 0.1, 0.01
_SATURATION = 0.9  # BM25's k1: how fast more of the same word stops to count
_LENGTH_SHARE = 0.75  # BM25's b: how much a text's length counts
_CONTEXT_WEIGHT = 0.3  # of a word in the context (tags, neighbours in the thread), against one in the text
SLACK = 1.25  # matches whose words are counted, per match wanted
GROWTH = 4  # factor for the next attempt if too few matches were visible

_TEXTS = "SELECT SUM(s.texts), SUM(s.words) FROM search_group AS s WHERE {groups}"
_TEXTS_AND_ALL = """
SELECT SUM(s.texts) FILTER (WHERE {groups}), SUM(s.words) FILTER (WHERE {groups}), SUM(s.texts) FROM search_group AS s
"""
TERM_COUNTS = TermCounts()

Keys = NDArray[np.int64]
Numbers = NDArray[np.float64]


class VisibleTexts(NamedTuple):
    """Number of texts in the visible groups, whatever their state, their mean words, and their share of all texts."""

    texts: int
    mean_words: float
    share: float


_CHECK_EVERY = 8  # texts
COUNTED_CHARS = 20_000  # of a text; a longer one is taken to repeat its words as often all through


class Postings(NamedTuple):
    """Texts that have a word, one entry each, by key: 1 for the text, CONTEXT_WEIGHT for the context, or the sum."""

    keys: Keys
    frequency: Numbers
    words: Numbers


@dataclass(frozen=True)
class KeywordMatches:
    """All texts of the visible groups that have a word of the query, whatever other conditions the Visibility has.

    `postings` are those of all terms, one term after the other; `counts` says how many each term has.
    """

    terms: tuple[str, ...]
    counts: Keys
    postings: Postings
    texts: VisibleTexts

    @cached_property
    def term_of(self) -> Keys:
        """The index of the term of each posting."""
        found: Keys = np.repeat(np.arange(len(self.terms)), self.counts)
        return found

    @cached_property
    def ranked(self) -> list[int]:
        """Keys of all matches, best first by the first step's score; the older first of equal ones."""
        keys, at = np.unique(self.postings.keys, return_inverse=True)
        scores = np.bincount(
            at,
            weights=self._scores(self.postings.frequency, self.postings.words, self.term_of),
            minlength=len(keys),
        )
        found: list[int] = keys[np.argsort(-scores.round(9), kind="stable")].tolist()
        return found

    def first(self, limit: int) -> list[int]:
        """Keys of the matches that are read first if `limit` are wanted."""
        return self.ranked[: int(limit * SLACK) + 1]

    def scored(self, rows: Mapping[int, RankingFields]) -> dict[int, float]:
        """The scores of those of the rows that match, with the number of times that each text has a word."""
        if not rows or not self.terms:
            return {}
        keys = np.array(sorted(rows), dtype=np.int64)
        row_of = np.minimum(np.searchsorted(keys, self.postings.keys), len(keys) - 1)
        matching = np.flatnonzero(keys[row_of] == self.postings.keys)
        row_of, term_of = row_of[matching], self.term_of[matching]
        frequency, words = self.postings.frequency[matching], self.postings.words[matching]
        whole, roots = [rows[key].content for key in keys.tolist()], [*map(root, self.terms)]
        texts = [text[:COUNTED_CHARS].lower() for text in whole]
        longer = [max(1.0, len(text) / COUNTED_CHARS) for text in whole]
        places = zip(row_of.tolist(), term_of.tolist(), strict=True)
        repeats = np.zeros(len(row_of))
        for at, (row, term) in enumerate(places):
            if at % _CHECK_EVERY == 0:
                check_time()
            repeats[at] = longer[row] * count_root(texts[row], roots[term]) - 1
        frequency = frequency + np.where(frequency >= 1, np.maximum(repeats, 0), 0)
        scores = np.bincount(row_of, weights=self._scores(frequency, words, term_of))
        return {
            key: score for key, score in zip(keys.tolist(), scores.round(9).tolist(), strict=False) if score
        }

    def _scores(self, frequency: Numbers, words: Numbers, term_of: Keys) -> Numbers:
        """BM25 of each posting: a word rarer among the visible texts counts more, one that all of them have next to nothing."""
        own = np.bincount(self.term_of, weights=self.postings.frequency >= 1, minlength=len(self.terms))
        share = np.where(own, own, self.counts) / self.texts.texts
        rarity = (np.log1p(1 / share) * np.clip((1 - share) / FADING_SHARE, LEAST_FADED, 1))[term_of]
        saturated = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * words / self.texts.mean_words)
        scores: Numbers = rarity * frequency * (_SATURATION + 1) / (frequency + saturated)
        return scores


NO_KEYS, NO_NUMBERS = np.zeros(0, dtype=np.int64), np.zeros(0)
NO_MATCHES = KeywordMatches((), NO_KEYS, Postings(NO_KEYS, NO_NUMBERS, NO_NUMBERS), VisibleTexts(0, 1.0, 0.0))


class PostingReader(ABC):
    """Reads from one database which texts of the visible groups have a word."""

    needs_share: bool  # it reads VisibleTexts.share, for which the sums of all groups are read

    @abstractmethod
    def postings(
        self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts
    ) -> Iterator[Postings]:
        """For each term the texts of the visible groups that have it; one statement."""

    @abstractmethod
    def counts(self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts) -> list[int]:
        """For each term the number of texts that have it, counted up to POSTING_BUDGET + 1."""


def find_matches(match: Match, visibility: Visibility, reader: PostingReader) -> KeywordMatches:
    """The matches of a query in the visible groups; in a large store without its most common words."""
    texts = _count_texts(visibility, with_share=reader.needs_share)
    if not texts.texts:
        return NO_MATCHES
    if texts.texts > POSTING_BUDGET:
        place = (str(connection.settings_dict["NAME"]), visibility.groups, visibility.include_global)
        counts = TERM_COUNTS.of(place, match.searched, lambda terms: reader.counts(terms, visibility, texts))
        match = within_budget(match, counts)
    read = zip(match.searched, reader.postings(match.searched, visibility, texts), strict=True)
    return join_matches({term: postings for term, postings in read if len(postings.keys)}, texts)


def join_matches(found: Mapping[str, Postings], texts: VisibleTexts) -> KeywordMatches:
    """The matches of the terms that some text has, of these texts in all."""
    if not found:
        return NO_MATCHES
    counts = np.array([len(postings.keys) for postings in found.values()], dtype=np.int64)
    together = Postings(*map(np.concatenate, zip(*found.values(), strict=True)))
    return KeywordMatches(tuple(found), counts, together, texts)


def best_words(matches: KeywordMatches, visible: RowReader, *, limit: int) -> list[Hit]:
    """The `limit` visible memories that match best, best first."""
    keys = matches.first(limit)
    rows = visible(keys)
    while len(rows) < limit and len(keys) < len(matches.ranked):
        keys = matches.ranked[: len(keys) * GROWTH]
        rows = visible(keys)
    scores = matches.scored({key: rows[key] for key in list(rows)[: int(limit * SLACK)]})
    best = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))
    return [Hit(key, score) for key, score in best[:limit]]


def _count_texts(visibility: Visibility, *, with_share: bool) -> VisibleTexts:
    """The number of visible texts, their mean length and, if requested, their share."""
    groups, params = groups_sql(visibility)
    if with_share:
        [(count, words, everything)] = fetch(
            _TEXTS_AND_ALL.format(groups=groups), [*params, *params], is_repeated=True
        )
    else:
        [(count, words)] = fetch(_TEXTS.format(groups=groups), params, is_repeated=True)
        everything = count
    if not count:
        return VisibleTexts(0, 1.0, 0.0)
    return VisibleTexts(count, max(float(words) / count, 1.0), float(count / everything))


def parse_numbers(keys: str, words: str) -> tuple[Keys, Numbers]:
    """Keys and numbers of words from two texts with commas: Python takes three times as long for a row per match."""
    return np.fromstring(keys, dtype=np.int64, sep=","), np.fromstring(words, dtype=np.float64, sep=",")


def join_columns(text: tuple[Keys, Numbers], context: tuple[Keys, Numbers]) -> Postings:
    """The texts that have a word themselves and those that have it in their context."""
    if not len(context[0]):
        return Postings(text[0], np.ones(len(text[0])), text[1])
    keys, first, at = np.unique(np.concatenate([text[0], context[0]]), return_index=True, return_inverse=True)
    weights = np.concatenate([np.ones(len(text[0])), np.full(len(context[0]), _CONTEXT_WEIGHT)])
    frequency = np.asarray(np.bincount(at, weights=weights, minlength=len(keys)), dtype=np.float64)
    return Postings(keys, frequency, np.concatenate([text[1], context[1]])[first])
