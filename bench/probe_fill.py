"""Fills the store that LOCI_HOME names and times the probe there: `python -m bench.probe_fill SIZE`, JSON on stdout.

Rows are written straight into the tables, and the triggers feed the indexes. Vectors are random ones around 200 topics, so that each
probe meets texts that are near and has to compare them.
"""

import json
import sys
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

import django
import numpy as np
from numpy.typing import NDArray

django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py

# Only after Django is set up can these be imported.
from django.db import connection, transaction  # noqa: E402

from access.groups import create_group  # noqa: E402
from access.tokens import operator  # noqa: E402
from bench.proof.sentences import sentence  # noqa: E402
from memories.language.cleaning import content_hash, fold_hash  # noqa: E402
from memories.models import IndexState, Memory, Piece  # noqa: E402
from memories.store.neighbours import PROBE_LIMIT, ComparedText, compared, later_nears, probe  # noqa: E402
from memories.store.write import MEMORIES, PIECES  # noqa: E402
from storage.bulk_insert import like  # noqa: E402
from storage.ids import new_id  # noqa: E402

MODEL = "probe-bench"
GROUP_ROWS, GLOBAL_ROWS = 1_000, 200
ROWS_AT_ONCE = 5_000
TOPICS = 200
PROBES = 300
MEMORY = Memory(type="semantic")
PIECE = Piece(ordinal=0, start=0, end=80, tokens=20, model=MODEL)
Vectors = NDArray[np.float32]


def main() -> None:
    """Fill, time, print."""
    size = int(sys.argv[1])
    IndexState.objects.get_or_create(name="model", defaults={"value": MODEL})
    rooms = [create_group(operator(), f"room-{number}").key for number in range(size // GROUP_ROWS)]
    for start in range(0, size, ROWS_AT_ONCE):
        _write(start, min(ROWS_AT_ONCE, size - start), rooms)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(json.dumps(_timed(size, rooms)))


def _write(start: int, amount: int, rooms: list[int]) -> None:
    vectors = _vectors(start, amount)
    with transaction.atomic():
        memories = [_memory(start + at, rooms) for at in range(amount)]
        MEMORIES.add(memories)
        PIECES.add(
            [
                like(PIECE, {"memory_id": memory.key, "embedding": vectors[at].astype("<f4").tobytes()})
                for at, memory in enumerate(memories)
            ]
        )


def _memory(number: int, rooms: list[int]) -> Memory:
    text = sentence(number)
    values = {
        "id": new_id(),
        "content": text,
        "content_hash": content_hash(text),
        "fold_hash": fold_hash(text),
        "scope": "global" if number < GLOBAL_ROWS else "group",
        "group_id": rooms[number % len(rooms)],
    }
    return like(MEMORY, values)


def _vectors(seed: int, amount: int) -> Vectors:
    """Give unit vectors, float32[amount, 384], each near one of the topics: within a topic the cosine is about 0.8."""
    topics = np.random.default_rng(0).standard_normal((TOPICS, 384)).astype(np.float32)
    dice = np.random.default_rng(seed + 1)
    noise = dice.standard_normal((amount, 384)).astype(np.float32)
    mixed = topics[dice.integers(TOPICS, size=amount)] + 0.5 * noise
    unit: Vectors = (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _timed(size: int, rooms: list[int]) -> dict[str, Any]:
    vectors = _vectors(10**9, PROBES + 20)
    said = [ComparedText(sentence(10**6 + number), "semantic") for number in range(PROBES + 20)]

    def ask(number: int) -> object:
        return probe(said[number], vectors[number], groups=frozenset({rooms[number % 3]}))

    for number in range(PROBES, PROBES + 20):  # warm
        ask(number)
    times = _times(ask)
    rows = list(Memory.objects.select_related("group").order_by("key")[:PROBE_LIMIT])
    comparing = _times(lambda number: compared(said[number], [(row, 0.8) for row in rows]))
    later = _times(
        lambda number: later_nears(said[number], vectors[number], since=size, group=rooms[0], model=MODEL)
    )
    return {
        "p50_ms": round(median(times), 2),
        "p95_ms": round(quantiles(times, n=20)[-1], 2),
        f"comparing_{PROBE_LIMIT}_p50_ms": round(median(comparing), 2),
        "inside_the_transaction_p50_ms": round(median(later), 2),
    }


def _times(call: Callable[[int], object]) -> list[float]:
    times = []
    for number in range(PROBES):
        began = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - began) * 1000)
    return times


if __name__ == "__main__":
    main()
