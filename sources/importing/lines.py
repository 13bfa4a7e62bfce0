"""Lines of an import file, and why a line is rejected."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from access.errors import InvalidInput, NotFound

READ_BYTES = 2**20  # per read


@dataclass(frozen=True)
class LineFault:
    """A rejected line, by its number from 1, and the reason. Nothing of it was written."""

    line: int
    why: str


class StrictStop(InvalidInput):
    """A strict import stopped at a rejected line; the lines before it are stored."""


@dataclass(frozen=True)
class RawLine:
    """A line of a file: its JSON object, or the reason why it has none."""

    number: int
    value: dict[str, Any]
    why: str = ""


def read_lines(path: Path) -> Iterator[RawLine]:
    """The lines of a JSON lines file, without blank ones.

    Raises:
        NotFound: the file cannot be opened.
    """
    try:
        file = path.open("rb", buffering=READ_BYTES)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}.", field="file") from None
    with file:
        for number, raw in enumerate(file, start=1):
            if raw.strip():
                yield parse_line(number, raw)


def parse_line(number: int, raw: bytes) -> RawLine:
    """Parse one line; a line that is not a JSON object of valid text has `why` set."""
    try:
        value = json.loads(raw)
    except UnicodeDecodeError:
        return RawLine(number, {}, "it is not UTF-8")
    except (ValueError, RecursionError) as error:
        return RawLine(number, {}, f"it is not JSON: {error}")
    if not isinstance(value, dict):
        return RawLine(number, {}, "it is not a JSON object")
    # Only an escape can produce a lone surrogate; no database accepts one.
    if b"\\u" in raw and _has_lone_surrogate(value):
        return RawLine(number, {}, "it contains a lone surrogate, which is not a valid character")
    return RawLine(number, value)


def _has_lone_surrogate(value: dict[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
