"""Train the classifier of instructions to an AI, and write its weights.

    python -m bench.guard [--chats corpus.jsonl ...] [--out guard/data]

Trained with templates in `templates/`, the lists of the tests, and the paragraphs in `prose.jsonl`: the same texts every
time, so the same weights. `--chats` (a JSON object with `text` on each line) are only counted, as alarms. Needs the embedding model.
"""

import argparse
import json
import os
import random
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import NamedTuple

import django
import numpy as np
from numpy.typing import NDArray

from bench.guard.fitting import FittedWeights, fit
from bench.guard.prose import read_prose
from bench.guard.texts import TEXTS, read_texts, surrounded
from bench.guard.wording import GramRows, fit_wording

SEED = 1
WORDINGS = {"chats.txt": 16}  # of each template; the others have 8
OTHER_WORDINGS = 8
# The share of attacks and of harmless texts that are also put into a document.
INSIDE, AMONG_OTHERS = 0.35, 0.3
TALKS = 400
FOLDS = 3
MAX_CHARS = 600
THRESHOLD = 4.9  # the lowest tenth at which patterns and reading alarm on at most 0.1 % of 32,341 chat turns: docs/guard.md
LISTS = Path("tests/guard/data")  # the lists that the rules were written with
NAMES = ("Anna", "Ben", "Chen", "Dora", "Emil", "Fatima", "Hana", "User", "Assistant")

Encode = Callable[[Sequence[str]], NDArray[np.float32]]


class Lesson(NamedTuple):
    """The texts, the attacks first, and the fold of each: wordings of a template share one."""

    texts: list[str]
    attacks: int
    folds: NDArray[np.int64]


def read_lesson() -> Lesson:
    """All texts to train with."""
    chance = random.Random(SEED)
    attacks = read_texts(TEXTS / "instructions", wordings=OTHER_WORDINGS) + read_texts(LISTS / "injected.txt")
    harmless = [
        text
        for path in sorted((TEXTS / "harmless").glob("*.txt"))
        for text in read_texts(path, wordings=WORDINGS.get(path.name, OTHER_WORDINGS))
    ] + read_texts(LISTS / "harmless.txt")
    attacks += surrounded(attacks, harmless, INSIDE, chance)
    harmless += surrounded(harmless, harmless, AMONG_OTHERS, chance)
    lines = [each.text for each in harmless]
    talks = [
        chance.choice(("", f"{chance.choice(NAMES)}: "))
        + " ".join(chance.sample(lines, chance.randint(1, 5)))
        for _ in range(TALKS)
    ]
    prose = read_prose()
    texts = [*(each.text for each in (*attacks, *harmless)), *talks, *prose]
    roots = [*(each.template for each in (*attacks, *harmless)), *talks, *prose]
    return Lesson(texts, len(attacks), np.array([zlib.crc32(root.encode()) % FOLDS for root in roots]))


def train(lesson: Lesson, encode: Encode) -> tuple[FittedWeights, FittedWeights]:
    """The weights of the wording, and those of all features; the latter see the wording of texts it was not fitted with."""
    # After the settings.
    from guard.injection.reading import features, wording_features  # noqa: PLC0415

    labels = np.zeros(len(lesson.texts))
    labels[: lesson.attacks] = 1
    rows = GramRows(lesson.texts)
    unseen = np.empty((len(labels), 2))
    for fold in range(FOLDS):
        held = lesson.folds == fold
        unseen[held] = rows.highest(fit_wording(rows, labels, ~held))[held]
    rows_of_features = [
        features(text, vector, wording_features(*wording))
        for text, vector, wording in zip(lesson.texts, encode(lesson.texts), unseen, strict=True)
    ]
    return fit_wording(rows, labels, labels >= 0), fit(np.array(rows_of_features, dtype=np.float64), labels)


def write(folder: Path, wording: FittedWeights, fitted: FittedWeights) -> None:
    """Both weights; those of grams in 255 levels."""
    scale = float(np.abs(wording.weights).max()) / 127
    np.round(wording.weights / scale).astype(np.int8).tofile(folder / "wording.bin")
    data = {
        "weights": [round(float(each), 4) for each in fitted.weights],
        "bias": round(fitted.bias, 4),
        "threshold": THRESHOLD,
        "wording_scale": round(scale, 6),
        "wording_bias": round(wording.bias, 4),
    }
    (folder / "reading.json").write_text(json.dumps(data) + "\n", encoding="utf-8")


def main() -> None:
    """Train, write the weights, and count alarms in chats."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chats", nargs="*", type=Path, default=[])
    parser.add_argument("--out", type=Path, default=Path("guard/data"))
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    django.setup()
    # After the settings.
    from guard.injection.reading import find_reading, read_weights  # noqa: PLC0415
    from memories.embedding import get_encoder  # noqa: PLC0415

    encoder = get_encoder(timeout_s=60)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = encoder.encode_unless(texts, Event())  # in this thread
        assert vectors is not None
        return vectors

    lesson = read_lesson()
    print(f"{lesson.attacks} instructions, {len(lesson.texts) - lesson.attacks} harmless texts", flush=True)
    write(options.out, *train(lesson, encode))
    read_weights.cache_clear()
    for path in options.chats:
        texts = [json.loads(line)["text"][:MAX_CHARS] for line in path.open(encoding="utf-8")]
        vectors = encode(texts)
        alarms = sum(
            find_reading(text, (0, len(text)), vector) is not None
            for text, vector in zip(texts, vectors, strict=True)
        )
        print(f"{path}: {alarms} alarms in {len(texts)} texts", flush=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
