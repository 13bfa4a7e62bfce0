"""Lookup of memories by text: one index on the first digits of the text's hashes serves every caller.

Hashes fall anywhere in an index, so a new row changes a page of every index that begins with one. Equal texts fold
equally: an exact lookup also goes through the fold, and one index is enough.
"""

from typing import Any, Final, TypeVar

from django.db.models import Case, CharField, F, Func, Model, Q, QuerySet, UniqueConstraint, When
from django.db.models.lookups import Exact, In

from memories.types import State, Type

M = TypeVar("M", bound=Model)
_FOLD_DIGITS: Final = 16  # 64 bits find the rows; the whole hash confirms each
_TEXT_DIGITS: Final = 32  # 128 bits, unique per row
NAME: Final = "memory_texts"


def _first_digits(hash_: str, digits: int) -> Func:
    """SQL for the first digits of a hash column, with a literal length: SQLite matches no bound value with the index."""
    template = f"SUBSTR(%(expressions)s, 1, {digits})"
    return Func(F(hash_), template=template, output_field=CharField())


def unique_live_text() -> UniqueConstraint:
    """Constraint: a text is live once per group, type and scope, except events. Its index finds all rows by text.

    Rows that may repeat end in NULL, which equals nothing.
    """
    live = Q(state=State.LIVE) & ~Q(type=Type.EPISODIC)
    return UniqueConstraint(
        _first_digits("fold_hash", _FOLD_DIGITS),
        "group",
        "type",
        "scope",
        _first_digits("content_hash", _TEXT_DIGITS),
        Case(When(live, then=1)),
        name=NAME,
    )


def fold_start(fold_hash: str) -> str:
    """The part of a fold's hash that the index holds."""
    return fold_hash[:_FOLD_DIGITS]


def fold_starts_with(start: Any) -> Exact:
    """Condition: the fold's hash begins with `start`. It uses the index, and may match rows of other texts."""
    return Exact(_first_digits("fold_hash", _FOLD_DIGITS), start)


def has_text(content_hash: str, fold_hash: str) -> Q:
    """Condition: the row has exactly this text. Without the fold, every row of the group would be read."""
    return Q(fold_starts_with(fold_start(fold_hash)), content_hash=content_hash)


def newest(rows: QuerySet[M]) -> M | None:
    """The last of the few rows of one text, chosen here: ordered by key, SQLite would read the whole group."""
    return max(rows.order_by(), key=lambda row: row.pk, default=None)


def fold_starts_with_any(starts: Any) -> In:
    """fold_starts_with() for any of several."""
    return In(_first_digits("fold_hash", _FOLD_DIGITS), starts)
