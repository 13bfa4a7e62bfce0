"""What a search returns, and the rows that it reads: a Visibility as SQL, and the ranking fields of rows inside it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from access.visibility import Visibility
from memories.language.metadata import metadata_words
from memories.models import Memory
from memories.queries.visibility import AnyOf, columns_of, place_rule, placeholders, rules_of, to_sql
from memories.types import VISIBLE_TRUSTS, State, Trust, Type
from storage.compiled_queries import CompiledQuery, fetch, read_rows
from storage.dialect import dialect

Vector = NDArray[np.float32]
AnyVector = Vector | Future[Vector]  # finished, or being computed


class Hit(NamedTuple):
    """Key and score of a memory; higher is better."""

    key: int
    score: float


class RankingFields(NamedTuple):
    """Columns of a memory that ranking uses.

    `tags` are a JSON list, with the words of the metadata. `place` is its place among the memories of its group, in a group outside the Visibility among the global ones.
    `days` is what keep_days() wrote. `stored_moment` is its own moment, or when it was stored, as the database returns it: few questions read it.
    """

    key: int
    group_id: int
    content: str
    thread_id: int | None
    position: int | None
    confidence: float
    trust: str
    tags: str = "[]"
    importance: int = 5
    type: str = ""
    days: str | None = None
    place: int = 0
    stored_moment: datetime | str = ""

    @property
    def moment(self) -> datetime | None:
        """Its own moment, or when it was stored."""
        stored = self.stored_moment
        if isinstance(stored, str):
            return datetime.fromisoformat(stored).replace(tzinfo=UTC) if stored else None
        return stored


class _DatedRow(NamedTuple):
    """A memory's key and moment: its own, or when it was stored. `is_event` is false for a fact without a moment of its own."""

    key: int
    moment: datetime
    is_event: bool


_Period = tuple[datetime | None, datetime | None]  # from the first moment, up to the second; None is open


@dataclass(frozen=True)
class HybridHits:
    """Hits of both searches, best first, and the scores of one search for hits of the other only, by key.

    `keyword` omits memories that do not match at all, `vector` those without a vector yet. `extra` are visible memories
    requested by key that neither search found. `rows` has all of them by key.
    """

    words: list[Hit]
    nearest: list[Hit]
    keyword: dict[int, float] = field(default_factory=dict)
    vector: dict[int, float] = field(default_factory=dict)
    extra: tuple[int, ...] = ()
    rows: Mapping[int, RankingFields] = field(default_factory=dict)


def resolve_vector(vector: AnyVector) -> Vector:
    """The vector; waits while it is being computed."""
    return vector.result() if isinstance(vector, Future) else vector


_Params = list[Any]

_COLUMNS = ", ".join(f"m.{name}" for name in RankingFields._fields if name not in ("place", "stored_moment"))
# A place among rows that the caller may not see would tell of them. A bare column with a time would be read by Django.
_VISIBLE = f"""
SELECT {_COLUMNS}, CASE WHEN {{in_group}} THEN s.place ELSE s.global_place END,
    CAST(COALESCE(m.valid_from, m.created_at) AS text), m.metadata, m.source
FROM memories_memory AS m JOIN search_row AS s ON s.key = m.key
WHERE m.key {{in_list}} AND {{where}}
"""  # noqa: S608 - constants alone


# Of the vector index: `room`, `standing`, `until` and `type` answer for these.
_INDEXED = frozenset(
    {"group_id", "is_global", "state", "trust", "type", "expires_at", "valid_from", "valid_to"}
    | {"valid_to_known_at", "retired_at"}
)


class RowReader:
    """Reads the rows inside a Visibility for one query, and no key twice."""

    def __init__(self, visibility: Visibility) -> None:
        self._visibility = visibility
        self._requested: set[int] = set()
        self._rows: dict[int, RankingFields] = {}

    def __call__(self, keys: Iterable[int]) -> dict[int, RankingFields]:
        """Visible rows by key."""
        wanted = [*keys]
        if new := set(wanted) - self._requested:
            self._requested |= new
            self._rows |= read_visible(new, self._visibility)
        return {key: self._rows[key] for key in wanted if key in self._rows}


def read_visible(keys: Iterable[int], visibility: Visibility) -> dict[int, RankingFields]:
    """Memories inside the Visibility, by key; one statement."""
    in_group, groups = groups_sql(replace(visibility, include_global=False))
    where, params = render(visibility)
    sql = _VISIBLE.format(in_group=in_group, where=where, in_list=dialect().in_list)
    found = fetch(sql, [*groups, dialect().list_param(keys), *params], is_repeated=True)
    return {
        row[0]: _with_metadata(RankingFields._make(row), metadata, source) for *row, metadata, source in found
    }


def _with_metadata(row: RankingFields, metadata: str, source: str) -> RankingFields:
    if metadata == "{}":
        return row
    own = metadata_words(json.loads(metadata), source).split()
    return row._replace(tags=json.dumps([*json.loads(row.tags), *own])) if own else row


@lru_cache(maxsize=64)  # a recall reads several times
def render(v: Visibility) -> tuple[str, tuple[Any, ...]]:
    """A Visibility as SQL over memories_memory AS m, with its parameters."""
    sql, params = to_sql(rules_of(v))
    return sql or dialect().everything, tuple(params)


