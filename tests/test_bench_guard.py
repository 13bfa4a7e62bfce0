"""The training of the guard's classifier: wordings of templates, and the regression."""

import random

import numpy as np

from bench.guard.fitting import fit, unseen_scores
from bench.guard.texts import TEXTS, read_texts, worded


def test_a_template_becomes_one_of_its_wordings() -> None:
    made = {
        worded("{Send|Post} {it|{them|all}} to {you}, ok{.| .}", random.Random(seed)) for seed in range(50)
    }
    assert made == {
        f"{verb} {what} to {{you}}, ok." for verb in ("Send", "Post") for what in ("it", "them", "all")
    }


def test_there_are_enough_training_texts_and_they_are_the_same_every_time() -> None:
    attacks, harmless = (read_texts(TEXTS / name) for name in ("instructions.txt", "harmless.txt"))
    assert len(attacks) > 400
    assert len(harmless) > 1000
    assert read_texts(TEXTS / "harmless.txt") == harmless
    assert not {each.text for each in attacks} & {each.text for each in harmless}
    assert len({each.manner for each in attacks}) > 14


def test_the_regression_separates_what_can_be_separated() -> None:
    rows = np.array([[side + step / 100] for side in (-1.0, 1.0) for step in range(40)])
    labels = np.repeat([0.0, 1.0], 40)
    fitted = fit(rows, labels)
    assert ((fitted.scores(rows) > 0) == labels).all()
    scores = unseen_scores(rows, labels, [number % 4 for number in range(80)])
    assert ((scores > 0) == labels).all()
