"""Encryption of a single block: for ids and cursors that tell nobody but the server what they stand for."""

import hmac
from functools import cache
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from django.conf import settings

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
