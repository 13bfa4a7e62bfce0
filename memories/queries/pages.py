"""Pages of rows, newest first, by cursor; rows are never counted."""

import hmac
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from django.conf import settings
from django.db.models import Model, QuerySet

from access.errors import InvalidInput
from memories.draft import check_range

MAX_LIMIT = 100
DEFAULT_LIMIT = 50
BLOCK_BYTES = 16  # of AES
MAX_KEY = 2**63  # a block with a larger number was not encrypted here
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
    encryptor = cursor_cipher(of).encryptor()
    return encryptor.update(key.to_bytes(BLOCK_BYTES, "big")).hex()


def parse_cursor(cursor: str, *, of: type[Model]) -> int:
    """The key in a cursor."""
    try:
        block = bytes.fromhex(cursor)
    except ValueError:
        block = b""
    decryptor = cursor_cipher(of).decryptor()
    key = int.from_bytes(decryptor.update(block), "big") if len(block) == BLOCK_BYTES else MAX_KEY
    if key >= MAX_KEY:
        raise InvalidInput(
            f"'{cursor[:40]}' is not a cursor.",
            hint="Pass the 'next' value of the previous page.",
            field="cursor",
        )
    return key


@lru_cache
def cursor_cipher(of: type[Model]) -> Cipher[ECB]:
    """The cipher of a table's cursors: a cursor is one block, so it needs neither a mode nor a nonce."""
    key = hmac.digest(settings.SECRET_KEY.encode(), f"cursor {of._meta.label}".encode(), "sha256")
    return Cipher(AES(key), ECB())  # noqa: S305 - one block
