"""Texts that an import must not bring back: purged, retracted or superseded in this store."""

from collections.abc import Sequence
from functools import cache

from memories.models import Memory, Tombstone, TombstoneKind
from memories.models.text_lookup import fold_start, fold_starts_with_any
from memories.queries.by_key import read_rows
from memories.store.tombstones import find_tombstones
from memories.types import State, Type
from storage.compiled_queries import CompiledQuery


def find_barred(rows: Sequence[Memory]) -> dict[int, str]:
    """Positions of the unsaved rows that may not be imported, each with the reason.

    A text purged here is barred in any state; a retracted or superseded one must not become live again.
    """
    marks = dict[tuple[int, str], Tombstone]()
    for group in {row.group_id: row.group for row in rows}.values():
        texts = [row.content for row in rows if row.group_id == group.key]
        marks |= {(group.key, text): mark for text, mark in find_tombstones(group, texts).items()}
    history = superseded_texts(rows)
    found = {}
    for at, row in enumerate(rows):
        mark = marks.get((row.group_id, row.content))
        if mark and (mark.kind == TombstoneKind.PURGED or row.state == State.LIVE):
            found[at] = f"its text was {mark.kind} here; a curator can lift that"
        elif row.state == State.LIVE and (row.group_id, row.content_hash) in history:
            found[at] = "its text was superseded here; store it again if it is true again"
    return found


def superseded_texts(rows: Sequence[Memory]) -> set[tuple[int, str]]:
    """Group and content hash of the texts that were superseded here. Events are not included: they are never superseded."""
    starts = {
        fold_start(row.fold_hash) for row in rows if row.type != Type.EPISODIC and row.state == State.LIVE
    }
    return set(read_rows(compile_superseded_query, sorted(starts)))


@cache
def compile_superseded_query(count: int) -> CompiledQuery[tuple[int, str]]:
    return CompiledQuery(
        lambda *starts: (
            Memory.objects.filter(fold_starts_with_any(starts), state=State.SUPERSEDED, retired_at=None)
            .exclude(type=Type.EPISODIC)
            .order_by()
            .values_list("group", "content_hash")
        ),
        count,
    )
