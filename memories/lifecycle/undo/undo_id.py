"""The id in the answer of a write: it names the write's log rows to the server, and tells nobody else anything.

It is one block of AES, as the cursors of lists are: the first and last key of the rows, and a keyed hash of the rows and of
the writer, which proves that the id is genuine. Keys stay what they are, however the log is numbered.
"""

import hmac
from base64 import b32decode, b32encode
from collections.abc import Sequence
from typing import Final, NamedTuple

from access.actor import Actor
from access.errors import InvalidInput
from storage.encryption.block_cipher import BLOCK_BYTES, decrypt_block, encrypt_block, key_of

PURPOSE: Final = "undo id"
KEY_BYTES: Final = 6
DISTANCE_BYTES: Final = 2  # from the first key to the last
MARK_BYTES: Final = 8
ID_CHARS: Final = 26  # a block in base 32


class KeyRange(NamedTuple):
    """The first and last key of a write's rows; rows of others may lie between them."""

    first: int
    last: int


def make_undo_id(actor: Actor, keys: Sequence[int]) -> str:
    """The id for a write of the actor with these log rows; empty if they lie too far apart for an id."""
    first, distance = min(keys), max(keys) - min(keys)
    try:
        block = first.to_bytes(KEY_BYTES, "big") + distance.to_bytes(DISTANCE_BYTES, "big")
    except OverflowError:
        return ""
    encrypted = encrypt_block(PURPOSE, block + mark_of(actor, keys))
    return b32encode(encrypted).decode().rstrip("=").lower()


def read_undo_id(text: str) -> tuple[bytes, KeyRange]:
    """The mark and the key range of an id; made-up ones have some too. Raises InvalidInput if it cannot be an id."""
    try:
        encrypted = b32decode(text.strip().upper() + "======") if len(text.strip()) == ID_CHARS else b""
    except ValueError:
        encrypted = b""
    if len(encrypted) != BLOCK_BYTES:
        raise InvalidInput(
            "This is no undo id.", hint="Pass 'undo' of the answer to your write.", field="undo"
        )
    block = decrypt_block(PURPOSE, encrypted)
    first = int.from_bytes(block[:KEY_BYTES], "big")
    distance = int.from_bytes(block[KEY_BYTES:-MARK_BYTES], "big")
    return block[-MARK_BYTES:], KeyRange(first, first + distance)


def is_genuine(mark: bytes, actor: Actor, keys: Sequence[int]) -> bool:
    """True if the mark belongs to exactly these rows and to this actor."""
    return bool(keys) and hmac.compare_digest(mark, mark_of(actor, keys))


def mark_of(actor: Actor, keys: Sequence[int]) -> bytes:
    """The keyed hash of a write's rows and its writer."""
    value = f"{actor.name}\n{actor.token_id}\n{sorted(keys)}"
    return hmac.digest(key_of("undo mark"), value.encode(), "sha256")[:MARK_BYTES]
