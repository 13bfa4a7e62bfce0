"""A client's files on the disk: written whole or not at all, with one backup, and given back as they were."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

from loci_site.clients.merging import NotMergeable
from storage.whole_file import replace_whole


class Ledger:
    """What `loci connect` wrote, in LOCI_HOME/hooks/connections.json: for each file what it was, and what it became."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "hooks"
        self.path = self.folder / "connections.json"

    def read(self) -> dict[str, dict[str, Any]]:
        """The files of every connection by "client/scope" and path."""
        try:
            return dict(json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}

    def files(self, key: str) -> dict[str, dict[str, Any]]:
        return dict(self.read().get(key, {}))

    def note(self, key: str, path: Path, *, before: bytes | None, after: bytes) -> None:
        """Remember what a file was, the first time, and what it is now."""
        known = self.read()
        entry = known.setdefault(key, {}).setdefault(str(path), {"existed": before is not None})
        if entry["existed"] and "backup" not in entry and before is not None:
            backup = self.folder / f"backup-{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
            write_whole(backup, before, mode=0o600)
            entry["backup"] = str(backup)
        entry["written"] = hashlib.sha256(after).hexdigest()
        self._save(known)

    def forget(self, key: str) -> None:
        known = self.read()
        for entry in known.pop(key, {}).values():
            if backup := entry.get("backup"):
                Path(backup).unlink(missing_ok=True)
        self._save(known)

    def original(self, entry: dict[str, Any], now: bytes) -> bytes | None:
        """The file's earlier bytes if it is unchanged, else None. Empty for a file that was not there."""
        if hashlib.sha256(now).hexdigest() != entry.get("written"):
            return None
        return Path(entry["backup"]).read_bytes() if entry.get("backup") else b""

    def _save(self, known: dict[str, Any]) -> None:
        known = {key: files for key, files in known.items() if files}
        if known:
            write_whole(self.path, json.dumps(known, indent=2).encode(), mode=0o600)
        else:
            self.path.unlink(missing_ok=True)


def read_file(path: Path) -> bytes | None:
    """A file's bytes; None if there is none.

    Raises:
        NotMergeable: the file or its folder may not be written.
    """
    target = path.resolve()
    if not target.exists():
        return None
    if not target.is_file() or not target.stat().st_mode & stat.S_IWUSR or not os.access(target, os.W_OK):
        raise NotMergeable("It may not be written.")
    return target.read_bytes()


def write_whole(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put the bytes in the file's place at once; a link's target is replaced, not the link, and its mode is kept."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
    with replace_whole(target, mode=mode) as file:
        file.write(data)
