"""Vectors in memory: each piece's signs (48 bytes), what a search filters by, and while they fit the vectors themselves,
in half precision (768 bytes), which moves a cosine by less than 0.0001.

A search marks the rows that a Visibility may allow, and chooses those to compare exactly in two steps: the first thousand
by how many signs they share with the question, of these the first hundred or so by the question's own numbers against
their signs. The marks allow a little more than the Visibility (times are in whole milliseconds; tags, confidence and the past
are not here), never less: whoever asks checks the rows themselves.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from access.visibility import Visibility
from memories.embedding import DIMENSIONS
from memories.queries.visibility import has_type
from memories.search.in_memory.filter_cache import AllowedMask, FilterCache, milliseconds
from memories.search.in_memory.result_cache import ResultCache
from memories.search.in_memory.table_rows import MemoryOrder, best_per_memory
from memories.types import Scope, State, Trust, Type

WORDS = DIMENSIONS // 64
# Signs only choose whom to compare: with these numbers the true ten best of 41,000 real vectors are among them in 99.95 of
# 100 places, the true thirty in 98.6 (docs/speed.md).
LEAST_ALIKE = 1000  # rows that share the most signs
ALIKE_PER_WANTED = 8
SAMPLED = 64  # each 64th row says how many signs the most alike may differ in
MARGIN = 1.3  # as many as wanted, and these more, since a sample errs
FURTHER_SIGNS = 4  # allowed to differ where too few are found
LEAST_COMPARED = 120  # of those, the rows that are compared exactly
COMPARED_PER_WANTED = 1.6
BLOCK = 16_384  # rows at once: what is worked on stays in the processor's cache
DEAD = 255  # the kind of a row that is gone
GROWTH = 1.25
FOREVER = np.iinfo(np.int64).max
FAR = DIMENSIONS + 1  # more signs than can differ

Vectors = NDArray[np.float32]
Halves = NDArray[np.float16]
Keys = NDArray[np.int64]
Reader = Callable[[Keys], Vectors]  # gives the vectors of pieces in their order, zeros for one that is gone
NO_KEYS: Keys = np.zeros(0, dtype=np.int64)
_KINDS = ((s, t, k) for s in State.values for t in Trust.values for k in Type.values)
_KIND = {names: code for code, names in enumerate(_KINDS)}


class PieceRow(NamedTuple):
    """What is held of a piece. Times are ms since 1970: `until` it counts, `at` it happened or else was stored."""

    piece: int
    memory: int
    group: int
    scope: str
    state: str
    trust: str
    type: str
    until: int
    at: int
    embedding: bytes


@dataclass(frozen=True)
class Nearest:
    """Pieces with their memories and cosines, best first. `is_all`: nothing else can be allowed."""

    pieces: Keys
    memories: Keys
    cosines: Vectors
    is_all: bool


@dataclass(frozen=True)
class Columns:
    """Rows by column, sorted by piece. Only the first so many that the table counts are there."""

    piece: Keys
    memory: Keys
    group: Keys
    is_global: NDArray[np.bool_]
    kind: NDArray[np.uint8]
    until: Keys
    at: Keys
    signs: NDArray[np.uint64]  # [WORDS, rows]: one word of all rows lies together
    exact: Halves | None


@dataclass
class TableSnapshot:
    """The columns that are in use and how many rows of them: what a reader takes once and keeps to."""

    columns: Columns
    count: int


@dataclass(frozen=True)
class AllowedRows:
    """The rows that a Visibility may allow, among those that were there when it was asked."""

    part: TableSnapshot
    rows: Keys
    in_rooms: int  # rows of the rooms, whatever else is asked of them

    @property
    def share(self) -> float:
        """The share (0–1) of all rows; 1 of none."""
        return len(self.rows) / self.part.count if self.part.count else 1.0


class VectorTable:
    """The pieces of one database. One thread changes it at a time; readers need no lock.

    New rows are written behind the last and counted when they are there; others are changed in place, value by value.
    A row that is half changed may be found or not, and the check of the rows themselves settles it.
    """

    def __init__(self, *, exact_mb: int = 96, expected: int = 0) -> None:
        self._exact_rows = exact_mb * 1024 * 1024 // (DIMENSIONS * 2)
        room = int(expected * GROWTH)
        self._part = TableSnapshot(_empty(room, has_exact=0 < self._exact_rows >= expected), 0)
        self._marked = FilterCache[AllowedRows]()
        self._order = MemoryOrder()
        self.kept_hits = ResultCache()
        self.gone = 0

    def __len__(self) -> int:
        return self._part.count

    @property
    def has_exact(self) -> bool:
        """True while the vectors themselves are in memory."""
        return self._part.columns.exact is not None

    def put(self, rows: Sequence[PieceRow]) -> None:
        """Add pieces, or change those that are there."""
        if not rows:
            return
        with self._marked.changing():
            self._put(rows)

    def _put(self, rows: Sequence[PieceRow]) -> None:
        columns = _columns_of(sorted(rows), has_exact=self.has_exact)
        at, is_there = self._places(columns.piece)
        if is_there.any():
            self._change(columns, at, is_there)
        if not is_there.all():
            self._append(_picked(columns, np.flatnonzero(~is_there)))

    def remove(self, pieces: Iterable[int]) -> None:
        """Take pieces out; those that are not there are passed over."""
        at, is_there = self._places(np.fromiter(pieces, dtype=np.int64))
        places = at[is_there]
        kind = self._part.columns.kind
        self.gone += int(np.count_nonzero(kind[places] != DEAD))
        with self._marked.changing():
            kind[places] = DEAD

    def allowed(self, v: Visibility) -> "AllowedRows":
        """Mark the rows that the Visibility may allow."""
        return self._marked.of(v, self._allowed)

    def _allowed(self, v: Visibility) -> AllowedMask["AllowedRows"]:
        part = TableSnapshot(self._part.columns, self._part.count)
        rows, in_rooms = _allowed_rows(part.columns, part.count, v)
        return AllowedMask(
            AllowedRows(part, rows, in_rooms), len(rows), int(part.columns.until[rows].min(initial=FOREVER))
        )

    def nearest(self, vector: Vectors, allowed: "AllowedRows", *, wanted: int, read: Reader) -> Nearest:
        """Give the `wanted` pieces nearest by cosine; `read` gives vectors that are not in memory."""
        return self.compared(
            vector, allowed, self.choose(vector, allowed, wanted=wanted), wanted=wanted, read=read
        )

    def choose(self, vector: Vectors, allowed: "AllowedRows", *, wanted: int) -> Keys:
        """Give the rows among which the `wanted` nearest are; asks the memory alone."""
        columns, rows = allowed.part.columns, allowed.rows
        alike = max(LEAST_ALIKE, ALIKE_PER_WANTED * wanted)
        compared = max(LEAST_COMPARED, int(COMPARED_PER_WANTED * wanted))
        chosen = _most_alike(columns, allowed.part.count, rows, vector, least=alike)
        return _likeliest(columns, chosen, vector, most=compared)

    def compared(
        self, vector: Vectors, allowed: "AllowedRows", chosen: Keys, *, wanted: int, read: Reader
    ) -> Nearest:
        """Give the `wanted` nearest of the chosen rows, as nearest() does."""
        columns, rows = allowed.part.columns, allowed.rows
        cosines = _cosines(columns, chosen, vector, read)
        best_first = np.argsort(-cosines, kind="stable")[:wanted]
        best, cosines = chosen[best_first], cosines[best_first]
        return Nearest(columns.piece[best], columns.memory[best], cosines, is_all=len(best) == len(rows))

    def best_cosines(
        self, memories: Collection[int], vector: Vectors, *, without: Keys = NO_KEYS
    ) -> dict[int, float] | None:
        """Give the cosine of each memory's best piece, where it has one that is not among `without`.

        None where the vectors are not in memory.
        """
        part = self._part
        columns = part.columns
        if columns.exact is None:
            return None
        rows = self._order.rows_of(columns.memory, part.count, memories)
        rows = rows[columns.kind[rows] != DEAD]
        if len(without):
            rows = rows[~np.isin(columns.piece[rows], without)]
        return best_per_memory(columns.memory[rows], columns.exact[rows].astype(np.float32) @ vector)

    def _places(self, pieces: Keys) -> tuple[Keys, NDArray[np.bool_]]:
        """Give where each piece stands or would, and whether it is there."""
        held = self._part.columns.piece[: self._part.count]
        at = np.searchsorted(held, pieces)
        is_there = np.zeros(len(pieces), dtype=np.bool_)
        inside = at < len(held)
        is_there[inside] = held[at[inside]] == pieces[inside]
        return at, is_there

    def _change(self, columns: Columns, at: Keys, is_there: NDArray[np.bool_]) -> None:
        own, places = self._part.columns, at[is_there]
        self.gone -= int(np.count_nonzero(own.kind[places] == DEAD))
        for name, values in _arrays(columns):
            target = getattr(own, name)
            if name == "exact":
                target[places] = values[is_there]
            else:
                target[..., places] = values[..., is_there]

    def _append(self, columns: Columns) -> None:
        part, added = self._part, len(columns.piece)
        count = part.count + added
        is_in_order = not part.count or part.columns.piece[part.count - 1] < columns.piece[0]
        keeps_exact = self.has_exact and count <= self._exact_rows
        if is_in_order and count <= len(part.columns.piece) and keeps_exact == self.has_exact:
            _fill(part.columns, slice(part.count, count), columns)
            part.count = count
            return
        grown = _empty(int(count * GROWTH) + 1024, has_exact=keeps_exact)
        _fill(grown, slice(0, part.count), part.columns)
        _fill(grown, slice(part.count, count), columns)
        self._part = TableSnapshot(grown if is_in_order else _sorted(grown, count), count)


def _empty(capacity: int, *, has_exact: bool) -> Columns:
    return Columns(
        piece=np.zeros(capacity, dtype=np.int64),
        memory=np.zeros(capacity, dtype=np.int64),
        group=np.zeros(capacity, dtype=np.int64),
        is_global=np.zeros(capacity, dtype=np.bool_),
        kind=np.full(capacity, DEAD, dtype=np.uint8),
        until=np.zeros(capacity, dtype=np.int64),
        at=np.zeros(capacity, dtype=np.int64),
        signs=np.zeros((WORDS, capacity), dtype=np.uint64),
        exact=np.zeros((capacity, DIMENSIONS), dtype=np.float16) if has_exact else None,
    )


def _columns_of(rows: Sequence[PieceRow], *, has_exact: bool) -> Columns:
    by_name = dict(zip(PieceRow._fields, zip(*rows, strict=True), strict=True))
    vectors = np.frombuffer(b"".join(by_name["embedding"]), dtype="<f4").reshape(len(rows), DIMENSIONS)
    kinds = [_KIND[names] for names in zip(by_name["state"], by_name["trust"], by_name["type"], strict=True)]
    return Columns(
        piece=np.array(by_name["piece"], dtype=np.int64),
        memory=np.array(by_name["memory"], dtype=np.int64),
        group=np.array(by_name["group"], dtype=np.int64),
        is_global=np.array([scope == Scope.GLOBAL for scope in by_name["scope"]]),
        kind=np.array(kinds, dtype=np.uint8),
        until=np.array(by_name["until"], dtype=np.int64),
        at=np.array(by_name["at"], dtype=np.int64),
        signs=signs_of(vectors),
        exact=vectors.astype(np.float16) if has_exact else None,
    )


def signs_of(vectors: Vectors) -> NDArray[np.uint64]:
    """Give the signs of vectors, float32[n, 384], as uint64[6, n]."""
    packed = np.packbits(vectors > 0, axis=1).view(np.uint64)
    return np.ascontiguousarray(packed.T)


def _arrays(columns: Columns) -> list[tuple[str, NDArray[np.generic]]]:
    named = [(field.name, getattr(columns, field.name)) for field in fields(Columns)]
    return [(name, array) for name, array in named if array is not None]


def _picked(columns: Columns, rows: Keys) -> Columns:
    exact = None if columns.exact is None else columns.exact[rows]
    kept = {name: array[..., rows] for name, array in _arrays(columns) if name != "exact"}
    return Columns(**kept, exact=exact)  # type: ignore[arg-type]  # each under its own name


def _fill(target: Columns, where: slice, source: Columns) -> None:
    """Copy rows; what is in order stands in the source's first rows."""
    count = where.stop - where.start
    for name, array in _arrays(target):
        values = getattr(source, name)
        if name == "exact":
            array[where] = values[:count]
        else:
            array[..., where] = values[..., :count]


