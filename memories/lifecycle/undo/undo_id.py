"""The id in the answer of a write: it names the change to the server, and tells nobody else anything.

It is one block of AES, as the cursors of lists are, of the number of the change; the log says whose change it is.
"""

from base64 import b32decode, b32encode
from typing import Final

from access.errors import InvalidInput
from storage.encryption.pages import BLOCK_BYTES, decrypt_block, encrypt_block

PURPOSE: Final = "undo id"
ID_CHARS: Final = 26  # a block in base 32


def make_undo_id(change: int) -> str:
    """The id for a change."""
    encrypted = encrypt_block(PURPOSE, change.to_bytes(BLOCK_BYTES, "big"))
    return b32encode(encrypted).decode().rstrip("=").lower()


def read_undo_id(text: str) -> int:
    """The change of an id; made-up ones have some too. Raises InvalidInput if it cannot be an id."""
    try:
        encrypted = b32decode(text.strip().upper() + "======") if len(text.strip()) == ID_CHARS else b""
    except ValueError:
        encrypted = b""
    if len(encrypted) != BLOCK_BYTES:
        raise InvalidInput(
            "This is not an undo id.", hint="Pass 'undo' of the answer to your write.", field="undo"
        )
    # A made-up id may have any number; those that the database cannot hold name nothing.
    return int.from_bytes(decrypt_block(PURPOSE, encrypted), "big") & (2**63 - 1)
