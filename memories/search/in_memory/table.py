"""Vectors in memory: each piece's signs (a bit for each number), the columns that a search filters by, and the vectors themselves in
half precision while they fit, which changes a cosine by less than 0.0001.

A search marks the rows that a Visibility may allow and selects the rows to compare exactly in two steps: first the thousand
that share the most signs with the query, then of these the hundred or so with the greatest products of the query's numbers
and their signs. The marks allow slightly more than the Visibility, never less (times are whole milliseconds; tags,
confidence, the past and the beginning of valid time are missing): the caller checks the rows themselves.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from access.visibility import Visibility
from memories.embedding.manifest import MINILM
from memories.queries.visibility import OUTLASTS, is_as_of_now, may_hold, rules_of
from memories.types import Scope, State, Trust, Type

_MOST_KEPT = 16
MOST_KEPT_ROWS = 1_000_000  # 8 MB


def milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970."""
    return int(moment.timestamp() * 1000)


Keys = NDArray[np.int64]


@dataclass(frozen=True)
class _ColumnOrder:
    """The order of a column's first `count` rows by memory; None if they are sorted."""

    column: Keys
    count: int
    order: Keys | None


class _MemoryOrder:
    """The order of a table's rows by memory. Safe to share between threads.

    Pieces are created with their memories, so the column is nearly always sorted, and only added rows are checked. For an
    unsorted column the order is cached until rows are added.
    """

    def __init__(self) -> None:
        self._cached = _ColumnOrder(np.zeros(0, dtype=np.int64), 0, None)

    def rows_of(self, column: Keys, count: int, memories: Collection[int]) -> Keys:
        """Rows among a column's first `count` that belong to one of the memories."""
        order = self._order(column, count)
        ordered = column[:count] if order is None else column[order]
        keys = np.sort(np.fromiter(memories, dtype=np.int64, count=len(memories)))
        first = np.searchsorted(ordered, keys, side="left")
        lengths = np.searchsorted(ordered, keys, side="right") - first
        before = np.cumsum(lengths) - lengths
        at: Keys = np.repeat(first - before, lengths) + np.arange(int(lengths.sum()))
        return at if order is None else order[at]

    def _order(self, column: Keys, count: int) -> Keys | None:
        cached = self._cached
        if cached.column is not column or cached.count > count:
            cached = _ColumnOrder(column, 0, None)
        if cached.count < count:
            added = column[max(cached.count - 1, 0) : count]
            is_sorted = cached.order is None and bool((added[1:] >= added[:-1]).all())
            order = None if is_sorted else np.argsort(column[:count], kind="stable")
            cached = self._cached = _ColumnOrder(column, count, order)
        return cached.order


def best_per_memory(memories: Keys, cosines: NDArray[np.float32]) -> dict[int, float]:
    """The greatest cosine of each memory; both arrays have one entry per piece."""
    best: dict[int, float] = {}
    for key, cosine in zip(memories.tolist(), cosines.tolist(), strict=True):
        best[key] = max(best.get(key, -1.0), cosine)
    return best


EXACT_MB = 96  # of vectors, unless a setting says otherwise
# Signs only select the rows to compare: with these numbers the selection has 99.95 % of the true ten best of 41,000 real
# vectors, and 98.6 % of the true thirty best (docs/dev/speed.md).
_MIN_SIMILAR = 1000  # rows that share the most signs
_SIMILAR_PER_WANTED = 8
MIN_COMPARED = 120  # of those, the rows compared exactly
COMPARED_PER_WANTED = 1.6
BLOCK = 16_384  # rows at once, which fit into the processor's cache
DELETED = 255  # the kind of a deleted row
GROWTH = 1.25
FOREVER = np.iinfo(np.int64).max

Vectors = NDArray[np.float32]
_Halves = NDArray[np.float16]
Reader = Callable[[Keys], Vectors]  # returns the vectors of pieces in their order, zeros for a deleted piece
NO_KEYS: Keys = np.zeros(0, dtype=np.int64)
# A superseded memory that counts until the end of its valid time has a state of its own here.
_OUTLASTING = "outlasting"
_KINDS = ((s, t, k) for s in (*State.values, _OUTLASTING) for t in Trust.values for k in Type.values)
_KIND = {names: code for code, names in enumerate(_KINDS)}


class PieceRow(NamedTuple):
    """Columns of a piece. `state` may be OUTLASTING. Times are ms since 1970: valid `until`, and `at` it happened or else was stored."""

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
    """The memories of pieces and the pieces' cosines, best first. `is_all`: no other rows are allowed."""

    memories: Keys
    cosines: Vectors
    is_all: bool


