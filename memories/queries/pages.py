"""Pages of rows, newest first, by cursor; rows are never counted."""

import hmac
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.conf import settings
from django.db.models import Model, QuerySet

from access.errors import InvalidInput
from memories.draft import check_range

MAX_LIMIT = 100
DEFAULT_LIMIT = 50
CURSOR_DIGITS = 16  # hexadecimal: two halves of 32 bits
MAX_KEY = 2**48  # larger keys are none: nearly every other text of 16 digits is refused
ROUNDS = 4  # of the Feistel network (Luby, Rackoff 1988)
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
        rows = rows.filter(pk__lt=parse_cursor(cursor, of=rows.model))
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[: limit + 1])
    shown = tuple(rows.filter(pk__in=keys[:limit]).order_by("-pk"))
    return Page(shown, make_cursor(keys[limit - 1], of=rows.model) if len(keys) > limit else None)


def make_cursor(key: int, *, of: type[Model]) -> str:
    """The cursor of a row. It is encrypted: a key would tell how many rows all groups have."""
    left, right = divmod(key, 2**32)
    for turn in range(ROUNDS):
        left, right = right, left ^ scramble(right, turn, of)
    return f"{left:08x}{right:08x}"


def parse_cursor(cursor: str, *, of: type[Model]) -> int:
    """The key in a cursor."""
    try:
        left, right = int(cursor[:8], 16), int(cursor[8:], 16)
    except ValueError:
        left, right = 0, 0
    for turn in reversed(range(ROUNDS)):
        left, right = right ^ scramble(left, turn, of), left
    key = left * 2**32 + right
    if len(cursor) != CURSOR_DIGITS or not cursor.isascii() or not cursor.isalnum() or key >= MAX_KEY:
        raise InvalidInput(
            f"'{cursor[:40]}' is not a cursor.",
            hint="Pass the 'next' value of the previous page.",
            field="cursor",
        )
    return key


def scramble(half: int, turn: int, of: type[Model]) -> int:
    """32 bits that nobody without the server's key can compute."""
    message = f"cursor {of._meta.label} {turn} {half}".encode()
    return int.from_bytes(hmac.digest(str(settings.SECRET_KEY).encode(), message, "sha256")[:4], "big")
