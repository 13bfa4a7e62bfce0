"""The id in the answer of a write: it names the write's log rows to the server, and tells nobody else anything.

It is a synthetic initialisation vector (RFC 5297): a keyed hash of the rows and of the writer, which also proves that the
id is genuine, and the first and last key of the rows, hidden with a second keyed hash. Keys stay what they are, however
the log is numbered.
"""

import hmac
from base64 import b32decode, b32encode
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from django.utils.crypto import constant_time_compare, salted_hmac

from access.actor import Actor
from access.errors import InvalidInput

MARK_BYTES: Final = 8
KEY_BYTES: Final = 8  # six of the first key, two of the distance to the last
MAX_DISTANCE: Final = 2**16 - 1
ID_CHARS: Final = 26  # 16 bytes in base 32


class KeyRange(NamedTuple):
    """The first and last key of a write's rows; rows of others may lie between them."""

    first: int
    last: int


def make_undo_id(actor: Actor, keys: Sequence[int]) -> str:
    """The id for a write of the actor with these log rows; empty if they lie too far apart for an id."""
    first, distance = min(keys), max(keys) - min(keys)
    if distance > MAX_DISTANCE or first >= 2**48:
        return ""
    mark = mark_of(actor, keys)
    plain = first.to_bytes(6, "big") + distance.to_bytes(2, "big")
    return b32encode(mark + _hide(plain, mark)).decode().rstrip("=").lower()


def read_undo_id(text: str) -> tuple[bytes, KeyRange]:
    """The mark and the key range of an id. Raises InvalidInput if it is none."""
    try:
        raw = b32decode(text.strip().upper() + "======") if len(text.strip()) == ID_CHARS else b""
    except ValueError:
        raw = b""
    if len(raw) != MARK_BYTES + KEY_BYTES:
        raise InvalidInput(
            "This is no undo id.", hint="Pass 'undo' of the answer to your write.", field="undo"
        )
    mark, plain = raw[:MARK_BYTES], _hide(raw[MARK_BYTES:], raw[:MARK_BYTES])
    first = int.from_bytes(plain[:6], "big")
    return mark, KeyRange(first, first + int.from_bytes(plain[6:], "big"))


def is_genuine(mark: bytes, actor: Actor, keys: Sequence[int]) -> bool:
    """True if the mark belongs to exactly these rows and to this actor."""
    return bool(keys) and constant_time_compare(mark, mark_of(actor, keys))


def mark_of(actor: Actor, keys: Sequence[int]) -> bytes:
    """The keyed hash of a write's rows and its writer."""
    value = f"{actor.name}\n{actor.token_id}\n{sorted(keys)}"
    return hmac.digest(_secret("loci.undo.mark"), value.encode(), "sha256")[:MARK_BYTES]


def _hide(plain: bytes, mark: bytes) -> bytes:
    stream = hmac.digest(_secret("loci.undo.keys"), mark, "sha256")
    return bytes(left ^ right for left, right in zip(plain, stream, strict=False))


@cache
def _secret(purpose: str) -> bytes:
    """A key for one purpose, derived once per process: the secret key is read from its file each time."""
    return salted_hmac(purpose, "", algorithm="sha256").digest()
