"""Brings rows into the store that LOCI_HOME names and times it: `python -m bench.imports.work KIND SIZE FOLDER`.

Prints JSON: CPU and clock seconds, the rate of each tenth of the rows by CPU time, and the longest write lock. Making
the texts and vectors is not counted.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import django

django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py

# Only after Django is set up can these be imported.
from django.conf import settings  # noqa: E402
from django.db import connection  # noqa: E402

from access.audit.verify import is_log_whole  # noqa: E402
from access.tokens import operator  # noqa: E402
from bench.speed.store import mixed_vectors, seed_vectors  # noqa: E402
from bench.speed.texts import load_vocabulary, make_texts  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.embedding.folder import model_folder  # noqa: E402
from memories.models import Memory  # noqa: E402
from memories.search.base import search_index  # noqa: E402
from memories.store.bulk import store_many  # noqa: E402
from sources.exporting import export  # noqa: E402
from sources.importing.formats.exports import restore_export  # noqa: E402
from sources.importing.formats.texts import import_lines  # noqa: E402
from sources.importing.importer import LineRules  # noqa: E402

ROWS_AT_ONCE = 5000
SEEDS, EXPORT, TEXTS = "seeds.npy", "export.jsonl", "texts.jsonl"
GROUP = "main"


@dataclass
class Clock:
    """Takes the time whenever rows are done; `marks` has pairs of rows done and CPU seconds so far."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    marks: list[tuple[int, float]] = field(default_factory=lambda: [(0, 0.0)])

    def run(self, call: Callable[[Callable[[int], object]], object], *, before: int = 0) -> None:
        """Run an import that reports how many rows are done, after `before` ones."""
        cpu, wall = time.process_time(), time.perf_counter()
        spent = self.cpu_s

        def progress(done: int) -> None:
            self.marks.append((before + done, spent + time.process_time() - cpu))

        call(progress)
        self.cpu_s += time.process_time() - cpu
        self.wall_s += time.perf_counter() - wall

    def tenths(self, first: int, last: int) -> list[float]:
        """The CPU seconds of each tenth of what lies between two numbers of rows."""
        edges = [self._at(first + (last - first) * tenth / 10) for tenth in range(11)]
        return [end - start for start, end in pairwise(edges)]

    def _at(self, rows: float) -> float:
        for (before, start), (after, end) in pairwise(self.marks):
            if before <= rows <= after and after > before:
                return start + (end - start) * (rows - before) / (after - before)
        return self.marks[-1][1]


@contextmanager
def _lock_times() -> Iterator[list[float]]:
    """Note how long each transaction kept the write lock, in seconds."""
    held: list[float] = []
    connection.ensure_connection()
    wrapper: Any = connection
    start, commit, rollback = wrapper._start_transaction_under_autocommit, wrapper._commit, wrapper._rollback
    began = [0.0]

    def starting() -> None:
        start()
        began[0] = time.perf_counter()

    def ending(end: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            end()
            held.append(time.perf_counter() - began[0])

        return run

    wrapper._start_transaction_under_autocommit = starting
    wrapper._commit, wrapper._rollback = ending(commit), ending(rollback)
    yield held
    del wrapper._start_transaction_under_autocommit, wrapper._commit, wrapper._rollback


def main() -> None:
    """Run one kind and print what it took."""
    kind, size, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    get_encoder(timeout_s=60)
    gc.freeze()  # as `manage.py import` does
    with _lock_times() as locks:
        clock, tenths = {"vectors": _vectors, "export": _export, "texts": _texts}[kind](size, folder)
    rows = Memory.objects.count()
    faults = search_index().find_errors()
    if rows != size or faults or not is_log_whole():
        raise SystemExit(f"{rows:,} rows of {size:,}; {faults or 'indexes agree'}")
    if kind == "vectors":
        with (folder / EXPORT).open("w", encoding="utf-8") as out:
            export(operator(), out, vectors=True)
    print(
        json.dumps(
            {
                "kind": kind,
                "rows": size,
                "cpu_s": clock.cpu_s,
                "wall_s": clock.wall_s,
                "tenths": [size / 10 / seconds for seconds in tenths],
                "lock_ms": 1000 * max(locks, default=0.0),
            }
        )
    )


def _vectors(size: int, folder: Path) -> tuple[Clock, list[float]]:
    vocabulary = load_vocabulary(model_folder(settings.LOCI.home).tokenizer)
    seeds, clock = seed_vectors(vocabulary, folder / SEEDS), Clock()
    for start in range(0, size, ROWS_AT_ONCE):
        texts = make_texts(vocabulary, min(ROWS_AT_ONCE, size - start), seed=start + 1)
        vectors = mixed_vectors([topic for _, topic in texts], seeds, seed=start)
        drafts = [
            Draft(text, group=GROUP, scope="group", source="bench", source_ref=f"{start + at}")
            for at, (text, _) in enumerate(texts)
        ]
        clock.run(
            lambda progress, d=drafts, v=vectors: store_many(operator(), d, vectors=v, on_progress=progress),  # type: ignore[misc]
            before=start,
        )
    return clock, clock.tenths(0, size)


def _export(size: int, folder: Path) -> tuple[Clock, list[float]]:
    clock = Clock()
    clock.run(lambda progress: restore_export(operator(), folder / EXPORT, on_progress=progress))
    kinds = [line[9:14] for line in (folder / EXPORT).open(encoding="utf-8")]
    memories, log = kinds.index("memor"), kinds.index('log",')
    parts = clock.tenths(memories, memories + size), clock.tenths(log, len(kinds) - 1)
    return clock, [sum(tenth) for tenth in zip(*parts, strict=True)]


def _texts(size: int, folder: Path) -> tuple[Clock, list[float]]:
    vocabulary, clock = load_vocabulary(model_folder(settings.LOCI.home).tokenizer), Clock()
    with (folder / TEXTS).open("w", encoding="utf-8") as out:
        for number, (text, _) in enumerate(make_texts(vocabulary, size, seed=7)):
            out.write(json.dumps({"id": str(number), "text": text}) + "\n")
    rules = LineRules(source="bench", group=GROUP)
    clock.run(lambda progress: import_lines(operator(), folder / TEXTS, rules, on_progress=progress))
    return clock, clock.tenths(0, size)


if __name__ == "__main__":
    main()
