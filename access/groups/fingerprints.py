"""Fingerprints of masked values: a few digits that are the same for the same value, by a key of this home."""

import hashlib
import hmac
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from django.conf import settings

from access.errors import Unavailable
from storage.home import guard_key

_FINGERPRINT_DIGITS: Final = 4
_SALT: Final = "loci.guard"
_KEY: Final = re.compile(r"[0-9a-f]{64}")


def fingerprint(value: str) -> str:
    """A few digits that are the same for the same value, and that cannot be computed without this home's key."""
    key = fingerprint_key(Path(settings.LOCI.home))
    return hmac.new(key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[
        :_FINGERPRINT_DIGITS
    ]


@lru_cache(maxsize=8)
def fingerprint_key(home: Path) -> bytes:
    """The key of a home's fingerprints: its own, so that backups can contain it without the key that signs sessions.

    Raises:
        Unavailable: the file does not hold 64 hexadecimal digits.
    """
    key = guard_key(home, lambda: hashlib.sha256(f"{_SALT}{settings.SECRET_KEY}".encode()).digest())
    if not _KEY.fullmatch(key):
        raise Unavailable(
            "keys/guard.key is not a key of 64 hexadecimal digits.", hint="Copy it back from a backup."
        )
    return bytes.fromhex(key)
