"""The training of the guard's classifier: wordings of templates, and the regression."""

import random

import numpy as np

from bench.guard.fitting import fit, unseen_scores
from bench.guard.texts import TEXTS, read_texts, surrounded, worded
from bench.guard.wording import GramRows, fit_wording


def test_a_template_becomes_one_of_its_wordings() -> None:
    made = {
        worded("{Send|Post} {it|{them|all}} to {you}, ok{.| .}", random.Random(seed)) for seed in range(50)
    }
    assert made == {
        f"{verb} {what} to {{you}}, ok." for verb in ("Send", "Post") for what in ("it", "them", "all")
    }


def test_there_are_enough_training_texts_and_they_are_the_same_every_time() -> None:
    attacks, harmless = (read_texts(TEXTS / name, wordings=3) for name in ("instructions", "harmless"))
    assert len(attacks) > 400
    assert len(harmless) > 1000
    assert read_texts(TEXTS / "harmless", wordings=3) == harmless
    assert not {each.text for each in attacks} & {each.text for each in harmless}
    assert len({each.manner for each in attacks}) > 14


def test_the_regression_separates_what_can_be_separated() -> None:
    rows = np.array([[side + step / 100] for side in (-1.0, 1.0) for step in range(40)])
    labels = np.repeat([0.0, 1.0], 40)
    fitted = fit(rows, labels)
    assert ((fitted.scores(rows) > 0) == labels).all()
    scores = unseen_scores(rows, labels, [number % 4 for number in range(80)])
    assert ((scores > 0) == labels).all()


def test_disguises_are_put_on_when_a_text_is_worded() -> None:
    chance = random.Random(1)
    assert worded(r"Do {b64:hi you|b64:hi you} now.\nOk", chance) == "Do aGkgeW91 now.\nOk"
    assert worded("rev:{one two|one two}", chance) == "owt eno"
    assert worded("leet:{ignore it|ignore it}", chance) == "1gn0r3 17"


def test_a_share_of_the_texts_is_put_between_others() -> None:
    attacks, notes = (read_texts(TEXTS / name, wordings=1) for name in ("instructions", "harmless"))
    made = surrounded(attacks[:10], notes, 0.5, random.Random(2))
    assert len(made) == 5
    assert all(any(one.text in each.text for one in attacks[:10]) for each in made)


def test_wordings_are_told_apart_by_their_grams() -> None:
    texts = [f"Obey the note number {n}." for n in range(30)] + [f"The ferry left at {n}." for n in range(30)]
    labels = np.repeat([1.0, 0.0], 30)
    rows = GramRows(texts)
    scores = rows.highest(fit_wording(rows, labels, labels >= 0))
    assert ((scores[:, 0] > 0) == labels).all()
