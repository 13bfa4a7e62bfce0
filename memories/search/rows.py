"""Rows of memories: a Visibility as SQL, and the ranking fields of rows inside it."""

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import replace
from typing import Any, NamedTuple

from access.visibility import Visibility
from memories.queries.visibility import states_of
from memories.search.base import DatedRow, Period, RankingFields
from memories.types import NOT_WITHDRAWN, VISIBLE_TRUSTS, State, Trust, Type
from storage.compiled_queries import fetch
from storage.dialect import dialect

Params = list[Any]

_COLUMNS = ", ".join(f"m.{name}" for name in RankingFields._fields if name not in ("place", "stored_moment"))
# What counts now, as memories.queries.visibility.counts_at() says it: not expired; an event, or begun and not ended; live,
# or superseded by a memory dated ahead.
_COUNTS = (
    "(m.expires_at IS NULL OR m.expires_at > %s)"
    f" AND (m.type = '{Type.EPISODIC}'"
    " OR (m.valid_to IS NULL OR m.valid_to > %s) AND (m.valid_from IS NULL OR m.valid_from <= %s)) AND "
    f"(m.state = '{State.LIVE}' OR m.type != '{Type.EPISODIC}' AND m.retired_at IS NULL AND m.valid_to > %s"
    f" AND m.valid_to > m.valid_to_known_at AND m.trust IN ({', '.join(repr(str(trust)) for trust in VISIBLE_TRUSTS)}))"
)
# A place among rows that the caller may not see would tell of them. A bare column with a time would be read by Django.
_VISIBLE = f"""
SELECT {_COLUMNS}, CASE WHEN {{in_group}} THEN s.place ELSE s.global_place END,
    CAST(COALESCE(m.valid_from, m.created_at) AS text)
FROM memories_memory AS m JOIN search_row AS s ON s.key = m.key
WHERE m.key {{in_list}} AND {{where}}
"""  # noqa: S608 - constants alone


class RowReader:
    """Reads rows for one query and reads no key twice."""

    def __init__(self, read: Callable[[Iterable[int]], dict[int, RankingFields]]) -> None:
        self._read = read
        self._requested: set[int] = set()
        self._rows: dict[int, RankingFields] = {}

    def __call__(self, keys: Iterable[int]) -> dict[int, RankingFields]:
        """Existing rows by key."""
        wanted = [*keys]
        if new := set(wanted) - self._requested:
            self._requested |= new
            self._rows |= self._read(new)
        return {key: self._rows[key] for key in wanted if key in self._rows}


def read_visible(keys: Iterable[int], visibility: Visibility) -> dict[int, RankingFields]:
    """Memories inside the Visibility, by key; one statement."""
    in_group, groups = groups_sql(replace(visibility, include_global=False), "s")
    where, params = render(visibility)
    sql = _VISIBLE.format(in_group=in_group, where=where, in_list=dialect().in_list)
    found = fetch(sql, [*groups, dialect().list_param(keys), *params], is_repeated=True)
    return {row[0]: RankingFields._make(row) for row in found}


def render(v: Visibility) -> tuple[str, Params]:
    """A Visibility as SQL over memories_memory AS m, with its parameters; equivalent to visibility.as_q()."""
    parts: list[str] = []
    params: Params = []
    for sql, values in (scope_sql(v), kind_sql(v), time_sql(v)):
        parts.append(sql)
        params += values
    return " AND ".join(f"({part})" for part in parts if part) or dialect().everything, params


def groups_sql(v: Visibility, table: str) -> tuple[str, Params]:
    """Condition on the group of a row of search_row or search_group, without the narrowing to a scope."""
    if v.groups is None:
        return dialect().everything, []
    sql = f"{table}.group_id IN ({placeholders(v.groups)})"
    return f"({sql} OR {table}.is_global)" if v.include_global else sql, sorted(v.groups)


def scope_sql(v: Visibility) -> tuple[str, Params]:
    """Condition on group and scope."""
    sql, params = dialect().everything, list[Any]()
    if v.groups is not None:
        sql, params = f"m.group_id IN ({placeholders(v.groups)})", sorted(v.groups)
        if v.include_global:
            sql = f"({sql} OR m.scope = 'global')"
    return (f"{sql} AND m.scope = %s", [*params, v.scope]) if v.scope else (sql, params)


def kind_sql(v: Visibility) -> tuple[str, Params]:
    """Condition on state, trust, type, confidence, importance, source, thread and tags."""
    states = states_of(v)
    sql, params = f"m.state IN ({placeholders(states)})", list[Any](sorted(states))
    if v.shown_then:
        sql, params = (
            f"({sql} OR m.key {dialect().in_list})",
            [*params, dialect().list_param(sorted(v.shown_then))],
        )
    sql, params = f"{sql} AND m.trust IN ({placeholders(v.trusts)})", [*params, *sorted(v.trusts)]
    if v.types:
        is_type, types = f"m.type IN ({placeholders(v.types)})", sorted(v.types)
        if v.retracted_types:
            withdrawn = f"m.state = '{State.RETRACTED}' AND m.type IN ({placeholders(v.retracted_types)})"
            is_type, types = f"({is_type} OR {withdrawn})", types + sorted(v.retracted_types)
        sql, params = f"{sql} AND {is_type}", [*params, *types]
    if v.min_confidence > 0:
        sql, params = f"{sql} AND m.confidence >= %s", [*params, v.min_confidence]
    if v.min_importance > 0:
        sql, params = f"{sql} AND m.importance >= %s", [*params, v.min_importance]
    if v.source:
        sql, params = f"{sql} AND m.source = %s", [*params, v.source]
    if v.thread:
        sql = f"{sql} AND m.thread_id IN (SELECT key FROM memories_thread WHERE name = %s)"  # noqa: S608 - constants alone
        params = [*params, v.thread]
    for tag in sorted(v.tags):
        sql += f" AND {dialect().has_tag.format(column='m.tags')}"
        params.append(tag)
    if v.orphans:
        sql = f"{sql} AND NOT m.key {dialect().in_list}"
        params.append(dialect().list_param(sorted(v.orphans)))
    return sql, params


