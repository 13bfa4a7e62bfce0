"""Fills the store that LOCI_HOME names and times what it is told: `python -m bench.speed.databases.work SIZE SEED_VECTORS`.

Each line on stdin is an order in JSON, each line on stdout its answer: times in ms, rates per second. Two of these
processes, one for each database, get their orders in turn, so that both meet the same machine.
"""

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
import numpy as np

django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py

# Only after Django is set up can these be imported.
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, connections  # noqa: E402

from access.groups import create_group  # noqa: E402
from access.tokens import operator  # noqa: E402
from bench.speed.databases.filling import fill_by_copy  # noqa: E402
from bench.speed.databases.groups import sizes_of_groups  # noqa: E402
from bench.speed.store import ROWS_AT_ONCE, Vectors, mixed_vectors, seed_vectors, write  # noqa: E402
from bench.speed.texts import TOPICS, Vocabulary, load_vocabulary, make_question, make_texts  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.embedding.folder import model_folder  # noqa: E402
from memories.models import IndexState  # noqa: E402
from memories.recall import RecallRequest, recall  # noqa: E402
from memories.search.base import search_index  # noqa: E402
from memories.search.postgresql.vectors import vector_text  # noqa: E402
from memories.store import store  # noqa: E402
from memories.store.bulk import store_many  # noqa: E402
from storage.compiled_queries import fetch  # noqa: E402

QUESTIONS = 400
NEAREST = 10
NEAR = "SELECT memory, h <=> %s::halfvec(384) FROM bench_near WHERE room = 1 ORDER BY (h <=> %s::halfvec(384)){exact} LIMIT %s"
BUILT = "databases.json"
Answer = dict[str, Any]


