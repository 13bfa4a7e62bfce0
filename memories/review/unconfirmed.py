"""Facts and procedures that were confirmed last long ago, about which the Review asks: is it still true?

A text is confirmed when it is stored, also again, and when a person decides about it (Memory.confirmed_at). A recall
confirms nothing.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

from django.db import connection
from django.db.models import BooleanField, F, Q
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext

from access.models import Group
from memories.models import FindingStatus, Memory, MemoryFinding
from memories.queries.labels import is_doubted
from memories.types import SUMMARY_SOURCES, State, Type

AT_ONCE: Final = 20  # questions that wait in a group, so that they do not bury the other cards
# Asked about after so long, in a group that does not tell how fast such memories change there.
_AFTER: Final = {Type.SEMANTIC: timedelta(days=180), Type.PROCEDURAL: timedelta(days=365)}
_SHORTEST, _LONGEST = timedelta(days=60), timedelta(days=730)
_LIVES: Final = 2  # the median lives of superseded memories after which one is asked about
_ENOUGH: Final = 8  # superseded memories of a type whose median life tells something
_READ: Final = 400  # rows of a group that are read at most, of the superseded ones the newest
_SQL_FILE: Final = Path(__file__).parents[1] / "queries" / "sql" / "unconfirmed.sql"
UNCONFIRMED_SQL: Final = _SQL_FILE.read_text(encoding="utf-8")


def find_unconfirmed(groups: list[int] | None) -> list[int]:
    """The keys of the memories to ask about, at most AT_ONCE of a group: the most important and most recalled first.

    Two queries for each group that has such memories.
    """
    now = timezone.now()
    found = [row for group in _groups_to_ask(groups, now) for row in _to_ask(group, now)]
    return [key for *_, key in sorted(found)]


def _ask_after(group: int) -> Mapping[Type, timedelta]:
    """How long after its last confirmation a memory of this group is asked about, by type.

    Twice the median life of what was superseded there, if that is enough to tell.
    """
    replaced = Memory.objects.filter(
        group=group, state=State.SUPERSEDED, type__in=_AFTER, superseded_by__gt=F("key")
    )
    lives = replaced.order_by("-key").values_list("type", "created_at", "retired_at")
    days = defaultdict[str, list[float]](list)
    for type_, start, end in lives[:_READ]:
        if end is not None:
            days[type_].append((end - start) / timedelta(days=1))
    return {type_: _pace(days[type_]) or default for type_, default in _AFTER.items()}


def _pace(days: list[float]) -> timedelta | None:
    """After how long to ask where memories lived so many days each; None: too few to tell."""
    if len(days) < _ENOUGH:
        return None
    return min(max(timedelta(days=_LIVES * median(days)), _SHORTEST), _LONGEST)


def describe_question(memory: Memory) -> str:
    """The question about a memory, with the reason."""
    after = _ask_after(memory.group_id).get(Type(memory.type), _AFTER[Type.SEMANTIC])
    return gettext("still true? It was confirmed last on {day}; this group asks after {days} days").format(
        day=f"{memory.confirmed_at or memory.created_at:%Y-%m-%d}", days=after.days
    )


def _groups_to_ask(groups: list[int] | None, now: datetime) -> list[int]:
    """The keys of the groups with memories that may be due, whatever the pace there."""
    before = now - _SHORTEST
    sql, params = _select("access_group.key", {"semantic": before, "procedural": before}, limit=1)
    rows = Group.objects.filter(RawSQL(f"EXISTS ({sql})", params, BooleanField()))  # noqa: S611 - our file
    if groups is not None:
        rows = rows.filter(key__in=groups)
    return list(rows.order_by("key").values_list("key", flat=True))


def _to_ask(group: int, now: datetime) -> list[tuple[int, int, int]]:
    """The memories of a group to ask about: (-importance, -recalls, key)."""
    before = {str(type_.value): now - after for type_, after in _ask_after(group).items()}
    sql, params = _select(str(group), before, limit=_READ)
    due = Memory.objects.filter(key__in=RawSQL(sql, params))  # noqa: S611 - our file
    # Disputed and sensitive texts have a card of their own, and a plan has not begun.
    open_ = MemoryFinding.objects.filter(status=FindingStatus.OPEN).values("memory")
    due = due.exclude(is_doubted()).exclude(
        Q(key__in=open_) | Q(valid_from__gt=now) | Q(source__in=SUMMARY_SOURCES)
    )
    rows = due.order_by("-importance", "-access_count", "key").values_list(
        "importance", "access_count", "key"
    )
    return [(-importance, -recalls, key) for importance, recalls, key in rows[:AT_ONCE]]


def _select(group: str, before: Mapping[str, datetime], *, limit: int) -> tuple[str, list[Any]]:
    """The statement for a group, an SQL expression, and its parameters."""
    sql = UNCONFIRMED_SQL.replace(":group", group).replace(":limit", str(limit))
    adapt = connection.ops.adapt_datetimefield_value
    moments = (max(before.values()), before["semantic"], before["procedural"])
    for name in (":latest", ":semantic", ":procedural"):
        sql = sql.replace(name, "%s")
    return sql, [adapt(moment) for moment in moments]
