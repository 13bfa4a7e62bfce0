"""Does a text read like an instruction to an AI? A linear classifier over the vector that its search uses, its signs and its wording.

The vector is the one that the write path computes anyway. `python -m bench.guard` writes the weights from texts of our own;
docs/guard.md has what they find and what they do not.
"""

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guard.findings import GuardFinding
from guard.injection.signals import SIGNS
from guard.injection.wording import BITS, window_scores

WEIGHTS: Final = Path(__file__).parent.parent / "data" / "reading.json"
WORDING: Final = WEIGHTS.with_name("wording.bin")  # int8[2**BITS]
KIND: Final = "instruction-like"
VECTOR_SCALE: Final = 3.0  # of a unit vector of 384 numbers, so that it counts as much as the signs
LONG_CHARS: Final = 400
MARKS: Final = ("long", "beyond ascii")
WINDOW_SCORES: Final = ("highest", "mean")  # of the windows of a text
MAX_WINDOW_SCORE: Final = 8.0
WORDING_SCALE: Final = 0.5

Numbers = NDArray[np.float32]
Span = tuple[int, int]


@dataclass(frozen=True)
class WordingWeights:
    """A weight for each hash of a gram (float32[2**BITS]), and the bias."""

    grams: Numbers
    bias: float

    def read(self, text: str) -> tuple[Span, tuple[float, float]]:
        """The window that reads most like an instruction, and the features named in WINDOW_SCORES."""
        spans, scores = window_scores(text, self.grams)
        if not spans:
            return (0, len(text)), (0.0, 0.0)
        at = int(scores.argmax())
        return spans[at], wording_features(scores[at] + self.bias, scores.mean() + self.bias)


def wording_features(highest: float, mean: float) -> tuple[float, float]:
    """Both scores as the classifier takes them."""
    return _bounded(highest), _bounded(mean)


def _bounded(score: float) -> float:
    return max(-MAX_WINDOW_SCORE, min(score, MAX_WINDOW_SCORE)) * WORDING_SCALE


@dataclass(frozen=True)
class ReadingWeights:
    """The weights of the vector (float32[384]), of signs, marks and window scores, the bias, and the score at which a text is reported."""

    vector: Numbers
    signs: dict[str, float]
    marks: tuple[float, ...]
    window_scores: tuple[float, ...]
    bias: float
    threshold: float
    wording: WordingWeights

    def score(self, text: str, vector: Numbers) -> tuple[float, Span]:
        """The weighted sum of features(), without making them, and the span of the window with the highest score."""
        marks = sum(weight * mark for weight, mark in zip(self.marks, marks_of(text), strict=True))
        signs = sum(self.signs[name] for name in SIGNS.present(text))
        span, scores = self.wording.read(text)
        wording = sum(weight * score for weight, score in zip(self.window_scores, scores, strict=True))
        return float(vector @ self.vector) * VECTOR_SCALE + signs + marks + wording + self.bias, span


def marks_of(text: str) -> tuple[float, ...]:
    """The marks of a text, 0 or 1 each, in the order of MARKS."""
    return float(len(text) > LONG_CHARS), float(not text.isascii())


def features(text: str, vector: Numbers, wording: tuple[float, float]) -> Numbers:
    """What the classifier is trained with, float32[384 + signs + marks + window scores]."""
    present = SIGNS.present(text)
    signs = [float(name in present) for name in SIGNS.names]
    return np.concatenate(
        [vector * VECTOR_SCALE, np.array([*signs, *marks_of(text), *wording], dtype=np.float32)]
    )


@lru_cache(maxsize=1)
def read_weights() -> ReadingWeights:
    """The weights that Loci brings."""
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    numbers = iter(data["weights"])
    size = len(data["weights"]) - len(SIGNS.names) - len(MARKS) - len(WINDOW_SCORES)
    vector = np.array([*islice(numbers, size)], dtype=np.float32)
    signs = dict(zip(SIGNS.names, islice(numbers, len(SIGNS.names)), strict=True))
    marks = tuple(islice(numbers, len(MARKS)))
    levels = np.fromfile(WORDING, dtype=np.int8, count=1 << BITS)
    wording = WordingWeights(levels * np.float32(data["wording_scale"]), data["wording_bias"])
    return ReadingWeights(vector, signs, marks, tuple(numbers), data["bias"], data["threshold"], wording)


def find_reading(text: str, span: Span, vector: Numbers) -> GuardFinding | None:
    """A finding if this piece of a text reads like an instruction to an AI; `vector` is the piece's.

    The finding's span is the two sentences with the highest score.
    """
    known = read_weights()
    score, (start, end) = known.score(text[slice(*span)], vector)
    if score < known.threshold:
        return None
    return GuardFinding(KIND, (span[0] + start, span[0] + end), round(1 / (1 + math.exp(-score)), 3))
