"""What is wrong with a line of a file that comes in."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from access.errors import InvalidInput, NotFound

READ_AT_ONCE = 2**20  # bytes; a thread that reads waits for its turn after each


@dataclass(frozen=True)
class LineFault:
    """A line that was not taken, by its number from 1, and why. Nothing of it was written."""

    line: int
    why: str


class StrictStop(InvalidInput):
    """A strict import met a line at fault and stopped there; what came before is stored."""


@dataclass(frozen=True)
class RawLine:
    """A line of a file: the JSON object that it holds, or why it holds none."""

    number: int
    value: dict[str, Any]
    why: str = ""


def read_lines(path: Path) -> Iterator[RawLine]:
    """Give each line of a JSON lines file that is not blank.

    Raises:
        NotFound: the file cannot be opened.
    """
    try:
        file = path.open("rb", buffering=READ_AT_ONCE)
    except OSError as fault:
        raise NotFound(f"{path} cannot be read: {fault.strerror}.", field="file") from None
    with file:
        for number, raw in enumerate(file, start=1):
            if raw.strip():
                yield _read(number, raw)


def _read(number: int, raw: bytes) -> RawLine:
    try:
        value = json.loads(raw)
    except UnicodeDecodeError:
        return RawLine(number, {}, "it is not UTF-8")
    except (ValueError, RecursionError) as fault:
        return RawLine(number, {}, f"it is not JSON: {fault}")
    if not isinstance(value, dict):
        return RawLine(number, {}, "it is no JSON object")
    # Only an escape can bring half of a pair in; no database takes one.
    if b"\\u" in raw and not _is_text(value):
        return RawLine(number, {}, "it holds half of a surrogate pair, which is no character")
    return RawLine(number, value)


def _is_text(value: dict[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
