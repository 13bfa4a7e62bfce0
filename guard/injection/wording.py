"""The wording of a text as numbers: hashed words, pairs of words and runs of letters, summed per window of two sentences.

A weight belongs to a hash, so no word has to be known, and all languages fit into one table. Everything is a few passes of numpy,
linear in the length of the text.
"""

import re
import zlib
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

BITS: Final = 16  # of a hash: the size of the table of weights
RUN: Final = 4  # letters; two in scripts without spaces
MOST_CHARS: Final = 300  # of a sentence; the rest of a longer one is another
_SENTENCE: Final = re.compile(rf"[^.!?。！？\n]{{1,{MOST_CHARS}}}[.!?。！？\n]*")
_WORD: Final = re.compile(r"[^\W_]+")
_PRIME: Final = np.uint32(0x01000193)  # of FNV
_MIX: Final = np.uint32(2654435761)  # Knuth, multiplicative hashing
_WIDE: Final = 0x2E80  # from here on scripts without spaces

Span = tuple[int, int]


class Grams(NamedTuple):
    """Hashes (uint32[n], below 2**BITS) and where each begins (int64[n])."""

    hashes: NDArray[np.uint32]
    starts: NDArray[np.int64]


def grams(text: str) -> Grams:
    """The hashed grams of a text; capitals do not count."""
    lower = text.lower()
    if len(lower) != len(text):  # some capitals have two lower letters
        lower = text
    letters = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    places = np.arange(len(letters))
    pairs = letters[:-1] * _PRIME ^ letters[1:]
    runs = (pairs[:-2] * _PRIME ^ letters[2:-1]) * _PRIME ^ letters[RUN - 1 :]
    hashes, starts = [runs], [places[: len(runs)]]
    if not text.isascii():
        is_wide = (letters[:-1] >= _WIDE) & (letters[1:] >= _WIDE)
        hashes.append(pairs[is_wide])
        starts.append(places[:-1][is_wide])
    words = [*_WORD.finditer(lower)]
    if words:
        first = np.array([zlib.crc32(each[0].encode("utf-8", "surrogatepass")) for each in words], np.uint32)
        at = np.array([each.start() for each in words], np.int64)
        hashes += first, first[:-1] * _PRIME ^ first[1:], first[:-2] * _MIX ^ first[2:]
        starts += at, at[:-1], at[:-2]
    mixed = (np.concatenate(hashes) * _MIX) >> np.uint32(32 - BITS)
    return Grams(mixed, np.concatenate(starts))


def windows(text: str) -> list[Span]:
    """The spans of every two sentences that follow each other; one sentence alone is a window."""
    sentences = [match.span() for match in _SENTENCE.finditer(text) if not match[0].isspace()]
    if len(sentences) < 2:
        return sentences
    return [(one[0], other[1]) for one, other in pairwise(sentences)]


def window_scores(text: str, weights: NDArray[np.float32]) -> tuple[list[Span], NDArray[np.float64]]:
    """The windows and, for each, the sum of its grams' weights over the root of their number."""
    spans = windows(text)
    found = grams(text)
    size = len(text) + 1
    sums = np.concatenate([[0.0], np.bincount(found.starts, weights[found.hashes], size).cumsum()])
    counts = np.concatenate([[0], np.bincount(found.starts, minlength=size).cumsum()])
    bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)
    total = sums[bounds[:, 1]] - sums[bounds[:, 0]]
    count = counts[bounds[:, 1]] - counts[bounds[:, 0]]
    return spans, total / np.sqrt(np.maximum(count, 1))
