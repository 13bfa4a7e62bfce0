"""A store for the proof `team`, of which some memories wait for a decision; and the number of queries of its pages."""

from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import numpy as np
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.speed.store import MAIN, Vectors, choose_groups, make_groups, seed_vectors, write
from bench.speed.texts import TOPICS, load_vocabulary, make_texts
from memories.embedding.loader import model_folder
from memories.models import Doubt, Link, Memory

USER, PASSWORD = "curator", "five hundred decisions a day"
# Of a hundred items; the rest are candidates.
SHARES = {"disputed": 10, "quarantined": 10, "conflict": 15, "duplicate": 15}
QUESTION_WORDS = 8
PAGES = {
    "dashboard": "/admin/",
    "list": "/admin/memories/memory/",
    "review": "/admin/review/",
}


def fill(count: int, items: int, seeds: str = "") -> dict[str, Any]:
    """Write so many memories as bench.speed.store does, let so many wait for a decision, and say how to log in and which pages there are.

    `seeds` is a file with real vectors, made where it is not there; without it vectors are chance.
    """
    User.objects.create_superuser(USER, password=PASSWORD)
    vocabulary = load_vocabulary(model_folder(settings.LOCI.home).tokenizer)
    vectors = seed_vectors(vocabulary, Path(seeds)) if seeds else _chance()
    texts = make_texts(vocabulary, count, seed=count)
    write(texts, choose_groups(make_groups(), count), vectors)
    # Spread over the largest group: every so manieth of its memories waits, and each link ties two others.
    there = list(Memory.objects.filter(group__slug=MAIN).order_by("key").values_list("key", flat=True))
    keys = iter(there[:: max(1, len(there) // (2 * items))])
    for number in range(items):
        kind = _kind(number)
        if kind in ("conflict", "duplicate"):
            Link.objects.create(
                kind=kind, source_id=next(keys), target_id=next(keys), score=0.9, reason="near"
            )
        else:
            key = next(keys)
            if kind == "disputed":
                Doubt.objects.create(memory_id=key, author_name="load", reason="outdated")
            else:
                Memory.objects.filter(key=key).update(trust=kind)
    return {"user": USER, "password": PASSWORD, "pages": pages(), "queries": queries()}


def _kind(number: int) -> str:
    at = (number * 37) % 100  # mixed, and the same each time
    for kind, share in SHARES.items():
        if at < share:
            return kind
        at -= share
    return "candidate"


def _chance() -> list[Vectors]:
    dice = np.random.default_rng(5)
    vectors = dice.standard_normal((TOPICS, 8, 384)).astype(np.float32)
    return list(vectors / np.linalg.norm(vectors, axis=2, keepdims=True))


def pages() -> dict[str, str]:
    """The pages that are asked for: the memory is one that counts, the card one that waits."""
    memory = Memory.objects.filter(state="live", trust="active").order_by("key")[1]
    page = f"/admin/memories/memory/{memory.id}/change/"
    # One word alone would be "the" in this store, and nobody asks that.
    question = quote_plus(" ".join(memory.content.split()[:QUESTION_WORDS]))
    return PAGES | {"memory": page, "memory's question": f"{page}?query={question}"}


def queries() -> dict[str, int]:
    """Count the queries of each page, once what stays in memory is there."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(User.objects.get(username=USER))
    found = {name: _count(client, url) for name, url in pages().items()}
    # A card with something near it costs more than one without: the dearest of some.
    cards = Memory.objects.filter(trust="candidate").order_by("key")[:8]
    dear = max(_count(client, f"/admin/review/card/candidate/{card.id}/") for card in cards)
    return found | {"card, the dearest of 8": dear}


def _count(client: Client, url: str) -> int:
    """The fewest queries of three visits: in the first ones the process reads what it keeps in memory."""
    counts = []
    for _ in range(3):
        with CaptureQueriesContext(connection) as seen:
            answer = client.get(url)
        if answer.status_code != 200:
            raise SystemExit(f"{url} answered {answer.status_code}")
        counts.append(len(seen))
    return min(counts)
