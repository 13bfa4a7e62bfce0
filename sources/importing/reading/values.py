"""Single values of foreign files, of which nothing is known: a wrong type counts as missing."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, Final

from access.errors import InvalidInput
from memories.language.cleaning import parse_moment

_MAX_REF_CHARS: Final = 300
# Larger numbers are milliseconds, microseconds: as seconds they would be the years 5138 and 5,000,000.
_MILLISECONDS, _MICROSECONDS = 10**11, 10**14


def text_of(value: Any) -> str:
    """A text without spaces around it; a number as text; "" for all else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def list_of(value: Any) -> list[Any]:
    """A list; empty for all else."""
    return value if isinstance(value, list) else []


def dict_of(value: Any) -> dict[str, Any]:
    """A dict with text keys; empty for all else."""
    return value if isinstance(value, dict) else {}


def json_value(value: Any) -> Any:
    """The value of a column that holds a list or object as JSON; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def texts_of(value: Any) -> list[str]:
    """The texts of a list, or of a text separated by commas."""
    parts = value.split(",") if isinstance(value, str) else list_of(value)
    return [text for part in parts if (text := text_of(part))]


def tags_of(*values: Any) -> tuple[str, ...]:
    """Tags from lists or texts separated by commas, without `#`, each once and no longer than a tag may be."""
    found = (text.lstrip("#").strip()[:60] for value in values for text in texts_of(value))
    return tuple(dict.fromkeys(tag for tag in found if tag))


def moment_of(value: Any) -> datetime | None:
    """A time: ISO 8601, or seconds, milliseconds or microseconds since 1970; None if it is none."""
    if isinstance(value, bool) or value in (None, "", 0):
        return None
    if isinstance(value, str):
        text = value.strip()
        if not text.replace(".", "", 1).isdigit() or len(text) <= len("20260101"):
            try:
                return parse_moment(text, field="time")
            except InvalidInput:
                return None
        value = float(text)
    if not isinstance(value, int | float):
        return None
    scale = 10**6 if abs(value) >= _MICROSECONDS else 1000 if abs(value) >= _MILLISECONDS else 1
    try:
        return datetime.fromtimestamp(value / scale, tz=UTC)
    except (OverflowError, OSError, ValueError):
        return None


def short_hash(*parts: str) -> str:
    """Eight hex digits of the SHA-256 of some texts."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def ref_of(*parts: str) -> str:
    """A source_ref of the parts, joined by `#`; one that is too long ends with a hash instead."""
    ref = "#".join(" ".join(part.split()) for part in parts)
    if len(ref) <= _MAX_REF_CHARS:
        return ref
    return f"{ref[: _MAX_REF_CHARS - 9]}#{short_hash(ref)}"
