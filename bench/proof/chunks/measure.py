"""The measurement behind `chunk_size` of memories_vec: many small groups against one large one, per chunk size.

vec0 gives each group whole chunks, so large chunks waste the file on small groups, and small chunks cost time in large
groups. Every size is measured side by side with the size in use, query by query, so that a busy machine moves both.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def compare(
    chunk_size: int, layout: Layout, folder: Path, *, progress: Callable[[], None] = lambda: None
) -> Costs:
    """Fill two tables alike, one with `chunk_size`, one with the size in use, and time the same queries in turn.

    Query times are CPU ms, the median. `folder` holds the two files while it runs.
    """
    vectors = unit_vectors(layout.rows)
    with (
        _filled(folder / "other.db", chunk_size, layout, vectors) as other,
        _filled(folder / "in-use.db", size_in_use(), layout, vectors) as in_use,
    ):
        progress()
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the costs of each chunk size; `python -m bench.proof.chunks.measure [SIZE ...]`."""
    parser = argparse.ArgumentParser(prog="python -m bench.proof.chunks.measure", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=CHUNK_SIZES, metavar="SIZE")
    sizes = parser.parse_args(arguments).sizes
    with TemporaryDirectory() as folder:
        for size in sizes:
            small = compare(size, MANY_SMALL, Path(folder))
            large = compare(size, ONE_LARGE, Path(folder))
            print(f"{size:5}  1000 × 10: {small}  1 × 50,000: {large}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
