"""Lines of an import file, and why a line is rejected."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from django.db import connection

from access.answers import Answer
from access.errors import InvalidInput, NotFound
from storage.sqlite.dialect import database_files

READ_BYTES = 2**20  # per read
FIRST_BYTES = 2**16


@dataclass(frozen=True)
class LineFault(Answer):
    """A rejected line, by its number from 1, and the reason. Nothing of it was written."""

    line: int
    why: str


class StrictStop(InvalidInput):
    """A strict import stopped at a rejected line; the lines before it are stored."""


@dataclass(frozen=True)
class RawLine:
    """A line of a file: its JSON object, or the reason why it has none. `nul_in` is the column with a NUL character, if any."""

    number: int
    value: dict[str, Any]
    why: str = ""
    nul_in: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """The columns of a line of an export."""
        found: dict[str, Any] = self.value["row"]
        return found


def open_file(path: Path) -> BinaryIO:
    """An import file, opened for reading.

    Raises:
        NotFound: it cannot be opened.
        InvalidInput: it is the open store, which would lose its locks when this file is closed.
    """
    if _is_open_store(path):
        raise InvalidInput(
            f"{path} is this store itself.", hint="Import an export or another store's backup.", field="file"
        )
    try:
        return path.open("rb", buffering=READ_BYTES)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}.", field="file") from None


def _is_open_store(path: Path) -> bool:
    files = database_files(Path(str(connection.settings_dict["NAME"])))
    try:
        return any(path.samefile(file) for file in files if file.exists())
    except OSError:
        return False


def first_bytes(path: Path) -> bytes:
    """The beginning of a file, by which its format is recognised.

    Raises:
        NotFound: the file cannot be opened.
    """
    with open_file(path) as file:
        return file.read(FIRST_BYTES)


def first_object(path: Path) -> dict[str, Any]:
    """The JSON object on a file's first line; empty if there is none, or if the line is longer than FIRST_BYTES.

    Raises:
        NotFound: the file cannot be opened.
    """
    return parse_line(1, first_bytes(path).lstrip().split(b"\n", 1)[0]).value


def count_lines(path: Path) -> int:
    """Number of lines of a file, including a last one without a line end.

    Raises:
        NotFound: the file cannot be opened.
    """
    count, last = 0, b"\n"
    with open_file(path) as file:
        while chunk := file.read(READ_BYTES):
            count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last != b"\n")


def read_lines(path: Path) -> Iterator[RawLine]:
    """The lines of a JSON lines file, without blank ones.

    Raises:
        NotFound: the file cannot be opened.
    """
    with open_file(path) as file:
        for number, raw in enumerate(file, start=1):
            if raw.strip():
                yield parse_line(number, raw)


def parse_line(number: int, raw: bytes) -> RawLine:
    """Parse one line; a line that is not a JSON object of valid text has `why` set."""
    try:
        value = json.loads(raw)
    except UnicodeDecodeError:
        return RawLine(number, {}, "it is not UTF-8")
    except json.JSONDecodeError as error:
        return RawLine(number, {}, f"it is not JSON: {error.msg} at character {error.pos + 1}")
    except (ValueError, RecursionError) as error:
        return RawLine(number, {}, f"it is not JSON: {error}")
    if not isinstance(value, dict):
        return RawLine(number, {}, "it is not a JSON object")
    # Only an escape can produce a lone surrogate; no database accepts one.
    if b"\\u" in raw and _has_lone_surrogate(value):
        return RawLine(number, {}, "it contains a lone surrogate, which is not a valid character")
    return RawLine(number, value, nul_in=_column_with_nul(value) if b"\\u0000" in raw else "")


def _column_with_nul(value: dict[str, Any]) -> str:
    """The column of a line's row, or else its key, that contains a NUL character; "" if none does."""
    row = value.get("row")
    columns = {**value, **row, "row": None} if isinstance(row, dict) else value
    found = next((name for name, each in columns.items() if _has_nul(name) or _has_nul(each)), "")
    return found.replace("\x00", "\ufffd")


def _has_nul(value: Any) -> bool:
    """True if a JSON value has a text, or a key, with a NUL character, which no text may have."""
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any(_has_nul(name) or _has_nul(each) for name, each in value.items())
    return isinstance(value, list) and any(map(_has_nul, value))


def _has_lone_surrogate(value: dict[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