def groups_sql(v: Visibility) -> tuple[str, _Params]:
    """Condition on the group of a row `s` of search_row or search_group, without the narrowing to a scope."""
    sql, params = to_sql(place_rule(v), "s")
    return sql or dialect().everything, params


def standing_condition(v: Visibility) -> str:
    """The condition on the vector index's `standing` for these states and trusts; empty if there is none."""
    if v.states == {State.LIVE} and v.trusts == set(VISIBLE_TRUSTS):
        return ">= 2"
    if v.trusts == set(Trust.values):
        if v.states == {State.LIVE}:
            return ">= 1"
        if v.states == {State.LIVE, State.RETRACTED}:
            return "!= 0 AND standing <= 2"
    return ""


def index_filter(v: Visibility, standing: str, *, on_rows: str) -> tuple[str, _Params]:
    """Conditions on the vector index's columns, with their parameters; `standing` is that on the column of this name.

    Where these columns do not suffice: `on_rows`, which takes conditions on memories_memory AS m as `where`.
    """
    if not standing or _needs_rows(v):
        where, seen = render(v)
        return on_rows.format(where=where), [*seen]
    sql, params = f"AND standing {standing}", list[Any]()
    if v.states == {State.LIVE}:
        sql, params = f"{sql} AND until > %s", [int(v.now.timestamp() * 1000)]
    if v.types:
        sql, params = f"{sql} AND type IN ({placeholders(v.types)})", [*params, *sorted(v.types)]
    return sql, params


def _needs_rows(v: Visibility) -> bool:
    """True if a condition is on something that the vector index's columns do not have."""
    own_globals = v.groups is not None and not v.include_global
    return own_globals or v.is_history or not _INDEXED.issuperset(columns_of(rules_of(v)))


# Rows of a period that are looked at, newest first: a limit on the work of an open one, since hidden rows count too.
MAX_ROWS = 2000
_MOMENT = "COALESCE(valid_from, created_at)"
_PERIOD = """
SELECT key, moment FROM (
    SELECT key, {moment} AS moment FROM memories_memory AS m WHERE {where} ORDER BY moment DESC LIMIT {rows}
) AS newest
"""
# Materialised, so that the planner uses the index of moments and not one of the Visibility's columns.
_DATED = f"""
WITH found AS MATERIALIZED ({{periods}})
SELECT m.key, found.moment, m.type = '{Type.EPISODIC}' OR m.valid_from IS NOT NULL
FROM found {{join}} memories_memory AS m ON m.key = found.key
WHERE m.type != '{Type.ENTITY}' AND {{where}}
ORDER BY found.moment DESC, m.key DESC LIMIT %s
"""  # noqa: S608 - constants alone


def find_dated(periods: Sequence[_Period], visibility: Visibility, *, limit: int) -> list[_DatedRow]:
    """The newest `limit` memories of the periods inside the Visibility, newest first."""
    parts: list[str] = []
    params: list[Any] = []
    for begin, end in periods:
        bounds = [(">=", begin), ("<", end)]
        times = "".join(f" AND {_MOMENT} {sign} %s" for sign, moment in bounds if moment)
        stamps = [dialect().moment_param(moment) for _, moment in bounds if moment]
        for place, values in places_of(visibility):
            parts.append(_PERIOD.format(moment=_MOMENT, where=f"{place}{times}", rows=MAX_ROWS))
            params += [*values, *stamps]
    if not parts:
        return []
    where, seen = render(visibility)
    sql = _DATED.format(periods=" UNION ".join(parts), where=where, join=dialect().ordered_join)
    rows = fetch(sql, [*params, *seen, limit])
    read_moment = dialect().read_moment
    return [
        _DatedRow(key, moment, bool(is_event))
        for key, stored, is_event in rows
        if (moment := read_moment(stored))
    ]


def places_of(v: Visibility) -> list[tuple[str, list[Any]]]:
    """Conditions on group and scope that the two indexes serve."""
    if v.groups is None:
        return [("group_id IN (SELECT group_id FROM search_group)", [])]
    rule = place_rule(v)
    return [to_sql(each) for each in (rule.rules if isinstance(rule, AnyOf) else (rule,))]


def read_memories(keys: Iterable[int]) -> dict[int, Memory]:
    """Existing memories by key, visible or not, with their group and thread; one query."""
    return {row.key: row for row in read_rows(_memories_query, [*keys])}


@cache
def _memories_query(count: int) -> CompiledQuery[Memory]:
    return CompiledQuery(
        lambda *keys: Memory.objects.select_related("group", "thread").filter(key__in=keys).order_by(),
        count,
    )


_LOOKS = """
SELECT key, substr(content, 1, %s), state, type, pinned FROM memories_memory WHERE key {in_list}
"""


class PrefixMatch(NamedTuple):
    """Sort fields of a memory; `content` is the beginning of its text."""

    key: int
    content: str
    state: str
    type: str
    pinned: int


def read_sort_fields(keys: Sequence[int], chars: int) -> dict[int, PrefixMatch]:
    """Sort fields of memories with the first `chars` characters of their texts, by key."""
    sql = _LOOKS.format(in_list=dialect().in_list)
    return {row[0]: PrefixMatch(*row) for row in fetch(sql, [chars, dialect().list_param(keys)])}