def _sorted(columns: Columns, count: int) -> Columns:
    order = np.argsort(columns.piece[:count], kind="stable")
    return _picked(columns, np.concatenate([order, np.arange(count, len(columns.piece))]))


def _allowed_rows(columns: Columns, count: int, v: Visibility) -> tuple[Keys, int]:
    """Give the rows that are allowed, and how many there are in the rooms."""
    if v.groups is None:
        return np.flatnonzero(_marks(columns, slice(count), v)), count
    # The rooms first: of a million rows a group has few, and the other columns are read for those alone.
    rows = np.flatnonzero(_in_rooms(columns, count, v))
    return rows[_marks(columns, rows, v)], len(rows)


def _marks(columns: Columns, rows: slice | Keys, v: Visibility) -> NDArray[np.bool_]:
    """Mark those of the rows that everything but the rooms allows."""
    marks = _allowed_kinds(v)[columns.kind[rows]]
    if v.scope:
        marks &= columns.is_global[rows] == (v.scope == Scope.GLOBAL)
    if v.states == {State.LIVE} and not v.is_history:
        marks &= columns.until[rows] >= milliseconds(v.now) - 1
    if v.after is not None:
        marks &= columns.at[rows] >= milliseconds(v.after) - 1
    if v.before is not None:
        marks &= columns.at[rows] <= milliseconds(v.before) + 1
    return marks


