"""The plain pages of an encrypted SQLite file or write-ahead log, for a search through their bytes.

The layout is SQLCipher's since version 4: pages of 4096 bytes, each with its IV and MAC in its last 80; the file's first 16
bytes are a salt. The pages are not authenticated here: SQLCipher does that whenever it reads one.
"""

import hmac
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC, ECB
from django.conf import settings

from storage.encryption import DatabaseKey

BLOCK_BYTES: Final = 16


def encrypt_block(purpose: str, block: bytes) -> bytes:
    """The encrypted block, with a key of its own for each purpose."""
    return _cipher(purpose).encryptor().update(block)


def decrypt_block(purpose: str, block: bytes) -> bytes:
    """What encrypt_block() encrypted; noise for anything else."""
    return _cipher(purpose).decryptor().update(block)


@cache
def key_of(purpose: str) -> bytes:
    """The server's key for a purpose, derived once per process: the secret key is read from its file each time."""
    return hmac.digest(settings.SECRET_KEY.encode(), purpose.encode(), "sha256")


@cache
def _cipher(purpose: str) -> Cipher[ECB]:
    """One block needs neither a mode nor a nonce."""
    return Cipher(AES(key_of(purpose)), ECB())  # noqa: S305 - one block


_PLAIN_HEADER: Final = b"SQLite format 3\x00"
_LOG_HEADERS: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
PAGE_BYTES, RESERVED_BYTES, SALT_BYTES, IV_BYTES = 4096, 80, 16, 16
LOG_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24


def is_plain(path: Path) -> bool:
    """True if the file is an unencrypted SQLite database. Not for a file that this process has open: closing it would end SQLite's locks."""
    with path.open("rb") as file:
        return file.read(len(_PLAIN_HEADER)) == _PLAIN_HEADER


def present_key(connection: Any, key: DatabaseKey | None) -> None:
    """Tell an open connection of SQLCipher its key, before it reads anything."""
    # A wrong key is told in a sentence, by us; SQLCipher would print four lines about it.
    connection.execute("PRAGMA cipher_log_level = NONE")
    if key is not None:
        connection.execute(f"PRAGMA key = {key.literal}")


class PlainPages:
    """The decrypted pages of a database or its log, as a stream; a plain database is read unchanged."""

    def __init__(self, stream: IO[bytes], key: DatabaseKey) -> None:
        self._stream, self._aes = stream, AES(key.raw)
        self._head = stream.read(SALT_BYTES)
        self._is_log = self._head.startswith(_LOG_HEADERS)
        self._is_plain = self._head == _PLAIN_HEADER
        if self._is_log:
            stream.read(LOG_HEADER_BYTES - SALT_BYTES)
            self._head = b""

    def read(self, size: int = -1, /) -> bytes:
        """At least one page, and no more than about `size` bytes; empty at the end."""
        if self._is_plain:
            head, self._head = self._head, b""
            return head + self._stream.read(size)
        pages = [self._next() for _ in range(max(1, size // PAGE_BYTES))]
        return b"".join(pages)

    def _next(self) -> bytes:
        """The next page's content; empty at the end of the stream."""
        number = 0
        if self._is_log:
            number = int.from_bytes(self._stream.read(FRAME_HEADER_BYTES)[:4])
        head, self._head = self._head, b""
        page = head + self._stream.read(PAGE_BYTES - len(head))
        if len(page) < PAGE_BYTES:
            return b""
        start = SALT_BYTES if head or number == 1 else 0
        end = PAGE_BYTES - RESERVED_BYTES
        decryptor = Cipher(self._aes, CBC(page[end : end + IV_BYTES])).decryptor()
        return decryptor.update(page[start:end])
