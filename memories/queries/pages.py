"""Pages of rows, newest first, by cursor; rows are never counted."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

from access.errors import InvalidInput
from memories.draft import check_range

MAX_LIMIT = 100
DEFAULT_LIMIT = 50
Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows, newest first; `next` is the cursor of the next page, None on the last one."""

    rows: tuple[Row, ...]
    next: str | None


def page_of(rows: QuerySet[Row], *, cursor: str, limit: int) -> Page[Row]:
    """The page after `cursor`, with two queries: one for the keys, one for their rows.

    One extra key shows whether there is a next page. The keys come from an index, without reading the texts of skipped
    rows.
    """
    check_range(limit, 1, MAX_LIMIT, field="limit")
    if cursor:
        rows = rows.filter(pk__lt=parse_cursor(cursor))
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[: limit + 1])
    shown = tuple(rows.filter(pk__in=keys[:limit]).order_by("-pk"))
    return Page(shown, str(keys[limit - 1]) if len(keys) > limit else None)


def parse_cursor(cursor: str) -> int:
    """The key in a cursor; keys have at most 18 digits, within 63 bits."""
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
        raise InvalidInput(
            f"'{cursor[:40]}' is not a cursor.",
            hint="Pass the 'next' value of the previous page.",
            field="cursor",
        )
    return int(cursor)