@dataclass(frozen=True)
class Columns:
    """Rows by column, sorted by piece. Only the table's first `count` rows are valid."""

    piece: Keys
    memory: Keys
    group: Keys
    is_global: NDArray[np.bool_]
    kind: NDArray[np.uint8]
    until: Keys
    at: Keys
    signs: NDArray[np.uint64]  # [width / 64, rows]: the same word of all rows is contiguous
    exact: _Halves | None


@dataclass
class _TableSnapshot:
    """Columns and their number of valid rows: a reader takes it once and uses it throughout."""

    columns: Columns
    count: int


@dataclass(frozen=True)
class AllowedRows:
    """Rows that a Visibility may allow, among those valid at the time of the query; all of them count `until` then (ms since 1970)."""

    part: _TableSnapshot
    rows: Keys
    until: int


class FilterCache:
    """Allowed rows by Visibility, of one table that changes. Readers need no lock.

    A change counts the version up before and after, so that nothing that was marked meanwhile is used later.
    """

    def __init__(self) -> None:
        self._version = 0
        self._kept: dict[Hashable, tuple[int, int, AllowedRows]] = {}  # version, since when, rows

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the table within the block."""
        self._version += 1
        try:
            yield
        finally:
            self._version += 1
            self._kept = {}

    def of(self, v: Visibility, mark: Callable[[Visibility], AllowedRows]) -> AllowedRows:
        """What `mark` allows, from the cache if that still holds."""
        if v.after is not None or v.before is not None or v.is_history:  # times differ with each caller
            return mark(v)
        key = (v.groups, v.include_global, v.scope, v.states, v.trusts, v.types)
        now, version, known = milliseconds(v.now), self._version, self._kept
        if key in known:
            marked_at, since, kept = known[key]
            # What had ended at `since` has ended later as well; of what had not, the first to end is `until`.
            if marked_at == version and since <= now <= kept.until:
                return kept
        marked = mark(v)
        held = sum(len(kept.rows) for *_, kept in [*known.values()])
        if len(known) >= _MOST_KEPT or held + len(marked.rows) > MOST_KEPT_ROWS:
            known.clear()
        known[key] = version, now, marked
        return marked


class VectorTable:
    """The pieces of one database. One thread changes it at a time; readers need no lock.

    New rows are written after the last one and then counted; others are changed in place, value by value. A half-changed
    row may be found or not, and the check of the rows themselves decides.
    """

    def __init__(self, *, exact_mb: int = EXACT_MB, expected: int = 0, width: int = MINILM.width) -> None:
        """`width` is that of the vectors, a multiple of 64."""
        self.width, self._exact_rows = width, exact_mb * 1024 * 1024 // (width * 2)
        has_exact = 0 < self._exact_rows >= expected
        self._part = _TableSnapshot(_empty_columns(int(expected * GROWTH), width, has_exact=has_exact), 0)
        self._filters = FilterCache()
        self._order = _MemoryOrder()
        self.deleted = 0

    def __len__(self) -> int:
        return self._part.count

    @property
    def has_exact(self) -> bool:
        """True while the vectors themselves are in memory."""
        return self._part.columns.exact is not None

    def put(self, rows: Sequence[PieceRow]) -> None:
        """Add pieces, or update existing ones."""
        if not rows:
            return
        with self._filters.changing():
            columns = build_columns(sorted(rows), has_exact=self.has_exact)
            at, exists = self._find(columns.piece)
            if exists.any():
                self._update(columns, at, exists)
            if not exists.all():
                self._append(_pick_rows(columns, np.flatnonzero(~exists)))

    def remove(self, pieces: Iterable[int]) -> None:
        """Remove pieces; unknown ones are ignored."""
        at, exists = self._find(np.fromiter(pieces, dtype=np.int64))
        places = at[exists]
        kind = self._part.columns.kind
        self.deleted += int(np.count_nonzero(kind[places] != DELETED))
        with self._filters.changing():
            kind[places] = DELETED

    def allowed(self, v: Visibility) -> AllowedRows:
        """The rows that the Visibility may allow."""
        return self._filters.of(v, self._mark)

    def _mark(self, v: Visibility) -> AllowedRows:
        part = _TableSnapshot(self._part.columns, self._part.count)
        columns, count = part.columns, part.count
        if v.groups is None:
            rows = np.flatnonzero(_mark_rows(columns, slice(count), v))
        else:
            # Groups first: a group has few of a million rows, and the other columns are read for those only.
            rows = np.flatnonzero(_mark_groups(columns, count, v))
            rows = rows[_mark_rows(columns, rows, v)]
        return AllowedRows(part, rows, int(columns.until[rows].min(initial=FOREVER)))

    def nearest(self, vector: Vectors, allowed: AllowedRows, *, wanted: int, read: Reader) -> Nearest:
        """The `wanted` pieces nearest by cosine; `read` returns vectors that are not in memory."""
        return self.compared(
            vector, allowed, self.choose(vector, allowed, wanted=wanted), wanted=wanted, read=read
        )

    def choose(self, vector: Vectors, allowed: AllowedRows, *, wanted: int) -> Keys:
        """Rows that contain the `wanted` nearest ones; uses memory only, no database."""
        columns, rows = allowed.part.columns, allowed.rows
        similar = max(_MIN_SIMILAR, _SIMILAR_PER_WANTED * wanted)
        compared = max(MIN_COMPARED, int(COMPARED_PER_WANTED * wanted))
        chosen = most_similar(columns, allowed.part.count, rows, vector, least=similar)
        return rank_by_signs(columns, chosen, vector, most=compared)

    def compared(
        self, vector: Vectors, allowed: AllowedRows, chosen: Keys, *, wanted: int, read: Reader
    ) -> Nearest:
        """The `wanted` nearest of the chosen rows, as nearest() returns them."""
        columns, rows = allowed.part.columns, allowed.rows
        exact = columns.exact
        # Read ones are halved too: whether all fit into memory depends on other groups, and a cosine must not.
        halves = read(columns.piece[chosen]).astype(np.float16) if exact is None else exact[chosen]
        cosines = np.asarray(halves.astype(np.float32) @ vector, dtype=np.float32)
        best_first = np.argsort(-cosines, kind="stable")[:wanted]
        best, cosines = chosen[best_first], cosines[best_first]
        return Nearest(columns.memory[best], cosines, is_all=len(best) == len(rows))

    def best_cosines(
        self, memories: Collection[int], vector: Vectors, *, without: Keys = NO_KEYS
    ) -> dict[int, float] | None:
        """Cosine of each memory's best piece, leaving out the pieces in `without`; None if no vectors are in memory."""
        part = self._part
        columns = part.columns
        if columns.exact is None:
            return None
        rows = self._order.rows_of(columns.memory, part.count, memories)
        rows = rows[columns.kind[rows] != DELETED]
        if len(without):
            rows = rows[~np.isin(columns.piece[rows], without)]
        return best_per_memory(columns.memory[rows], columns.exact[rows].astype(np.float32) @ vector)

    def _find(self, pieces: Keys) -> tuple[Keys, NDArray[np.bool_]]:
        """The row of each piece, or its insertion point, and whether it exists."""
        own = self._part.columns.piece[: self._part.count]
        at = np.searchsorted(own, pieces)
        exists = np.zeros(len(pieces), dtype=np.bool_)
        inside = at < len(own)
        exists[inside] = own[at[inside]] == pieces[inside]
        return at, exists

    def _update(self, columns: Columns, at: Keys, exists: NDArray[np.bool_]) -> None:
        own, places = self._part.columns, at[exists]
        self.deleted -= int(np.count_nonzero(own.kind[places] == DELETED))
        for name, values in _arrays(columns):
            target = getattr(own, name)
            if name == "exact":
                target[places] = values[exists]
            else:
                target[..., places] = values[..., exists]

    def _append(self, columns: Columns) -> None:
        part, added = self._part, len(columns.piece)
        count = part.count + added
        is_in_order = not part.count or part.columns.piece[part.count - 1] < columns.piece[0]
        keeps_exact = self.has_exact and count <= self._exact_rows
        if is_in_order and count <= len(part.columns.piece) and keeps_exact == self.has_exact:
            _fill_rows(part.columns, slice(part.count, count), columns)
            part.count = count
            return
        grown = _empty_columns(int(count * GROWTH) + 1024, self.width, has_exact=keeps_exact)
        _fill_rows(grown, slice(0, part.count), part.columns)
        _fill_rows(grown, slice(part.count, count), columns)
        if not is_in_order:
            order = np.argsort(grown.piece[:count], kind="stable")
            grown = _pick_rows(grown, np.concatenate([order, np.arange(count, len(grown.piece))]))
        self._part = _TableSnapshot(grown, count)