def _allowed_kinds(v: Visibility) -> NDArray[np.bool_]:
    table = np.zeros(256, dtype=np.bool_)
    for (state, trust, type_), code in _KIND.items():
        table[code] = state in v.states and trust in v.trusts and has_type(v, type_, state=state)
    return table


def _in_rooms(columns: Columns, count: int, v: Visibility) -> NDArray[np.bool_]:
    groups = v.groups or frozenset()
    group = columns.group[:count]
    own = group == next(iter(groups)) if len(groups) == 1 else np.isin(group, sorted(groups))
    return own | columns.is_global[:count] if v.include_global else own


def _most_alike(columns: Columns, count: int, rows: Keys, vector: Vectors, *, least: int) -> Keys:
    """Give at least `least` of the rows: those with the most signs as the vector's."""
    if len(rows) <= least:
        return rows
    question = signs_of(vector[None, :])[:, 0]
    if len(rows) * 2 < count:
        distances = _differing(columns.signs[:, rows], question)
        reached = np.cumsum(np.bincount(distances, minlength=FAR))
        return rows[distances <= int(np.searchsorted(reached, least))]
    # Of most rows that there are: taking them out of all would cost more than looking at all.
    distances = _differing(columns.signs[:, :count], question)
    sample = np.sort(distances[::SAMPLED])
    share = least * MARGIN / len(rows)
    limit = int(sample[min(int(share * len(sample)), len(sample) - 1)])
    while True:
        found = np.flatnonzero(distances <= limit)
        alike: Keys = found[_is_among(found, rows)]
        if len(alike) >= least or limit >= FAR:
            return alike
        limit += FURTHER_SIGNS


