"""What compaction, promotion and findings cost in one group: seconds, the longest write transaction, memory.

The events are made up and their vectors are synthetic (a fixed random vector per word, summed), so that twenty thousand
are there in seconds and the encoder's own time (a few ms per summary) is left out; with `--model` the real one embeds
everything. The database, the indexes and the steps are the real ones.

    python -m bench.cycle --memories 5000 10000 20000
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from bench.sizes import size

if TYPE_CHECKING:
    from access.models import Group
    from maintenance.cycle.step import Step

NOW = datetime(2026, 1, 5, tzinfo=UTC)
WEEKS = 52
TOPIC_EVENTS = 10  # of a topic in a week
SINGLE_SHARE = 0.2  # events that belong to no topic
REPEATED_SHARE = 0.02  # events that say what another one said on another day
VOCABULARY = 6_000
SEED = 1

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Cost:
    """What one step took in a group of so many memories; `second_s` is a second pass, which finds nothing.

    `cpu_s` is the processor's time, which a busy machine changes less than the clock's.
    """

    memories: int
    step: str
    seconds: float
    cpu_s: float
    batches: int
    longest_write_ms: float
    p95_write_ms: float
    second_s: float
    counts: dict[str, int]
    peak_mb: float


class WordVectors:
    """Stands in for the model: a text's vector is the sum of its words', each drawn once from its own seed."""

    model_id = "words@bench"
    max_tokens = 256

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors, float32[n, 384], of unit length."""
        rows = [sum((_word_vector(word) for word in text.split()), np.zeros(384)) for text in texts]
        return np.stack([row / (np.linalg.norm(row) or 1) for row in rows]).astype(np.float32)

    def encode_query(self, text: str) -> Vectors:
        """The vector, float32[384]."""
        vector: Vectors = self.encode([text])[0]
        return vector

    def question_vector(self, text: str) -> Future[Vectors]:
        """What encode_query() does."""
        from memories.embedding.query_cache import resolved_future  # noqa: PLC0415 - Django is set up only then

        return resolved_future(self.encode_query(text))

    def count_tokens(self, text: str) -> int:
        """The number of words."""
        return len(text.split())

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """count_tokens() of each text."""
        return [self.count_tokens(text) for text in texts]

    def split_many(self, texts: Sequence[str], *, reserves: Sequence[int]) -> list[list[Any]]:
        """Each text's windows."""
        return [self.split(text) for text in texts]

    def split(self, text: str, *, reserve: int = 0, overlap: int = 32) -> list[Any]:
        """Windows of at most 160 words, about what 256 tokens hold."""
        from memories.embedding import Window  # noqa: PLC0415 - Django is set up only then

        words = text.split(" ")
        spans, start = [], 0
        for at in range(0, len(words), 160):
            part = " ".join(words[at : at + 160])
            spans.append(Window(start, start + len(part), len(part.split())))
            start += len(part) + 1
        return spans


@lru_cache(maxsize=20_000)
def _word_vector(word: str) -> NDArray[np.float64]:
    return np.random.default_rng(zlib.crc32(word.encode())).normal(size=384)


