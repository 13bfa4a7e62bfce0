"""Rows whose state was another one at a past time, from the audit log: hidden or merged since, or restored."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from django.db import connection

from memories.types import HISTORY_STATES, State
from storage.dialect import dialect

_CHANGED: Final = (Path(__file__).parent / "sql" / "states_since.sql").read_text(encoding="utf-8")
# States that a question about what was known then never returns, and those whose record time tells it.
_HIDDEN: Final = frozenset(State.values) - HISTORY_STATES - {State.LIVE}


@dataclass(frozen=True)
class StatesThen:
    """Keys of the rows that counted at a past time though they are hidden now, and of those that were hidden then."""

    shown: frozenset[int] = frozenset()
    hidden: frozenset[int] = frozenset()


def states_known_at(known_at: datetime) -> StatesThen:
    """The rows whose state at `known_at` the present row does not tell; one query over the log since then.

    Where retention deleted the log of that time, the present state counts.
    """
    with connection.cursor() as cursor:
        sql = _CHANGED.replace(":ordered_join", dialect().ordered_join)
        cursor.execute(sql, [dialect().moment_param(known_at)])
        return compare_states(cursor.fetchall())


def compare_states(rows: Iterable[tuple[int, str, str, str | None]]) -> StatesThen:
    """Rows as (key, present state, state then, end of the record time then), sorted into StatesThen."""
    shown, hidden = set[int](), set[int]()
    for key, state, then, retired in rows:
        was_withdrawn = then == State.RETRACTED or (then == State.SUPERSEDED and retired is not None)
        if then in _HIDDEN or was_withdrawn:
            hidden.add(key)
        elif state in _HIDDEN:
            shown.add(key)
    return StatesThen(frozenset(shown), frozenset(hidden))
