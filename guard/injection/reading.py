"""Does a text read like an instruction to an AI? A linear classifier over the vector that its search uses, and its signs.

The vector is the one that the write path computes anyway, so a text costs a product of 400 numbers more. `python -m bench.guard`
writes the weights from texts of our own; docs/guard.md has what they find and what they do not.
"""

import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guard.findings import GuardFinding
from guard.injection.signals import SIGNS

WEIGHTS: Final = Path(__file__).parent.parent / "data" / "reading.json"
KIND: Final = "instruction-like"
VECTOR_SCALE: Final = 3.0  # of a unit vector of 384 numbers, so that it counts as much as the signs
LONG_CHARS: Final = 400
MOST_YOU: Final = 3
_YOU: Final = re.compile(r"\b(?:you|your|yourself)\b", re.I)
_LINK: Final = re.compile(r"https?://|@\w")
_AI: Final = re.compile(r"\b(?:AI|assistant|agent|bot|model|LLM|copilot|chatbot)s?\b", re.I)
MARKS: Final = ("second person", "link", "long", "beyond ascii", "names an ai")

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class ReadingWeights:
    """The weights of the vector (float32[384]), of signs and marks, the bias, and the sum from which on a text is reported."""

    vector: Numbers
    signs: dict[str, float]
    marks: tuple[float, ...]
    bias: float
    threshold: float

    def score(self, text: str, vector: Numbers) -> float:
        """The weighted sum of features(), without making them."""
        marks = sum(weight * mark for weight, mark in zip(self.marks, marks_of(text), strict=True))
        signs = sum(self.signs[name] for name in SIGNS.present(text))
        return float(vector @ self.vector) * VECTOR_SCALE + signs + marks + self.bias


def marks_of(text: str) -> tuple[float, ...]:
    """The marks of a text, 0 to 1 each, in the order of MARKS."""
    return (
        min(len(_YOU.findall(text)), MOST_YOU) / MOST_YOU,
        float(_LINK.search(text) is not None),
        float(len(text) > LONG_CHARS),
        float(not text.isascii()),
        float(_AI.search(text) is not None),
    )


def features(text: str, vector: Numbers) -> Numbers:
    """What the classifier is trained with, float32[384 + signs + marks]."""
    present = SIGNS.present(text)
    signs = [float(name in present) for name in SIGNS.names]
    return np.concatenate([vector * VECTOR_SCALE, np.array([*signs, *marks_of(text)], dtype=np.float32)])


@lru_cache(maxsize=1)
def read_weights() -> ReadingWeights:
    """The weights that Loci brings."""
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    weights = data["weights"]
    size = len(weights) - len(SIGNS.names) - len(MARKS)
    vector = np.array(weights[:size], dtype=np.float32)
    signs = dict(zip(SIGNS.names, weights[size : -len(MARKS)], strict=True))
    return ReadingWeights(vector, signs, tuple(weights[-len(MARKS) :]), data["bias"], data["threshold"])


def find_reading(text: str, span: tuple[int, int], vector: Numbers) -> GuardFinding | None:
    """A finding if this piece of a text reads like an instruction to an AI; `vector` is the piece's."""
    known = read_weights()
    score = known.score(text[slice(*span)], vector)
    if score < known.threshold:
        return None
    return GuardFinding(KIND, span, round(1 / (1 + math.exp(-score)), 3))