def _empty_columns(capacity: int, width: int, *, has_exact: bool) -> Columns:
    """Columns for `capacity` rows, all marked as deleted."""
    return Columns(
        piece=np.zeros(capacity, dtype=np.int64),
        memory=np.zeros(capacity, dtype=np.int64),
        group=np.zeros(capacity, dtype=np.int64),
        is_global=np.zeros(capacity, dtype=np.bool_),
        kind=np.full(capacity, DELETED, dtype=np.uint8),
        until=np.zeros(capacity, dtype=np.int64),
        at=np.zeros(capacity, dtype=np.int64),
        signs=np.zeros((width // 64, capacity), dtype=np.uint64),
        exact=np.zeros((capacity, width), dtype=np.float16) if has_exact else None,
    )


def build_columns(rows: Sequence[PieceRow], *, has_exact: bool) -> Columns:
    """The rows as columns."""
    by_name = dict(zip(PieceRow._fields, zip(*rows, strict=True), strict=True))
    vectors = np.frombuffer(b"".join(by_name["embedding"]), dtype="<f4").reshape(len(rows), -1)
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
    """Signs of vectors, float32[n, width], as uint64[width / 64, n]."""
    packed = np.packbits(vectors > 0, axis=1).view(np.uint64)
    return np.ascontiguousarray(packed.T)


def _arrays(columns: Columns) -> list[tuple[str, NDArray[np.generic]]]:
    named = [(field.name, getattr(columns, field.name)) for field in fields(Columns)]
    return [(name, array) for name, array in named if array is not None]


def _pick_rows(columns: Columns, rows: Keys) -> Columns:
    """A copy of these rows, in this order."""
    exact = None if columns.exact is None else columns.exact[rows]
    picked = {name: array[..., rows] for name, array in _arrays(columns) if name != "exact"}
    return Columns(**picked, exact=exact)  # type: ignore[arg-type]  # each field by its name


def _fill_rows(target: Columns, where: slice, source: Columns) -> None:
    """Copy the source's first rows to these rows of the target."""
    count = where.stop - where.start
    for name, array in _arrays(target):
        values = getattr(source, name)
        if name == "exact":
            array[where] = values[:count]
        else:
            array[..., where] = values[..., :count]


def _mark_rows(columns: Columns, rows: slice | Keys, v: Visibility) -> NDArray[np.bool_]:
    """True for each row that every condition except the groups allows."""
    allowed = _kinds_of(v.states, v.trusts, v.types, bool(v.shown_then), v.is_history)
    marks = allowed[columns.kind[rows]]
    if v.scope:
        marks &= columns.is_global[rows] == (v.scope == Scope.GLOBAL)
    if is_as_of_now(v):
        marks &= columns.until[rows] >= milliseconds(v.now) - 1
    if v.after is not None:
        marks &= columns.at[rows] >= milliseconds(v.after) - 1
    if v.before is not None:
        marks &= columns.at[rows] <= milliseconds(v.before) + 1
    return marks


@lru_cache(maxsize=64)
def _kinds_of(
    states: frozenset[str],
    trusts: frozenset[str],
    types: frozenset[str],
    is_shown_then: bool,
    is_history: bool,
) -> NDArray[np.bool_]:
    now, shown = datetime.now(UTC), frozenset({0} if is_shown_then else ())
    v = Visibility(
        None,
        True,
        states,
        trusts,
        now,
        types=types,
        as_of=now if is_history else None,
        shown_then=shown,
    )
    rule, table = rules_of(v), np.zeros(256, dtype=np.bool_)
    for (state, trust, type_), code in _KIND.items():
        outlasts = state == _OUTLASTING
        known = {"state": State.SUPERSEDED if outlasts else state, "trust": trust, "type": type_}
        table[code] = may_hold(rule, known | {OUTLASTS: outlasts})
    return table


def _mark_groups(columns: Columns, count: int, v: Visibility) -> NDArray[np.bool_]:
    """True for each row of a visible group, and for global rows if they are visible."""
    groups = v.groups or frozenset()
    group = columns.group[:count]
    own = group == next(iter(groups)) if len(groups) == 1 else np.isin(group, sorted(groups))
    return own | columns.is_global[:count] if v.include_global else own


def most_similar(columns: Columns, count: int, rows: Keys, vector: Vectors, *, least: int) -> Keys:
    """At least `least` of the rows: those that share the most signs with the vector."""
    if len(rows) <= least:
        return rows
    query = signs_of(vector[None, :])[:, 0]
    if len(rows) * 2 < count:
        distances = _count_differing_signs(columns.signs[:, rows], query)
    else:  # extracting the signs of most rows would take longer than examining all
        distances = _count_differing_signs(columns.signs[:, :count], query)[rows]
    reached = np.cumsum(np.bincount(distances))
    return rows[distances <= int(np.searchsorted(reached, least))]


def rank_by_signs(columns: Columns, rows: Keys, vector: Vectors, *, most: int) -> Keys:
    """At most `most` rows: those whose signs, as +1 and -1, have the greatest products with the vector."""
    if len(rows) <= most:
        return rows
    packed = np.ascontiguousarray(columns.signs[:, rows].T).view(np.uint8)
    # With 1 and 0 instead of +1 and -1 the products are half as far apart, in the same order.
    products = np.unpackbits(packed, axis=1).astype(np.float32) @ vector
    return rows[np.sort(np.argpartition(-products, most)[:most])]


def _count_differing_signs(signs: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Number of signs of each row that differ from the query's."""
    count = signs.shape[1]
    distances = np.empty(count, dtype=np.uint16)
    for start in range(0, count, BLOCK):
        counted = np.bitwise_count(signs[:, start : start + BLOCK] ^ query[:, None])
        np.add.reduce(counted, axis=0, dtype=np.uint16, out=distances[start : start + BLOCK])
    return distances
