"""Hooks of a purge: each place that copies memories' texts registers one that clears its own copies."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any, Protocol, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, StrIndex

REDACTION = "[purged]"
CHUNK_BYTES = 1024**2  # of a file, searched at once

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class PurgedTexts:
    """The memories that a purge destroys: their keys, texts and ids, and the keys of their groups."""

    keys: tuple[int, ...]
    texts: tuple[str, ...]
    ids: tuple[UUID, ...] = ()
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class ClearedCopies:
    """The result for copies outside the database, in words: what was checked, and where the text may remain.

    `scan` is "done" or "left out" from what searches the files, empty from all others.
    """

    checked: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    scan: str = ""


class OutsideCopies(Protocol):
    """Copies of the store that no transaction reaches, such as backups."""

    def note(self) -> str:
        """Record, inside its transaction, that a purge is under way: it is finished even after a crash.

        The name of the record goes to clear(), which ends this purge's record and nobody else's.
        """

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...], *, note: str) -> ClearedCopies:
        """Remove what was purged from the copies, after the commit; raises nothing."""


OUTSIDE_COPIES: dict[str, OutsideCopies] = {}


def register_outside_copies(name: str, copies: OutsideCopies) -> None:
    """Register copies for each purge to clear. For AppConfig.ready."""
    OUTSIDE_COPIES[name] = copies


def note_outside_copies() -> dict[str, str]:
    """Call note() of all outside copies, inside the purge's transaction; their records, by name."""
    return {name: copies.note() for name, copies in OUTSIDE_COPIES.items()}


def clear_outside_copies(
    ids: frozenset[UUID], texts: tuple[str, ...], notes: dict[str, str]
) -> ClearedCopies:
    """Clear all outside copies, after the commit; `notes` is from note_outside_copies()."""
    found = [copies.clear(ids, texts, note=notes[name]) for name, copies in OUTSIDE_COPIES.items()]
    return ClearedCopies(
        tuple(line for one in found for line in one.checked),
        tuple(line for one in found for line in one.remains),
        "".join(one.scan for one in found),
    )


PurgeHook = Callable[[PurgedTexts], int]
PURGE_HOOKS: dict[str, PurgeHook] = {}


def register_purge_hook(name: str, hook: PurgeHook) -> None:
    """Register a hook for each purge to call inside its transaction; it returns how many rows it cleared.

    For AppConfig.ready."""
    PURGE_HOOKS[name] = hook


def run_purge_hooks(doomed: PurgedTexts) -> dict[str, int]:
    """Call every hook, inside the purge's transaction; the number of rows cleared, by name."""
    return {name: hook(doomed) for name, hook in PURGE_HOOKS.items()}


def encodings_of(text: str) -> tuple[str, ...]:
    """The text as rows and files may contain it: plain, and as JSON with non-ASCII letters escaped or not."""
    return (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])


def contains_any(stream: IO[bytes], needles: Sequence[bytes]) -> bool:
    """True if the stream contains one of the byte strings."""
    overlap, rest = max(map(len, needles), default=1) - 1, b""
    while chunk := stream.read(CHUNK_BYTES):
        part = rest + chunk
        if any(needle in part for needle in needles):
            return True
        rest = part[-overlap:] if overlap else b""
    return False


def rows_quoting(rows: QuerySet[Row], column: str, texts: tuple[str, ...]) -> QuerySet[Row]:
    """The rows whose column contains one of the texts exactly, plain or JSON-encoded."""
    forms = {form for text in texts for form in encodings_of(text)}
    found = Q()
    for at, form in enumerate(sorted(forms)):
        # Not LIKE: SQLite takes no pattern longer than 50,000 bytes.
        rows = rows.alias(**{f"at_{at}": StrIndex(Cast(column, TextField()), Value(form))})
        found |= Q(**{f"at_{at}__gt": 0})
    return rows.filter(found) if forms else rows.none()


def redact(value: Any, texts: tuple[str, ...]) -> Any:
    """A JSON value with each text replaced by REDACTION where it occurs as whole words."""
    if isinstance(value, str):
        for text in texts:
            value = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", REDACTION, value)
        return value
    if isinstance(value, list):
        return [redact(part, texts) for part in value]
    if isinstance(value, dict):
        return {redact(name, texts): redact(part, texts) for name, part in value.items()}
    return value
