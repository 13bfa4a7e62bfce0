"""Proof: the chunk size of memories_vec is the right one for many small groups and for one large one.

vec0 gives each group whole chunks, so large chunks waste the file on small groups, and small chunks cost time in large
groups. Every size is measured side by side with the size in use, query by query, so that a busy machine moves both.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.proof.proof import Finding, Workshop
from memories.search.schema import statements
from storage.sqlite.driver import DRIVER, vec0_path

CHUNK_SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
DIMENSIONS = 384
NEAREST = 50
SEED = 1
_SIZE = re.compile(r"chunk_size=(\d+)")
# What recall sends for one group: its own rows and the global ones, shown and not yet ended.
_QUERY = """
SELECT piece, distance FROM memories_vec WHERE embedding MATCH vec_quantize_int8(?, 'unit') AND k = ?
AND room IN (0, ?) AND standing = 2 AND until > 1 ORDER BY distance
"""
_INSERT = (
    "INSERT INTO memories_vec (piece, room, embedding, standing, until, type)"
    " VALUES (?, ?, vec_quantize_int8(?, 'unit'), 2, ?, 'semantic')"
)
FOREVER = 2**53

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Layout:
    """How many groups there are and how many rows each has; `queries` are timed."""

    groups: int
    rows_each: int
    queries: int

    @property
    def rows(self) -> int:
        """All rows."""
        return self.groups * self.rows_each


@dataclass(frozen=True)
class Costs:
    """What one chunk size costs in one layout; the ratios are to the size in use, measured in the same run."""

    file_mb: float
    query_ms: float
    file_ratio: float
    query_ratio: float


MANY_SMALL = Layout(groups=1000, rows_each=10, queries=60)
ONE_LARGE = Layout(groups=1, rows_each=50_000, queries=15)


def table_sql() -> str:
    """The statement that creates memories_vec, as Loci does."""
    return next(statement.sql for statement in statements("sqlite") if statement.name == "memories_vec")


def size_in_use() -> int:
    """The chunk size of the product's own table."""
    found = _SIZE.search(table_sql())
    assert found is not None, "the table names its chunk size"
    return int(found.group(1))


def compare(chunk_size: int, layout: Layout, folder: Path) -> Costs:
    """Fill two tables alike, one with `chunk_size`, one with the size in use, and time the same queries in turn.

    Query times are CPU ms, the median. `folder` holds the two files while it runs.
    """
    vectors = unit_vectors(layout.rows)
    with (
        _filled(folder / "other.db", chunk_size, layout, vectors) as other,
        _filled(folder / "in-use.db", size_in_use(), layout, vectors) as in_use,
    ):
        times: tuple[list[float], list[float]] = ([], [])
        rng = np.random.default_rng(SEED)
        for _ in range(layout.queries):
            group = 1 + int(rng.integers(layout.groups))
            wanted = vectors[rng.integers(len(vectors))].tobytes()
            for connection, spent in zip((other, in_use), times, strict=True):
                spent.append(_timed(connection, wanted, group))
        sizes = [(folder / name).stat().st_size / 1e6 for name in ("other.db", "in-use.db")]
    mine, base = (median(spent) for spent in times)
    return Costs(round(sizes[0], 1), round(mine, 2), round(sizes[0] / sizes[1], 2), round(mine / base, 2))


def unit_vectors(count: int) -> Vectors:
    """Seeded random vectors of unit length, float32[count, 384]; a distance costs the same for all."""
    vectors = np.random.default_rng(SEED).standard_normal((count, DIMENSIONS)).astype(np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


@contextmanager
def _filled(path: Path, chunk_size: int, layout: Layout, vectors: Vectors) -> Iterator[Any]:
    """Open a connection to a new file filled with the rows, group by group; the file is deleted at the end."""
    assert DRIVER.module is not None, DRIVER.problem
    path.unlink(missing_ok=True)
    connection = DRIVER.module.connect(str(path))
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(vec0_path()))
        connection.execute(_SIZE.sub(f"chunk_size={chunk_size}", table_sql()))
        with connection:
            connection.executemany(
                _INSERT,
                (
                    (row + 1, 1 + row // layout.rows_each, vectors[row].tobytes(), FOREVER)
                    for row in range(layout.rows)
                ),
            )
        yield connection
    finally:
        connection.close()
        path.unlink(missing_ok=True)


def _timed(connection: Any, wanted: bytes, group: int) -> float:
    start = time.thread_time()
    connection.execute(_QUERY, (wanted, NEAREST, group)).fetchall()
    return (time.thread_time() - start) * 1e3


# Another size is better when one of its four costs is this much lower and none is higher than NO_WORSE.
BETTER, NO_WORSE = 0.8, 1.05


def prove_chunks(workshop: Workshop) -> Finding:
    """Measure every size in both layouts beside the size in use."""
    layouts: dict[str, Layout] = workshop.pick(
        {"1,000 groups × 10": MANY_SMALL, "1 group × 50,000": ONE_LARGE},
        {"100 groups × 10": Layout(100, 10, 10), "1 group × 5,000": Layout(1, 5000, 5)},
    )

    def measure(size: int, layout: Layout) -> dict[str, float]:
        return asdict(compare(size, layout, workshop.folder))

    found = workshop.steps(
        {
            f"{size}, {name}": partial(measure, size, layout)
            for size in CHUNK_SIZES
            for name, layout in layouts.items()
        }
    )
    numbers = {
        f"chunk_size {step}": (
            f"{costs['file_mb']:,.1f} MB (× {costs['file_ratio']:.2f}), "
            f"{costs['query_ms']:.2f} ms (× {costs['query_ratio']:.2f})"
        )
        for step, costs in found.items()
    }
    return Finding(numbers, tuple(_faults(found)))


def _faults(found: dict[str, Any]) -> Iterator[str]:
    """Name the sizes that would be better than the one in use."""
    for size in CHUNK_SIZES:
        costs = [cost for step, cost in found.items() if step.startswith(f"{size},")]
        ratios = [cost[name] for cost in costs for name in ("file_ratio", "query_ratio")]
        if size != size_in_use() and max(ratios) <= NO_WORSE and min(ratios) <= BETTER:
            yield f"chunk_size {size} is better than {size_in_use()}: {costs}"
