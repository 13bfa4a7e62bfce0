"""Calibrates a model: its cosines become MiniLM's, in whose units all thresholds are.

Cosines of unrelated texts lie around 0.76 in one model and around 0.05 in another. Without the mean vector of unrelated texts
they lie around 0 in each, and as far apart. What is left is how near an answer lies to its question.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from memories.embedding.encoder import Encoder
from memories.embedding.loader import CENTRE_FILE, REFERENCE_FILE, ModelFolder, open_model, read_reference
from memories.embedding.manifest import Model
from memories.embedding.model import ModelInstallFailed, Vectors

_TEXTS: Final = Path(__file__).with_name("calibration.json")
# MiniLM's mean cosine of a question with its answer, and with other texts (spread 0.09).
_RELATED, _UNRELATED = 0.50, 0.052
_MIN_DISTANCE: Final = 2.0  # spreads of unrelated cosines between the two means; MiniLM has 5.2


class Distance(NamedTuple):
    """Cosines of questions: the mean with their answers, the mean and the spread with other texts."""

    related: float
    unrelated: float
    spread: float

    @property
    def spreads(self) -> float:
        """How far both are apart."""
        return (self.related - self.unrelated) / self.spread


@cache
def _read_texts() -> tuple[list[str], list[tuple[str, int]]]:
    """400 short texts, and questions with the place of their answer among them."""
    found = json.loads(_TEXTS.read_text(encoding="utf-8"))
    return found["texts"], [(question, place) for question, place in found["pairs"]]


def measure_distance(encoder: Encoder) -> Distance:
    """How well a model tells a question's answer from other texts."""
    texts, pairs = _read_texts()
    questions = np.stack([encoder.encode_query(question) for question, _ in pairs])
    cosines = questions @ encoder.encode(texts).T
    is_answer = np.zeros(cosines.shape, dtype=np.bool_)
    is_answer[np.arange(len(pairs)), [place for _, place in pairs]] = True
    others = cosines[~is_answer]
    return Distance(float(cosines[is_answer].mean()), float(others.mean()), float(others.std()))


def mean_cosine(vectors: Vectors) -> float:
    """The mean cosine of different ones of these vectors (float32[n, width], unit length)."""
    count = len(vectors)
    return round(float((np.square(vectors.sum(axis=0)).sum() - count) / (count * (count - 1))), 3)


def calibrate(folder: ModelFolder, model: Model, texts: Sequence[str] = ()) -> Model:
    """The model with its calibration; writes what belongs to it, and its reference vectors, into the folder.

    With texts, their mean is the centre. The scale of the first calibration stays: labelled questions give nearly the same one
    around any centre, and the halves of unlabelled texts one that is 0.8 to 1.7 times as large.

    Raises:
        ModelInstallFailed: it does not tell a question's answer from other texts.
    """
    tokenizer, session = open_model(folder, model, exact_sums=True)
    centre: Vectors | None = None
    if not model.calibrated:
        centre = Encoder(tokenizer, session, model=model).encode(texts or _read_texts()[0]).mean(axis=0)
        np.save(folder.path / CENTRE_FILE, centre)
        digest = hashlib.sha256(centre.tobytes()).hexdigest()
        has_scale, model = bool(model.centre), replace(model, centre=digest, calibrated=True)
        found = measure_distance(Encoder(tokenizer, session, model=model, centre=centre))
        if not found.spreads >= _MIN_DISTANCE:  # NaN is not
            raise ModelInstallFailed(
                f"{model.name} does not tell a question's answer from other texts: {found.spreads:.1f} spreads apart,"
                f" at least {_MIN_DISTANCE:g} are needed.",
                hint="Check that the folder has the model's own tokenizer, pooling and prompts.",
            )
        if not has_scale:
            scale = round((_RELATED - _UNRELATED) / (found.related - found.unrelated), 3)
            shift = round(_UNRELATED - scale * found.unrelated, 3)
            model = replace(model, question_scale=scale, question_shift=shift)
    encoder = Encoder(tokenizer, session, model=model, centre=centre)
    np.save(folder.path / REFERENCE_FILE, encoder.encode(read_reference().sentences))
    return model
