"""Sentences with the vectors that the published weights give in float32: a model that disagrees is not the model."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from .encoder import Encoder
from .session import Vectors

# Half precision of the weights stays above 0.999999; a model quantised to int8 falls below 0.998.
MIN_COSINE: Final = 0.9999
MIN_QUESTION_COSINE: Final = 0.99  # of the graph for questions, whose weights have 8 bits

_SENTENCES: Final = Path(__file__).with_name("reference.json")
_VECTORS: Final = Path(__file__).with_name("reference.npy")


@dataclass(frozen=True)
class Reference:
    """Sentences and their vectors, float32[n, 384]."""

    sentences: tuple[str, ...]
    vectors: Vectors


@cache
def read_reference() -> Reference:
    """Give the reference that comes with Loci."""
    return Reference(tuple(json.loads(_SENTENCES.read_text(encoding="utf-8"))), np.load(_VECTORS))


def lowest_cosine(encoder: Encoder, *, sentences: int | None = None) -> float:
    """Give the cosine of the worst of the first `sentences` (None: all) to its reference; 1 is equal."""
    return _lowest(encoder.encode(read_reference().sentences[:sentences]))


def lowest_question_cosine(encoder: Encoder, *, sentences: int | None = None) -> float:
    """Give what lowest_cosine() does of the sentences as questions."""
    return _lowest(np.stack([encoder.encode_query(text) for text in read_reference().sentences[:sentences]]))


def _lowest(vectors: Vectors) -> float:
    cosines = np.sum(vectors * read_reference().vectors[: len(vectors)], axis=1)
    # NaN is not below any limit; say plainly that it is the worst.
    return float(np.nan_to_num(cosines, nan=-1.0).min())
