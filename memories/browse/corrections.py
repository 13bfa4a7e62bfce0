"""Corrections: texts that others took the place of, newest first, each before and after."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from access.actor import Actor
from memories.language.word_diff import SAME, DiffPart, diff_words
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by
from memories.types import State

LOOKED_THROUGH: Final = 500  # newest corrections of the whole store
_AROUND_CHARS: Final = 80  # of the same text, on each side of a change
_CHANGE_CHARS: Final = 300


@dataclass(frozen=True)
class _Correction:
    """A text and the memory that took its place; `parts` are the words that differ, with a little around them."""

    before: Memory
    after: Memory
    parts: tuple[DiffPart, ...]


def find_corrections(actor: Actor, *, since: datetime, limit: int) -> list[_Correction]:
    """What was corrected since then of the memories that the actor may see; two queries."""
    newest = Memory.objects.filter(superseded_by__isnull=False).order_by("-superseded_by_id")
    seen = Memory.objects.filter(as_q(listed_by(actor, None))).select_related("group")
    former = seen.filter(
        key__in=newest.values("key")[:LOOKED_THROUGH],
        state=State.SUPERSEDED,
        superseded_by__created_at__gte=since,
    )
    replaced = list(former.order_by("-superseded_by_id")[:limit])
    current = seen.in_bulk([row.superseded_by_id or 0 for row in replaced])
    return [
        _Correction(row, after, _shorten(diff_words(row.content, after.content)))
        for row in replaced
        if (after := current.get(row.superseded_by_id or 0)) is not None
    ]


def _shorten(parts: tuple[DiffPart, ...]) -> tuple[DiffPart, ...]:
    """The changes, each cut to its start, and of the text between them what is next to one."""
    shown = []
    for at, part in enumerate(parts):
        text = part.text
        if part.kind == SAME and len(text) > 2 * _AROUND_CHARS:
            before, after = (
                text[:_AROUND_CHARS] if at else "",
                text[-_AROUND_CHARS:] if part is not parts[-1] else "",
            )
            text = f"{before}…{after}"
        elif len(text) > _CHANGE_CHARS:
            text = f"{text[:_CHANGE_CHARS]}…"
        shown.append(DiffPart(part.kind, text))
    return tuple(shown)