def events(count: int) -> Iterator[tuple[str, datetime]]:
    """The texts of a simulated week with their days: topics of ten, single events, and repetitions on another day."""
    rng = np.random.default_rng(SEED)
    names = [f"w{at:04d}" for at in range(VOCABULARY)]
    again = [" ".join(rng.choice(names, 10)) for _ in range(max(1, int(count * REPEATED_SHARE / 5)))]
    each = count // WEEKS
    for at in range(count):
        week, place = min(at // each, WEEKS - 1), at % each
        day = NOW - timedelta(weeks=WEEKS + 5 - week) + timedelta(minutes=10 * place % (7 * 24 * 60 // 10))
        kind = rng.random()
        if kind < REPEATED_SHARE:
            yield again[int(rng.integers(len(again)))], day
        elif kind < SINGLE_SHARE:
            yield " ".join(rng.choice(names, 10)), day
        else:
            topic = np.random.default_rng([SEED, week, place // TOPIC_EVENTS]).choice(names, 7, replace=False)
            yield " ".join([*rng.permutation(topic)[:6], *rng.choice(names, 4)]), day


def fill(group: "Group", count: int, encoder: Any) -> None:
    """Write the events past the write path, with their pieces; triggers fill the indexes."""
    from memories.language.cleaning import content_hash  # noqa: PLC0415 - as above
    from memories.language.dress import fold_hash  # noqa: PLC0415 - as above
    from memories.models import Memory, Piece  # noqa: PLC0415 - as above
    from memories.store.pieces import claim_index, embedded_text  # noqa: PLC0415 - as above
    from memories.store.search_columns import filter_tokens  # noqa: PLC0415 - Django is set up only then

    claim_index(encoder.model_id)
    made = list(events(count))
    for start in tqdm(range(0, count, 1000), unit="k", desc=f"{count:,} memories"):
        part = made[start : start + 1000]
        rows = [
            Memory(
                content=text, content_hash=content_hash(text), fold_hash=fold_hash(text), type="episodic",
                scope="group", group=group, valid_from=day, created_at=day, updated_at=day,
            )
            for text, day in part
        ]  # fmt: skip
        for row in rows:
            row.filter = filter_tokens(row)
        Memory.objects.bulk_create(rows)
        vectors = encoder.encode([embedded_text(text, day) for text, day in part])
        Piece.objects.bulk_create(
            Piece(
                memory=row, ordinal=0, start=0, end=len(row.content), tokens=12,
                embedding=vector.astype("<f4").tobytes(), model=encoder.model_id,
            )
            for row, vector in zip(rows, vectors, strict=True)
        )  # fmt: skip


def measure(step: "Step", group: "Group", count: int, marks: dict[str, Any]) -> Cost:
    """Drive a step to its end, then once more."""
    started, worked = time.perf_counter(), time.process_time()
    counts, locks = _driven(step, group, marks)
    seconds, cpu_s = time.perf_counter() - started, time.process_time() - worked
    started = time.perf_counter()
    again, _ = _driven(step, group, marks)
    if again:
        raise SystemExit(f"a second pass of {step.name} changed {again}")
    return Cost(
        memories=count,
        step=step.name,
        seconds=round(seconds, 2),
        cpu_s=round(cpu_s, 2),
        batches=len(locks),
        longest_write_ms=round(max(locks, default=0) * 1000, 1),
        p95_write_ms=round(float(np.percentile(locks, 95)) * 1000, 1) if locks else 0,
        second_s=round(time.perf_counter() - started, 2),
        counts=dict(counts),
        peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    )


def _driven(step: "Step", group: "Group", marks: dict[str, Any]) -> tuple[Counter[str], list[float]]:
    from django.conf import settings  # noqa: PLC0415 - Django is set up only then
    from django.db import transaction  # noqa: PLC0415 - as above

    from access.tokens import operator  # noqa: PLC0415 - as above
    from maintenance.cycle.recorder import Recorder  # noqa: PLC0415 - as above
    from maintenance.cycle.step import Turn  # noqa: PLC0415 - as above
    from maintenance.models import Run  # noqa: PLC0415 - as above

    run = Run.objects.create(kind="cycle", actor="bench", now=NOW)
    actor = replace(operator(), run=run.id)
    turn = Turn(actor, group, NOW, settings.LOCI.maintenance, marks.get(step.name))
    cursor, counts, locks = None, Counter[str](), list[float]()
    while (batch := step.next_batch(turn, cursor)) is not None:
        locked = time.perf_counter()
        with transaction.atomic():
            recorder = Recorder(actor, run, step.name)
            counts.update(dict(batch.write(recorder)))
            recorder.flush()
            run.cursor = {"at": batch.cursor}
            run.save(update_fields=["cursor"])
        locks.append(time.perf_counter() - locked)
        cursor = batch.cursor
        marks[step.name] = batch.mark if batch.mark is not None else marks.get(step.name)
    return +counts, locks


def measure_group(count: int, *, with_model: bool) -> list[Cost]:
    """Measure the three steps in a new store; in a process of its own, so that the peak of memory is its own."""
    import django  # noqa: PLC0415 - the home's place is set before

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415 - as above

    from access.groups import create_group  # noqa: PLC0415 - as above
    from access.tokens import operator  # noqa: PLC0415 - as above
    from maintenance.cycle import compaction as compacting  # noqa: PLC0415 - as above
    from maintenance.cycle.find_pairs import FindPairs  # noqa: PLC0415 - as above
    from maintenance.cycle.promotion import Promote  # noqa: PLC0415 - as above
    from memories.embedding import get_encoder  # noqa: PLC0415 - as above

    call_command("migrate", verbosity=0)
    group = create_group(operator(), "bench")
    encoder: Any = get_encoder(timeout_s=60) if with_model else WordVectors()
    fill(group, count, encoder)
    marks: dict[str, Any] = {}
    with patch.object(compacting, "available_encoder", lambda: encoder):
        return [measure(step, group, count, marks) for step in (compacting.Compact(), Promote(), FindPairs())]


def main() -> None:
    """Measure each size in a process and a home of its own; print a table, and JSON with --json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=size, nargs="+", default=[5_000, 10_000, 20_000])
    parser.add_argument(
        "--model", action="store_true", help="embed with the real model (needs LOCI_MODEL_DIR)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps([asdict(cost) for cost in measure_group(asked.one, with_model=asked.model)]))
        return
    if not asked.json:
        print(_HEAD, flush=True)
    costs = []
    for count in asked.memories:
        costs += _in_process(count, with_model=asked.model)
        if not asked.json:
            print("\n".join(map(_row, costs[-3:])), flush=True)
    if asked.json:
        print(json.dumps(costs, indent=1))


def _in_process(count: int, *, with_model: bool) -> list[dict[str, Any]]:
    with TemporaryDirectory(prefix="loci-bench-") as home:
        env = os.environ | {"LOCI_HOME": home, "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
        command = [sys.executable, "-m", "bench.cycle", "--one", str(count), *(["--model"] * with_model)]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True, text=True)
    costs: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return costs


_HEAD = (
    "| memories | step | seconds | processor s | ms per memory | second pass s | batches | write ms p95 | longest "
    "| peak MB | counts |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def _row(c: dict[str, Any]) -> str:
    each = 1000 * c["cpu_s"] / c["memories"]
    counts = ", ".join(f"{count:,} {name}" for name, count in c["counts"].items())
    return (
        f"| {c['memories']:,} | {c['step']} | {c['seconds']} | {c['cpu_s']} | {each:.2f} | {c['second_s']} "
        f"| {c['batches']:,} | {c['p95_write_ms']} | {c['longest_write_ms']} | {c['peak_mb']} | {counts} |"
    )


if __name__ == "__main__":
    main()
