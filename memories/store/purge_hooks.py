"""What a purge asks of the places that keep copies of memories' texts: each registers a hook that clears its own."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, StrIndex

REDACTION = "[purged]"

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class PurgedTexts:
    """What a purge destroys: the memories' keys, and their texts."""

    keys: tuple[int, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class ClearedCopies:
    """What became of copies beside the database: what was checked, and where the text may still stand; in words."""

    checked: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()


class OutsideCopies(Protocol):
    """Copies of the store that no transaction reaches, such as backups."""

    def note(self) -> None:
        """Remember that a purge is under way, so that a killed process does not leave it undone; inside it."""

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...]) -> ClearedCopies:
        """Take what was purged out of the copies, after the commit; raises nothing."""


OUTSIDE_COPIES: dict[str, OutsideCopies] = {}


def register_outside_copies(name: str, copies: OutsideCopies) -> None:
    """Have each purge reach these copies too. For AppConfig.ready."""
    OUTSIDE_COPIES[name] = copies


def note_outside_copies() -> None:
    """Have all copies beside the database know that they are to be cleared; inside the purge's transaction."""
    for copies in OUTSIDE_COPIES.values():
        copies.note()


def clear_outside_copies(ids: frozenset[UUID], texts: tuple[str, ...]) -> ClearedCopies:
    """Have all copies beside the database cleared; after the commit."""
    found = [copies.clear(ids, texts) for copies in OUTSIDE_COPIES.values()]
    return ClearedCopies(
        tuple(said for one in found for said in one.checked),
        tuple(said for one in found for said in one.remains),
    )


PurgeHook = Callable[[PurgedTexts], int]
PURGE_HOOKS: dict[str, PurgeHook] = {}


def register_purge_hook(name: str, hook: PurgeHook) -> None:
    """Have each purge call `hook` inside its transaction; it gives how many rows it cleared. For AppConfig.ready."""
    PURGE_HOOKS[name] = hook


def run_purge_hooks(doomed: PurgedTexts) -> dict[str, int]:
    """Have every registered place clear what it keeps; give the rows cleared, by name. Inside a transaction."""
    return {name: hook(doomed) for name, hook in PURGE_HOOKS.items()}


def rows_quoting(rows: QuerySet[Row], column: str, texts: tuple[str, ...]) -> QuerySet[Row]:
    """Give the rows whose column holds one of the texts letter by letter, plain or as JSON writes it."""
    forms = {form for text in texts for form in (text, *_as_json(text))}
    found = Q()
    for at, form in enumerate(sorted(forms)):
        # Not LIKE: SQLite takes no pattern longer than 50,000 bytes.
        rows = rows.alias(**{f"at_{at}": StrIndex(Cast(column, TextField()), Value(form))})
        found |= Q(**{f"at_{at}__gt": 0})
    return rows.filter(found) if forms else rows.none()


def redact(value: Any, texts: tuple[str, ...]) -> Any:
    """Give a JSON value with each text, where it stands as words of its own, replaced by a mark."""
    if isinstance(value, str):
        for text in texts:
            value = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", REDACTION, value)
        return value
    if isinstance(value, list):
        return [redact(part, texts) for part in value]
    if isinstance(value, dict):
        return {redact(name, texts): redact(part, texts) for name, part in value.items()}
    return value


def _as_json(text: str) -> tuple[str, str]:
    """SQLite keeps JSON with every other letter escaped, PostgreSQL as it is."""
    return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]
