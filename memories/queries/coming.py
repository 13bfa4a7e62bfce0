"""What comes after a memory that counts until a day: the successor that is dated ahead, named beside it.

And the other way: what a plan, a fact dated ahead, is to replace on its day.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from access.visibility import Visibility
from memories.models import Memory
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.visibility import has_begun, is_outlasting, matches_scope
from memories.types import VISIBLE_TRUSTS, State, Type

MAX_STEPS = 20  # versions of a plan that edits replaced; a longer path names nothing


def coming_after(memories: Iterable[Memory], visibility: Visibility) -> dict[int, Memory]:
    """The visible successor that is dated ahead, by key of the memory that counts until then.

    No query if none of the memories is superseded; a query about the past names none.
    """
    if visibility.is_history:
        return {}
    found = {}
    for memory in memories:
        if is_outlasting(memory, visibility.now) and (coming := find_coming(memory, visibility)):
            found[memory.key] = coming
    return found


def find_coming(memory: Memory, visibility: Visibility) -> Memory | None:
    """The next memory of the chain that will count; None if it was withdrawn or is hidden from the caller."""
    rows = Memory.objects.select_related(*RELATED_ROWS)
    row = memory
    for _ in range(MAX_STEPS):
        key = row.superseded_by_id
        found = rows.filter(key=key).first() if key is not None else None
        if found is None:
            return None
        row = found
        is_corrected = row.retired_at is not None and row.superseded_by_id is not None
        if is_corrected or (row.state == State.SUPERSEDED and row.valid_to == row.valid_from):
            continue  # an edit, a right text or another plan took its place
        is_ahead = row.valid_from is not None and row.valid_from > visibility.now
        will_count = row.state in (State.LIVE, State.SUPERSEDED) and row.trust in VISIBLE_TRUSTS
        is_plain = row.type != Type.EPISODIC and matches_scope(row, visibility)
        return row if is_ahead and will_count and is_plain else None
    return None


def describe_start(coming: Memory) -> str:
    """When it begins to count, in words: "from 3 March 2027"."""
    start = coming.valid_from
    return f"from {start.day} {start:%B %Y}" if start is not None else ""


class Plan(NamedTuple):
    """A fact dated ahead: the rows of its versions, newest first, and the memories that count until its day."""

    rows: tuple[Memory, ...]
    replaces: tuple[Memory, ...]


def read_plan(head: Memory, now: datetime) -> Plan:
    """The plan whose current version is `head`; without `replaces` if its day has come or it replaces nothing."""
    if has_begun(head, now):
        return Plan((head,), ())
    rows, replaces, step = [head], list[Memory](), [head]
    for _ in range(MAX_STEPS):
        before = Memory.objects.select_related("group", "thread").filter(superseded_by__in=step)
        found = list(before.exclude(pk__in=[row.pk for row in rows]).order_by("key"))
        replaces += [row for row in found if is_outlasting(row, now)]
        step = [
            row
            for row in found
            if row.retired_at is not None and row.state in (State.SUPERSEDED, State.RETRACTED)
        ]
        rows += step
        if not step:
            break
    return Plan(tuple(rows), tuple(replaces))
