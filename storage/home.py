"""LOCI_HOME: the folder with all of Loci's files, accessible to its owner only."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

DATABASE = "memory.db"  # where the setting storage.database names no other file
UPLOADS = "uploads"  # files that wait for their import; made with the first of them
GUARD_KEY = "guard.key"
WATCHING = "watching"  # there while something has to be watched
FOLDERS = ("models", "keys", "backups", "logs")


def ensure_home(home: Path) -> Path:
    """Create LOCI_HOME and its folders with mode 0700 where missing; call before the first write."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in FOLDERS:
        (home / name).mkdir(mode=0o700, exist_ok=True)
    return home


def secret_key(home: Path) -> str:
    """Django's secret key of this installation, created once in LOCI_HOME/keys/django.key (mode 0600)."""
    return _read_key(home, "django.key", lambda: secrets.token_urlsafe(64))


def guard_key(home: Path, first: Callable[[], bytes]) -> str:
    """The key of the guard's fingerprints in LOCI_HOME/keys/guard.key, in hex; backups contain it. `first` makes it once."""
    return _read_key(home, GUARD_KEY, lambda: first().hex())


def _read_key(home: Path, name: str, make: Callable[[], str]) -> str:
    """The text of a key file in LOCI_HOME/keys, which `make` fills where it is missing."""
    path = home / "keys" / name
    if not path.exists():
        write_once(ensure_home(home) / "keys" / name, make())
    return path.read_text(encoding="ascii", errors="replace").strip()


def write_once(path: Path, text: str) -> None:
    """Write a whole file with mode 0600, or keep the one that another process wrote first."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as out:
        out.write(text + "\n")
        out.flush()
        os.fsync(out.fileno())
    try:
        os.link(draft, path)  # unlike a rename, a link never replaces
    except FileExistsError:
        pass
    finally:
        draft.unlink()
