"""Pages of rows, newest first, by cursor; rows are never counted."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

from access.errors import InvalidInput
from memories.draft import check_range
from storage.encryption.pages import BLOCK_BYTES, decrypt_block, encrypt_block

MAX_LIMIT = 100
DEFAULT_LIMIT = 50
_MAX_KEY = 2**63  # a block with a larger number was not encrypted here
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
    return encrypt_block(_purpose_of(of), key.to_bytes(BLOCK_BYTES, "big")).hex()


def parse_cursor(cursor: str, *, of: type[Model]) -> int:
    """The key in a cursor."""
    try:
        block = bytes.fromhex(cursor)
    except ValueError:
        block = b""
    key = (
        int.from_bytes(decrypt_block(_purpose_of(of), block), "big")
        if len(block) == BLOCK_BYTES
        else _MAX_KEY
    )
    if key >= _MAX_KEY:
        raise InvalidInput(
            f"'{cursor[:40]}' is not a cursor.",
            hint="Pass the 'next' value of the previous page.",
            field="cursor",
        )
    return key


def _purpose_of(model: type[Model]) -> str:
    """What the cursors of a table are encrypted for: one of another table is noise."""
    return f"cursor {model._meta.label}"
