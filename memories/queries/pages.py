"""Pages of rows, newest first, addressed by a cursor and never counted."""

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
    """Rows, newest first; `next` is the cursor of the page after, None on the last one."""

    rows: tuple[Row, ...]
    next: str | None


def page_of(rows: QuerySet[Row], *, cursor: str, limit: int) -> Page[Row]:
    """Give the page that begins after `cursor`, with two queries: the keys, and the rows of these.

    One key more than asked for tells of the next page. The keys alone are found in an index, without the texts of what
    is passed over.
    """
    check_range(limit, 1, MAX_LIMIT, field="limit")
    if cursor:
        rows = rows.filter(pk__lt=_key_of(cursor))
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[: limit + 1])
    shown = tuple(rows.filter(pk__in=keys[:limit]).order_by("-pk"))
    return Page(shown, str(keys[limit - 1]) if len(keys) > limit else None)


def _key_of(cursor: str) -> int:
    """Give the key a cursor stands for; no row has one beyond 63 bits."""
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
        raise InvalidInput(
            f"'{cursor[:40]}' is no cursor.", hint="Take 'next' of the page before.", field="cursor"
        )
    return int(cursor)
