"""The key of an encrypted store: where it comes from, and the keys derived from it.

It is never stored in LOCI_HOME, so the folder, its disk or a backup is useless without it.
"""

import hmac
import importlib
import os
import re
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings

KEY_BYTES: Final = 32
KEY_TEXT: Final = re.compile(rf"[0-9a-fA-F]{{{2 * KEY_BYTES}}}")
KEY_ID_BYTES: Final = 8
VARIABLE: Final = "LOCI_DB_KEY"
_KEYRING_SERVICE: Final = "loci"
_MAKE_ONE: Final = "'loci store encrypt --make-key' makes one"


class KeyProblem(Exception):
    """The key is missing, malformed or wrong; the message is a sentence that names the setting."""


@dataclass(frozen=True)
class DatabaseKey:
    """A raw 256-bit key and its origin in words."""

    raw: bytes = field(repr=False)
    origin: str

    @property
    def literal(self) -> str:
        """The key in SQLCipher's raw form, without a derivation that takes seconds per connection."""
        return f"\"x'{self.raw.hex()}'\""

    @property
    def id(self) -> bytes:
        """A fingerprint that tells keys apart without revealing them."""
        return self.derive(b"loci key id")[:KEY_ID_BYTES]

    def derive(self, purpose: bytes) -> bytes:
        """A 256-bit key for another purpose."""
        return hmac.digest(self.raw, purpose, "sha256")


def database_key() -> DatabaseKey | None:
    """The key from the settings; None if the store is not encrypted.

    Raises:
        KeyProblem: there is no key where the settings say, or it is malformed.
    """
    config = settings.LOCI
    if config.storage.encryption == "none" or config.database_url:
        return None
    return _read(config.database_key, config.storage.key_file, config.home)


@lru_cache(maxsize=8)
def _read(text: str, path: Path | None, home: Path) -> DatabaseKey:
    """The key from the variable, else from the file, else from the keyring."""
    if text:
        return _parse_key(text, f"the variable {VARIABLE}")
    return key_from_file(path) if path is not None else _key_from_keyring(home)


def _parse_key(text: str, origin: str) -> DatabaseKey:
    """The key written as 64 hexadecimal digits; errors never repeat the text."""
    if not KEY_TEXT.fullmatch(text.strip()):
        raise KeyProblem(f"The key in {origin} must have {2 * KEY_BYTES} hexadecimal digits; {_MAKE_ONE}.")
    return DatabaseKey(bytes.fromhex(text.strip()), origin)


def key_from_file(path: Path, *, name: str = "storage.key_file") -> DatabaseKey:
    """The key in a file."""
    origin = f"{name} ({path})"
    try:
        text = path.read_text(encoding="ascii")
    except OSError as error:
        raise KeyProblem(
            f"The key in {origin} cannot be read: {error.strerror or error}; {_MAKE_ONE} if there never was one."
        ) from error
    except UnicodeDecodeError:
        text = ""
    return _parse_key(text, origin)


def _key_from_keyring(home: Path) -> DatabaseKey:
    """The key in the system's keyring, under the name of LOCI_HOME."""
    keyring = _keyring()
    text = keyring.get_password(_KEYRING_SERVICE, str(home))
    if not text:
        raise KeyProblem(
            f"The keyring has no key named {_KEYRING_SERVICE} for {home} (storage.key_in_keyring); {_MAKE_ONE}."
        )
    return _parse_key(text, "the keyring (storage.key_in_keyring)")


def make_key() -> DatabaseKey:
    """Create and return a new key in the place that the settings name; an existing key is never replaced.

    Raises:
        KeyProblem: there is one, it cannot be written, or it is to come from the environment.
    """
    config, text = settings.LOCI, secrets.token_hex(KEY_BYTES)
    if config.database_key:
        raise KeyProblem(f"The key comes from the variable {VARIABLE}, which a command cannot set.")
    path = config.storage.key_file
    if path is not None:
        _write_key(path, text)
    else:
        keyring = _keyring()
        if keyring.get_password(_KEYRING_SERVICE, str(config.home)):
            raise KeyProblem("The keyring has a key already (storage.key_in_keyring); it was not replaced.")
        keyring.set_password(_KEYRING_SERVICE, str(config.home), text)
    _read.cache_clear()
    return _read("", path, config.home)


def _write_key(path: Path, text: str) -> None:
    """Write a new file readable by its owner only."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise KeyProblem(f"storage.key_file ({path}) exists already; it was not replaced.") from None
    except OSError as error:
        raise KeyProblem(f"storage.key_file ({path}) cannot be written: {error.strerror}.") from error
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(f"{text}\n")
        out.flush()
        os.fsync(out.fileno())


def _keyring() -> Any:
    try:
        return importlib.import_module("keyring")
    except ImportError as missing:
        raise KeyProblem(
            "storage.key_in_keyring needs the package keyring: run `pip install keyring`, then start again."
        ) from missing
