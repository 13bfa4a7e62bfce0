"""A store of made-up memories, written in a process of its own in a home.

Rows are written straight into the tables, as an import writes them, and the triggers feed both indexes from them; there are no audit rows, since
what is measured is reading. Four of five memories are events behind a summary, as in a store that compaction works on.

Vectors: SEEDS texts are embedded for real and kept in a file. A memory's vector is a mixture of two of its topic's and
noise, so that there are near ones and far ones as in real text.
"""

import random
import sys
import time
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from numpy.typing import NDArray

from access.groups import create_group
from access.tokens import operator
from bench.speed.texts import TOPICS, Vocabulary, load_vocabulary, make_question, make_texts
from memories.embedding import get_encoder
from memories.embedding.loader import model_folder
from memories.language.cleaning import content_hash
from memories.language.dates.named_days import keep_days
from memories.language.dress import fold_hash
from memories.models import IndexState, Memory, Piece
from memories.store.pieces import PIECES
from memories.store.write import MEMORIES
from memories.types import SUMMARY_SOURCE, Type

SEEDS = 3200
NOISE = 0.3  # the length of the noise beside a vector of length 1
ROWS_AT_ONCE = 5000
MAIN, FOUR = "main", "four"  # groups with 90 % and 4 % of the memories; the others share the rest
SMALL_GROUPS = 60
LIVE_EACH = 5  # of so many memories one is in lists itself
QUESTIONS_EACH = 2000
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)

Vectors = NDArray[np.float32]


def fill(count: int, seeds: str) -> dict[str, Any]:
    """Fill the store; questions about each of the two groups that are measured, and texts that are not stored yet."""
    vocabulary = load_vocabulary(model_folder(settings.LOCI.home).tokenizer)
    groups = make_groups()
    texts = make_texts(vocabulary, count, seed=count)
    group_keys = choose_groups(groups, count)
    write(texts, group_keys, seed_vectors(vocabulary, Path(seeds)))
    put_behind_summaries(groups.values())
    names = {key: slug for slug, key in groups.items()}
    questions = {
        slug: _questions(
            vocabulary,
            [t for (t, _), group_key in zip(texts, group_keys, strict=True) if names[group_key] == slug],
        )
        for slug in (MAIN, FOUR)
    }
    fresh = [text for text, _ in make_texts(vocabulary, 500, seed=count + 1)]
    return {"questions": questions, "fresh": fresh}


def seed_vectors(vocabulary: Vocabulary, file: Path) -> list[Vectors]:
    """Each topic's real vectors, float32[n, 384]; embedded once and kept in `file`."""
    texts = make_texts(vocabulary, SEEDS, seed=0)
    if not file.exists():
        encoded = get_encoder(timeout_s=60).encode([text for text, _ in texts])
        np.save(file, encoded)
    vectors = np.load(file)
    own = [vectors[[i for i, (_, topic) in enumerate(texts) if topic == wanted]] for wanted in range(TOPICS)]
    return [each if len(each) else vectors for each in own]


def make_groups() -> dict[str, int]:
    """Make the groups; give their keys by name."""
    IndexState.objects.get_or_create(name="model", defaults={"value": get_encoder(timeout_s=60).model_id})
    slugs = [MAIN, FOUR, *(f"small-{number}" for number in range(SMALL_GROUPS))]
    return {slug: create_group(operator(), slug).key for slug in slugs}


def choose_groups(groups: dict[str, int], count: int) -> list[int]:
    """Each memory's group: every 25th in the one of 4 %, 6 in 100 in the small ones."""
    small = [key for slug, key in groups.items() if slug.startswith("small")]
    dice = random.Random(3)
    shares = dice.choices([groups[MAIN], groups[FOUR], 0], weights=[90, 4, 6], k=count)
    return [group_key or dice.choice(small) for group_key in shares]


def write(texts: list[tuple[str, int]], group_keys: list[int], seeds: list[Vectors]) -> None:
    """Write the memories with their pieces."""
    for start in range(0, len(texts), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        vectors = mixed_vectors([topic for _, topic in texts[part]], seeds, seed=start)
        with transaction.atomic():
            rows = zip(texts[part], group_keys[part], strict=True)
            memories = [
                make_memory(number, text, group_key)
                for number, ((text, _), group_key) in enumerate(rows, start + 1)
            ]
            MEMORIES.add(memories)
            PIECES.add(make_pieces(memories, vectors))
        print(f"{start + len(vectors):,} memories", file=sys.stderr)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("ANALYZE")


def put_behind_summaries(groups: Iterable[int]) -> None:
    """Make a summary of each group's first memory, and four of five of the others events behind it."""
    for group in groups:
        rows = Memory.objects.filter(group=group).annotate(place=F("key") % LIVE_EACH)
        summary = rows.order_by("key").first()
        if summary is not None:
            rows.filter(pk=summary.pk).update(type=Type.EPISODIC, source=SUMMARY_SOURCE)
            events = rows.exclude(pk=summary.pk).exclude(place=0)
            events.update(type=Type.EPISODIC, valid_from=F("created_at"), summary=summary)


def mixed_vectors(topics: list[int], seeds: list[Vectors], *, seed: int) -> Vectors:
    """Unit vectors, float32[n, 384]: two of the topic's real ones mixed, and noise."""
    dice = np.random.default_rng(seed)
    mixed = np.empty((len(topics), 384), dtype=np.float32)
    for row, topic in enumerate(topics):
        own = seeds[topic]
        first, second = own[dice.integers(len(own))], own[dice.integers(len(own))]
        share = dice.random()
        mixed[row] = share * first + (1 - share) * second
    mixed += dice.standard_normal(mixed.shape).astype(np.float32) * (NOISE / 384**0.5)
    unit: Vectors = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return unit


def make_memory(number: int, text: str, group_key: int) -> Memory:
    """An unsaved memory with this number."""
    at = BEGAN + timedelta(seconds=30 * number)
    return Memory(
        id=uuid.UUID(int=(int(at.timestamp() * 1000) << 80) | (7 << 76) | (2 << 62) | number),
        type="semantic",
        scope="group",
        author_name="bench",
        content=text,
        content_hash=content_hash(text),
        fold_hash=fold_hash(text),
        days=keep_days(text, at),
        group_id=group_key,
        created_at=at,
        updated_at=at,
        confirmed_at=timezone.now(),  # else the Review asks whether it is still true
        filter=f"ingroup{group_key}",
    )


def make_pieces(memories: Sequence[Memory], vectors: Vectors) -> list[Piece]:
    """One unsaved piece for each memory, with its vector."""
    model = get_encoder(timeout_s=60).model_id
    return [
        Piece(
            memory_id=memory.key,
            ordinal=0,
            start=0,
            end=len(memory.content),
            tokens=50,
            embedding=vector.astype("<f4").tobytes(),
            model=model,
        )
        for memory, vector in zip(memories, vectors, strict=True)
    ]


def _questions(vocabulary: Vocabulary, texts: list[str]) -> list[str]:
    dice = random.Random(4)
    asked: dict[str, Any] = {}
    while len(asked) < QUESTIONS_EACH:
        asked[make_question(vocabulary, dice, dice.choice(texts))] = None
    return [*asked]


def encoder_ms(questions: list[str]) -> float:
    """One forward of the encoder over a question, the median, in ms of CPU time."""
    encoder, times = get_encoder(timeout_s=60), list[float]()
    for question in questions:
        began = time.process_time()
        encoder.encode_query(question)
        times.append((time.process_time() - began) * 1000)
    return median(times)
