"""Memories by their day, through the indexes of moments.sql."""

from collections.abc import Sequence
from typing import Any

from access.visibility import Visibility
from memories.search.base import DatedRow, Period
from memories.search.rows import placeholders, render
from memories.types import Type
from storage.compiled_queries import fetch
from storage.dialect import dialect

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