class Bench:
    """A filled store and what is asked of it."""

    def __init__(self, size: int, seed_file: Path) -> None:
        self.size = size
        self.vocabulary: Vocabulary = load_vocabulary(model_folder(settings.LOCI.home).tokenizer)
        self.encoder = get_encoder(timeout_s=60)
        self.seeds: list[Vectors] = seed_vectors(self.vocabulary, seed_file)
        self.groups = sizes_of_groups(size)
        self.actor = operator()
        self.dice = random.Random()

    def fill(self) -> Answer:
        """Write the memories with ready vectors, then what the maintenance job makes; nothing where that was done."""
        file = settings.LOCI.home / BUILT
        if file.exists():
            self.questions: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
            return {"rows/s": None}
        call_command("migrate", verbosity=0)
        IndexState.objects.get_or_create(name="model", defaults={"value": self.encoder.model_id})
        keys = {name: create_group(self.actor, name).key for name in self.groups}
        texts = make_texts(self.vocabulary, self.size, seed=self.size)
        group_keys = [keys[name] for name, count in self.groups.items() for _ in range(count)]
        began = time.perf_counter()
        if connection.vendor == "postgresql":
            model = self.encoder.model_id
            fill_by_copy(texts, group_keys, self.seeds, model=model, report=self._report)
        else:
            write(texts, group_keys, self.seeds)
        filled = time.perf_counter()
        search_index().tend()
        tended = time.perf_counter()
        self.questions = self._questions(texts)
        file.write_text(json.dumps(self.questions), encoding="utf-8")
        return {"rows/s": round(self.size / (filled - began)), "indexes, s": round(tended - filled, 1)}

    def _report(self, step: str) -> None:
        print(f"{time.perf_counter():.0f} s: {step}", file=sys.stderr, flush=True)

    def _questions(self, texts: list[tuple[str, int]]) -> dict[str, list[str]]:
        dice, at, found = random.Random(4), 0, dict[str, list[str]]()
        for name, count in self.groups.items():
            own = [text for text, _ in texts[at : at + count]]
            at += count
            if not name.startswith("small") or name == "small-0":
                found[name] = [
                    make_question(self.vocabulary, dice, dice.choice(own)) for _ in range(QUESTIONS)
                ]
        return found

    def recall(self, group: str, start: int, count: int) -> Answer:
        """Ask questions that the process has not been asked."""
        return {
            "ms": [
                timed(lambda q=question: recall(self.actor, RecallRequest(q, group=group, is_trial=True)))
                for question in self.questions[group][start : start + count]
            ]
        }

    def store(self, group: str, count: int) -> Answer:
        """Store new texts one after another."""
        return {
            "ms": [
                timed(lambda t=text: store(self.actor, self._draft(t, group))) for text in self._fresh(count)
            ]
        }

    def clients(self, count: int, seconds: float) -> Answer:
        """Let several threads store new texts, each in a group of its own."""
        groups = [name for name in self.groups if name.startswith("small")][:count]
        texts = [self._fresh(400) for _ in groups]
        until = time.perf_counter() + seconds
        done = [0] * len(groups)

        def work(at: int) -> None:
            for text in texts[at]:
                if time.perf_counter() > until:
                    break
                store(self.actor, self._draft(text, groups[at]))
                done[at] += 1
            connections.close_all()

        threads = [threading.Thread(target=work, args=[at]) for at in range(len(groups))]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"rate": sum(done) / (time.perf_counter() - began)}

    def bring(self, rows: int) -> Answer:
        """Import new texts, with embedding."""
        drafts = [self._draft(text, "small-1") for text in self._fresh(rows)]
        began = time.perf_counter()
        store_many(self.actor, drafts)
        return {"rate": rows / (time.perf_counter() - began)}

    def load_near(self, rows: int) -> Answer:
        """Fill a table like piece_search with one room of this many vectors; without texts that takes seconds."""
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS bench_near")
            cursor.execute("CREATE TABLE bench_near (LIKE piece_search INCLUDING ALL)")
            with cursor.copy(
                "COPY bench_near (piece, memory, until, room, standing, type, h) FROM STDIN"
            ) as copy:
                for start in range(0, rows, ROWS_AT_ONCE):
                    topics = [self.dice.randrange(TOPICS) for _ in range(min(ROWS_AT_ONCE, rows - start))]
                    for at, vector in enumerate(mixed_vectors(topics, self.seeds, seed=start), start):
                        copy.write_row((at, at, 2**60, 1, 2, "semantic", vector_text(vector)))
            cursor.execute("ANALYZE bench_near")
        return {"rows": rows}

    def near(self, m: int, built: int, searched: int, count: int) -> Answer:
        """Compare an approximate index with exact search: the share of the nearest that it finds, and both times."""
        with connection.cursor() as cursor:
            cursor.execute("SET maintenance_work_mem = '512MB'")
            began = time.perf_counter()
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS bench_near_{m}_{built} ON bench_near USING hnsw (h halfvec_cosine_ops)"
                f" WITH (m = {m}, ef_construction = {built}) WHERE room = 1"
            )
            made_s = time.perf_counter() - began
            cursor.execute(f"SET hnsw.ef_search = {searched}")
        topics = [self.dice.randrange(TOPICS) for _ in range(count)]
        found, fast, slow = list[float](), list[float](), list[float]()
        for vector in mixed_vectors(topics, self.seeds, seed=-1 % 2**32):
            text = vector_text(vector)
            began = time.perf_counter()
            near = fetch(NEAR.format(exact=""), [text, text, NEAREST])
            fast.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            exact = fetch(NEAR.format(exact=" + 0"), [text, text, NEAREST])
            slow.append((time.perf_counter() - began) * 1000)
            # Distances, not keys: equal ones may come in any order.
            furthest = max(distance for _, distance in exact)
            found.append(sum(distance <= furthest + 1e-6 for _, distance in near) / NEAREST)
        return {"recall": float(np.mean(found)), "ms": fast, "exact_ms": slow, "made_s": made_s}

    def drop(self, index: str) -> Answer:
        """Drop an index of near()."""
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {index}")
        return {}

    def _fresh(self, count: int) -> list[str]:
        made = make_texts(self.vocabulary, count, seed=self.dice.getrandbits(40))
        return [f"{text} Noted as {self.dice.random():.12f}." for text, _ in made]

    def _draft(self, text: str, group: str) -> Draft:
        return Draft(text, group=group, scope="group")


def timed(call: Callable[[], object]) -> float:
    """How long a call takes, in ms."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Do as told until stdin ends."""
    bench = Bench(int(sys.argv[1]), Path(sys.argv[2]))
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps(getattr(bench, order.pop("do"))(**order)), flush=True)


if __name__ == "__main__":
    main()
