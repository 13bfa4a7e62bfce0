"""Train the classifier of instructions to an AI, and write its weights.

    python -m bench.guard --chats corpus.jsonl ... [--out guard/data/reading.json]

`--chats` are conversations (a JSON object with `text` on each line) that serve as harmless texts. Half of them are trained with; on the other half
and on templates of manners left out the threshold is chosen. Needs the embedding model.
"""

import argparse
import json
import os
import random
import sys
from pathlib import Path

import django
import numpy as np

from bench.guard.fitting import PENALTY, fit, unseen_scores
from bench.guard.texts import TEXTS, read_texts

FOLDS = 6
CHATS = 2500  # to train with, and as many to choose the threshold on
MAX_CHARS = 1200
LISTS = Path("tests/guard/data")  # the lists that the rules were written with


def main() -> None:
    """Train, print what the threshold gives, write the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chats", nargs="+", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("guard/data/reading.json"))
    parser.add_argument(
        "--alarms", type=float, default=0.01, help="share of harmless templates reported, at most"
    )
    parser.add_argument("--chat-alarms", type=float, default=0.0005)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    django.setup()
    # After the settings.
    from guard.injection.reading import features  # noqa: PLC0415
    from memories.embedding import get_encoder  # noqa: PLC0415

    chance = random.Random(1)
    attacks = read_texts(TEXTS / "instructions.txt") + read_texts(LISTS / "injected.txt")
    harmless = read_texts(TEXTS / "harmless.txt") + read_texts(LISTS / "harmless.txt")
    lines = [
        json.loads(line)["text"][:MAX_CHARS] for path in options.chats for line in path.open(encoding="utf-8")
    ]
    chats = chance.sample(lines, min(len(lines), 2 * CHATS))
    texts = [*(each.text for each in (*attacks, *harmless)), *chats]
    vectors = get_encoder(timeout_s=60).encode(texts)
    rows = np.array(
        [features(text, vector) for text, vector in zip(texts, vectors, strict=True)], dtype=np.float64
    )
    own = len(attacks) + len(harmless)
    trained = own + len(chats) // 2
    labels = np.zeros(trained)
    labels[: len(attacks)] = 1
    manners = {each: number % FOLDS for number, each in enumerate(sorted({one.manner for one in attacks}))}
    templates = {each: chance.randrange(FOLDS) for each in sorted({one.template for one in harmless})}
    folds = [
        *(manners[each.manner] for each in attacks),
        *(templates[each.template] for each in harmless),
        *(chance.randrange(FOLDS) for _ in range(trained - own)),
    ]
    scores = unseen_scores(rows[:trained], labels, folds)
    fitted = fit(rows[:trained], labels)
    others = fitted.scores(rows[trained:])
    unseen, notes = scores[: len(attacks)], scores[len(attacks) : own]
    threshold = float(
        max(np.quantile(notes, 1 - options.alarms), np.quantile(others, 1 - options.chat_alarms), 0)
    )
    print(
        f"{len(attacks)} instructions, {len(harmless)} harmless texts, {trained - own} chats; penalty {PENALTY}"
    )
    print(f"threshold {threshold:.3f}: {np.mean(unseen >= threshold):.1%} of manners left out")
    print(
        f"alarms: {np.mean(notes >= threshold):.2%} of harmless texts, {np.mean(others >= threshold):.3%} of other chats"
    )
    data = {
        "weights": [round(float(each), 4) for each in fitted.weights],
        "bias": round(fitted.bias, 4),
        "threshold": round(threshold, 3),
    }
    options.out.write_text(json.dumps(data) + "\n", encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
