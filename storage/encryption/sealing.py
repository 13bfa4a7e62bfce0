"""Sealed files: AES-256-GCM in chunks, with a key of their own derived from the database's.

A file is the mark, the key's id and a salt, then chunks of ciphertext. A chunk's nonce is its number and whether it is the
last one, so that chunks cannot be left out, exchanged or cut off (the construction of age and STREAM).
"""

import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from storage.encryption import KEY_ID_BYTES, DatabaseKey
from storage.whole_file import replace_whole

MARK: Final = b"loci sealed 1\n"
SALT_BYTES, TAG_BYTES = 16, 16
CHUNK_BYTES: Final = 64 * 1024
HEADER_BYTES: Final = len(MARK) + KEY_ID_BYTES + SALT_BYTES
_NONCE_NUMBER_BYTES: Final = 11
PURPOSE: Final = b"loci sealed file"
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a private folder is made in it


class UnsealError(ValueError):
    """A sealed file cannot be opened; the message continues a sentence that begins with the file's name."""


def is_sealed(head: bytes) -> bool:
    """True if the bytes begin with the mark of a sealed file."""
    return head.startswith(MARK)


def sealed_size(size: int) -> int:
    """The size of a sealed file with `size` bytes of content."""
    return HEADER_BYTES + size + TAG_BYTES * max(1, -(-size // CHUNK_BYTES))


def key_that_unseals(head: bytes, *keys: DatabaseKey | None) -> DatabaseKey | None:
    """Which of the keys opens a file, by its first bytes; None for a plain file.

    Raises:
        UnsealError: it is sealed, with none of these.
    """
    if not is_sealed(head):
        return None
    for key in keys:
        if key is not None and head[len(MARK) :].startswith(key.id):
            return key
    raise UnsealError("is encrypted with another key")


def seal(content: bytes, key: DatabaseKey | None) -> bytes:
    """The content sealed; unchanged without a key."""
    return b"".join(sealed_chunks([content], key)) if key else content


def unseal(content: bytes, key: DatabaseKey | None) -> bytes:
    """The content of sealed bytes; other bytes unchanged.

    Raises:
        UnsealError: it takes another key, or the bytes are damaged.
    """
    return b"".join(_unsealed_chunks(io.BytesIO(content), key)) if is_sealed(content) else content


class _Sealer:
    """Seals one file in parts, as its content arrives."""

    def __init__(self, key: DatabaseKey) -> None:
        salt = os.urandom(SALT_BYTES)
        self.header = MARK + key.id + salt
        self._cipher, self._number, self._waiting = AESGCM(key.derive(PURPOSE + salt)), 0, b""

    def update(self, content: bytes) -> bytes:
        """The next part of the file."""
        self._waiting += content
        parts = []
        # The last chunk has its own nonce, so a full one waits until it is known not to be the last.
        while len(self._waiting) > CHUNK_BYTES:
            chunk, self._waiting = self._waiting[:CHUNK_BYTES], self._waiting[CHUNK_BYTES:]
            parts.append(self._cipher.encrypt(_nonce(self._number, is_last=False), chunk, None))
            self._number += 1
        return b"".join(parts)

    def finish(self) -> bytes:
        """The last part."""
        return self._cipher.encrypt(_nonce(self._number, is_last=True), self._waiting, None)


def sealed_chunks(content: Iterable[bytes], key: DatabaseKey) -> Iterator[bytes]:
    """A sealed file with this content, in parts."""
    sealer = _Sealer(key)
    yield sealer.header
    yield from map(sealer.update, content)
    yield sealer.finish()


def _unsealed_chunks(stream: IO[bytes], key: DatabaseKey | None) -> Iterator[bytes]:
    """The content of a sealed file, in parts.

    Raises:
        UnsealError: it takes another key, or the file is damaged.
    """
    head = stream.read(HEADER_BYTES)
    if key is None:
        raise UnsealError("is encrypted: set storage.encryption and its key")
    if head[len(MARK) : -SALT_BYTES] != key.id:
        raise UnsealError(f"is encrypted with another key than that of {key.origin}")
    cipher, number = AESGCM(key.derive(PURPOSE + head[-SALT_BYTES:])), 0
    chunk = stream.read(CHUNK_BYTES + TAG_BYTES)
    while True:
        following = stream.read(CHUNK_BYTES + TAG_BYTES)
        try:
            yield cipher.decrypt(_nonce(number, is_last=not following), chunk, None)
        except InvalidTag:
            raise UnsealError("is damaged, or cut off") from None
        if not following:
            return
        chunk, number = following, number + 1


class SealedWriter(io.RawIOBase):
    """A writable file whose content is sealed into another; closing it writes the last chunk."""

    def __init__(self, out: IO[bytes], key: DatabaseKey) -> None:
        super().__init__()
        self._out, self._sealer = out, _Sealer(key)
        out.write(self._sealer.header)

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, content: Any, /) -> int:
        """Seal and write all of it."""
        part = bytes(content)
        self._out.write(self._sealer.update(part))
        return len(part)

    def close(self) -> None:
        """Write the last chunk; the underlying file stays open."""
        if not self.closed:
            self._out.write(self._sealer.finish())
        super().close()


@contextmanager
def readable(path: Path, key: DatabaseKey | None) -> Iterator[Path]:
    """A readable path of the file's content: the file itself, or a temporary unsealed copy.

    The copy is in memory (/dev/shm) where there is such a place, or else in the system's folder for temporary files.

    Raises:
        UnsealError: the file takes another key, or is damaged.
    """
    is_sealed_file = False
    if path.is_file():
        with path.open("rb") as file:
            is_sealed_file = is_sealed(file.read(len(MARK)))
    if not is_sealed_file:
        yield path
        return
    place = MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2 * path.stat().st_size else None
    with tempfile.TemporaryDirectory(prefix="loci-", dir=place) as folder:
        copy = Path(folder) / path.name
        with path.open("rb") as sealed, copy.open("wb") as out:
            out.writelines(_unsealed_chunks(sealed, key))
        yield copy


def replace_sealing(path: Path, old: DatabaseKey | None, new: DatabaseKey | None) -> bool:
    """Rewrite a file sealed with `old` or plain, so that it is sealed with `new` or plain; False if it already is.

    Raises:
        UnsealError: it takes another key than these, or is damaged; it stays as it is.
    """
    with path.open("rb") as source:
        head = source.read(len(MARK) + KEY_ID_BYTES)
        own = key_that_unseals(head, old, new)
        if (own and own.id) == (new and new.id):
            return False
        source.seek(0)
        content = _unsealed_chunks(source, own) if own else iter(lambda: source.read(CHUNK_BYTES), b"")
        with replace_whole(path) as out:
            out.writelines(sealed_chunks(content, new) if new else content)
    return True


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(_NONCE_NUMBER_BYTES) + bytes([is_last])
