"""The id in the answer of a write: it names the change to the server, and tells nobody else anything.

It is one block of AES, as the cursors of lists are: the number of the change, and a keyed hash of it and of the writer, which
proves that the id is genuine.
"""

import hmac
from base64 import b32decode, b32encode
from typing import Final

from access.actor import Actor
from access.errors import InvalidInput
from storage.encryption.block_cipher import BLOCK_BYTES, decrypt_block, encrypt_block, key_of

PURPOSE: Final = "undo id"
CHANGE_BYTES: Final = 8
MARK_BYTES: Final = BLOCK_BYTES - CHANGE_BYTES
ID_CHARS: Final = 26  # a block in base 32


def make_undo_id(actor: Actor, change: int) -> str:
    """The id for a change that the actor made."""
    encrypted = encrypt_block(PURPOSE, change.to_bytes(CHANGE_BYTES, "big") + mark_of(actor, change))
    return b32encode(encrypted).decode().rstrip("=").lower()


def read_undo_id(text: str) -> tuple[bytes, int]:
    """The mark and the change of an id; made-up ones have some too. Raises InvalidInput if it cannot be an id."""
    try:
        encrypted = b32decode(text.strip().upper() + "======") if len(text.strip()) == ID_CHARS else b""
    except ValueError:
        encrypted = b""
    if len(encrypted) != BLOCK_BYTES:
        raise InvalidInput(
            "This is not an undo id.", hint="Pass 'undo' of the answer to your write.", field="undo"
        )
    block = decrypt_block(PURPOSE, encrypted)
    # A made-up id may have any number; those that the database cannot hold name nothing.
    return block[CHANGE_BYTES:], int.from_bytes(block[:CHANGE_BYTES], "big") & (2**63 - 1)


def is_genuine(mark: bytes, actor: Actor, change: int) -> bool:
    """True if the mark belongs to exactly this change and to this actor."""
    return hmac.compare_digest(mark, mark_of(actor, change))


def mark_of(actor: Actor, change: int) -> bytes:
    """The keyed hash of a change and its writer."""
    value = f"{actor.name}\n{actor.token_id}\n{change}"
    return hmac.digest(key_of("undo mark"), value.encode(), "sha256")[:MARK_BYTES]