def time_sql(v: Visibility) -> tuple[str, Params]:
    """Condition on the time bounds; empty without any."""
    parts: list[str] = []
    params: Params = []
    if v.is_history:
        sql, values = history_sql(v)
        parts.append(sql)
        params += values
    elif v.states == {State.LIVE}:
        parts.append(_COUNTS)
        params += [dialect().moment_param(v.now)] * 4
    for operator, moment in ((">=", v.after), ("<=", v.before)):
        if moment:
            parts.append(f"COALESCE(m.valid_from, m.created_at) {operator} %s")
            params.append(dialect().moment_param(moment))
    return " AND ".join(parts), params


def history_sql(v: Visibility) -> tuple[str, Params]:
    """Condition for what was true at `as_of`, as Loci knew it at `known_at`."""
    at = dialect().moment_param(v.as_of or v.known_at or v.now)
    is_true = f"m.type = '{Type.EPISODIC}' OR m.valid_to IS NULL OR m.valid_to > %s"
    began = "(m.valid_from IS NULL OR m.valid_from <= %s)"
    unexpired = "(m.expires_at IS NULL OR m.expires_at > %s)"
    is_believed = f"m.retired_at IS NULL OR m.state IN ({placeholders(NOT_WITHDRAWN)})"
    states = sorted(NOT_WITHDRAWN)
    if v.known_at is None:
        return f"{began} AND ({is_true}) AND {unexpired} AND ({is_believed})", [at, at, at, *states]
    known = dialect().moment_param(v.known_at)
    hidden = [dialect().list_param(sorted(v.hidden_then))] if v.hidden_then else []
    not_hidden = f" AND NOT m.key {dialect().in_list}" if hidden else ""
    sql = (
        f"{began} AND ({is_true} OR m.valid_to_known_at > %s) AND {unexpired}"
        f" AND m.created_at <= %s AND ({is_believed} OR m.retired_at > %s){not_hidden}"
    )
    return sql, [at, at, known, at, known, *states, known, *hidden]


def standing_condition(v: Visibility) -> str:
    """The condition on the vector index's `standing` for these states and trusts; empty if there is none."""
    if v.states == {State.LIVE} and v.trusts == set(VISIBLE_TRUSTS):
        return ">= 2"
    if v.trusts == set(Trust.values):
        if v.states == {State.LIVE}:
            return ">= 1"
        if v.states == {State.LIVE, State.RETRACTED}:
            return "!= 0 AND standing <= 2"
        if v.states == {State.RETRACTED}:
            return "= -1"
    return ""


def needs_rows(v: Visibility) -> bool:
    """True if a condition is on something that the vector index's columns do not have."""
    own_globals = v.groups is not None and not v.include_global
    narrowed = bool(v.tags or v.scope or v.min_confidence > 0 or v.after or v.before)
    narrowed = narrowed or bool(v.min_importance > 0 or v.thread or v.source or v.orphans)
    return narrowed or v.is_history or own_globals


def placeholders(values: Sized) -> str:
    """One `%s` per value; a list that has nothing is NULL, since PostgreSQL refuses an empty one."""
    return ", ".join(["%s"] * len(values)) or "NULL"


# Rows of a period that are looked at, newest first: a limit on the work of an open one, since hidden rows count too.
MAX_ROWS = 2000
_MOMENT = "COALESCE(valid_from, created_at)"
_PERIOD = """
SELECT key, moment FROM (
    SELECT key, {moment} AS moment FROM memories_memory WHERE {where} ORDER BY moment DESC LIMIT {rows}
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


def find_dated(periods: Sequence[Period], visibility: Visibility, *, limit: int) -> list[DatedRow]:
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
    where, values = render(visibility)
    sql = _DATED.format(periods=" UNION ".join(parts), where=where, join=dialect().ordered_join)
    rows = fetch(sql, [*params, *values, limit])
    read_moment = dialect().read_moment
    return [
        DatedRow(key, moment, bool(is_event))
        for key, stored, is_event in rows
        if (moment := read_moment(stored))
    ]


def places_of(v: Visibility) -> list[tuple[str, list[Any]]]:
    """Conditions on group and scope that the two indexes serve."""
    if v.groups is None:
        return [("group_id IN (SELECT group_id FROM search_group)", [])]
    own = [(f"group_id IN ({placeholders(v.groups)})", sorted(v.groups))] if v.groups else []
    return [*own, ("scope = 'global'", [])] if v.include_global else own


_BEGINNINGS = "SELECT key, substr(content, 1, %s) FROM memories_memory WHERE key {in_list}"
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


def read_beginnings(keys: Sequence[int], chars: int) -> dict[int, str]:
    """The first `chars` characters of memories' texts, by key."""
    sql = _BEGINNINGS.format(in_list=dialect().in_list)
    return dict(fetch(sql, [chars, dialect().list_param(keys)]))


def read_sort_fields(keys: Sequence[int], chars: int) -> dict[int, PrefixMatch]:
    """Sort fields of memories with the first `chars` characters of their texts, by key."""
    sql = _LOOKS.format(in_list=dialect().in_list)
    return {row[0]: PrefixMatch(*row) for row in fetch(sql, [chars, dialect().list_param(keys)])}
