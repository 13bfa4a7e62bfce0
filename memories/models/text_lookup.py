"""How a text is found among the memories: by the first digits of its hashes, in one index for all who look for texts.

Hashes fall anywhere in an index, so each row that is new changes a page of every index that begins with one. Equal texts
fold equally: what is looked for letter by letter is found by its fold as well, and one index is enough.
"""

from typing import Any, Final, TypeVar

from django.db.models import Case, CharField, F, Func, Model, Q, QuerySet, UniqueConstraint, When
from django.db.models.lookups import Exact, In

from memories.types import State, Type

M = TypeVar("M", bound=Model)
FOLD_DIGITS: Final = 16  # 64 bits find the rows; each says by its whole hash whether it is meant
TEXT_DIGITS: Final = 32  # 128 bits, for what no two rows may share
NAME: Final = "memory_texts"


def _first(digits: int, hash_: str) -> Func:
    # Literals: of a value that is bound SQLite does not know that the index holds it.
    template = f"SUBSTR(%(expressions)s, 1, {digits})"
    return Func(F(hash_), template=template, output_field=CharField())


def unique_live_text() -> UniqueConstraint:
    """Give the rule that a text is live once in a group, scope and type, events left out; its index finds all rows by text.

    What may be there several times ends in NULL, which equals nothing.
    """
    live = Q(state=State.LIVE) & ~Q(type=Type.EPISODIC)
    return UniqueConstraint(
        _first(FOLD_DIGITS, "fold_hash"),
        "group",
        "type",
        "scope",
        _first(TEXT_DIGITS, "content_hash"),
        Case(When(live, then=1)),
        name=NAME,
    )


def fold_start(fold_hash: str) -> str:
    """Give what the index has of a fold's hash."""
    return fold_hash[:FOLD_DIGITS]


def fold_starts_with(start: Any) -> Exact:
    """Give the condition that the fold's hash begins so; by it the index finds the rows, and perhaps others'."""
    return Exact(_first(FOLD_DIGITS, "fold_hash"), start)


def has_text(content_hash: str, fold_hash: str) -> Q:
    """Give the condition that a row is this text letter by letter; without the fold, every row of the group would be read."""
    return Q(fold_starts_with(fold_start(fold_hash)), content_hash=content_hash)


def newest(rows: QuerySet[M]) -> M | None:
    """Give the row that came last, of the few that are one text: sorted by key, SQLite would rather read the whole group."""
    return max(rows.order_by(), key=lambda row: row.pk, default=None)


def fold_starts_with_any(starts: Any) -> In:
    """Give folded_as() for any of several."""
    return In(_first(FOLD_DIGITS, "fold_hash"), starts)