def _is_among(found: Keys, rows: Keys) -> NDArray[np.bool_]:
    """Mark those that are among the rows; both are in order."""
    at = np.searchsorted(rows, found)
    at[at == len(rows)] = 0
    marks: NDArray[np.bool_] = rows[at] == found
    return marks


def _likeliest(columns: Columns, rows: Keys, vector: Vectors, *, most: int) -> Keys:
    """Give those of the rows whose signs, as +1 and -1, have the greatest products with the vector."""
    if len(rows) <= most:
        return rows
    packed = np.ascontiguousarray(columns.signs[:, rows].T).view(np.uint8)
    # Of 1 and 0 instead of +1 and -1 the products are half as far apart, and in the same order.
    products = np.unpackbits(packed, axis=1).astype(np.float32) @ vector
    return rows[np.sort(np.argpartition(-products, most)[:most])]


def _differing(signs: NDArray[np.uint64], question: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Give for each row how many signs differ from the question's."""
    count = signs.shape[1]
    distances = np.empty(count, dtype=np.uint16)
    for start in range(0, count, BLOCK):
        counted = np.bitwise_count(signs[:, start : start + BLOCK] ^ question[:, None])
        np.add.reduce(counted, axis=0, dtype=np.uint16, out=distances[start : start + BLOCK])
    return distances


def _cosines(columns: Columns, rows: Keys, vector: Vectors, read: Reader) -> Vectors:
    exact = columns.exact
    vectors = read(columns.piece[rows]) if exact is None else exact[rows].astype(np.float32)
    return np.asarray(vectors @ vector, dtype=np.float32)
