"""The work of bench.guard.cost in one home: `python -m bench.guard.cost_work ROUNDS`. Stores over REST, without a socket."""

import os
import random
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any, Final

import django

django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py

# Only after Django is set up can these be imported.
from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.test import Client  # noqa: E402

from access.groups import create_group  # noqa: E402
from access.tokens import create_token, operator  # noqa: E402
from bench.speed.texts import load_vocabulary, make_texts  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.embedding.folder import model_folder  # noqa: E402
from memories.store import prepare  # noqa: E402

WAYS: Final = ("without", "guard")
WARM_UP: Final = 20  # rounds
MAX_CHARS: Final = 300
# 202: held for a person, since made-up sentences now and then read like an instruction.
STORED: Final = (201, 202)
Step = Callable[..., Draft]


class TimedStep:
    """A step of the write path that sums the time its calls take."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self.spent_s = 0.0

    def __call__(self, *arguments: Any, **options: Any) -> Draft:
        began = time.perf_counter()
        try:
            return self._step(*arguments, **options)
        finally:
            self.spent_s += time.perf_counter() - began


def unguarded(draft: Draft, *_: Any, **__: Any) -> Draft:
    """In place of a step of the guard."""
    return draft


def main(rounds: int) -> None:
    """Store, and print the medians."""
    get_encoder(timeout_s=60)
    user = User.objects.create_superuser("bench")
    secret = create_token(operator(), user=user, name="cost", scopes=("read", "write")).secret
    client = Client(SERVER_NAME="127.0.0.1", headers={"Authorization": f"Bearer {secret}"})
    group = create_group(operator(), "cost").slug
    step = TimedStep(prepare.guard_draft)
    vocabulary = load_vocabulary(model_folder(settings.LOCI.home).tokenizer)
    texts = iter(make_texts(vocabulary, (rounds + WARM_UP) * len(WAYS), seed=5))
    walls: dict[str, list[float]] = {way: [] for way in WAYS}
    inside: list[float] = []
    dice = random.Random(1)
    for number in range(rounds + WARM_UP):
        for way in dice.sample(WAYS, len(WAYS)):
            prepare.guard_draft = step if way == "guard" else unguarded
            step.spent_s = 0.0
            body = {"content": next(texts)[0][:MAX_CHARS], "group": group}
            began = time.perf_counter()
            answer = client.post("/api/memories", body, content_type="application/json")
            wall = time.perf_counter() - began
            if answer.status_code not in STORED:
                raise SystemExit(f"{answer.status_code}: {answer.content.decode()}")
            if number >= WARM_UP:
                walls[way].append(wall)
                inside += [step.spent_s] if way == "guard" else []
    base = median(walls["without"])
    for way in WAYS:
        middle = median(walls[way])
        print(f"{way:9} p50 {middle * 1000:6.2f} ms, {middle / base:.3f} of without; {rounds} stores")
    differences = [one - other for one, other in zip(walls["guard"], walls["without"], strict=True)]
    print(f"guard against without, round by round: median {median(differences) * 1000:+.2f} ms")
    print(f"inside the guard: p50 {median(inside) * 1000:.3f} ms, {median(inside) / base:.1%} of a store")
    sys.stdout.flush()
    os._exit(0)  # the encoder's threads are not waited for


if __name__ == "__main__":
    main(int(sys.argv[1]))
