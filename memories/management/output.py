"""Output of commands: JSON on request, otherwise lines that fit the terminal and contain no control characters."""

import io
import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from access.errors import InvalidInput, TooLarge
from access.management.command import LociCommand
from memories.embedding import ModelUnavailable, get_encoder
from memories.recall_log import COUNTER
from storage.faults import find_storage_fault

NOTHING_FOUND = 3  # exit status of a recall without an answer
MODEL_WAIT_S = 120.0
_MIN_COLUMNS = 40
_MAX_COLUMNS = 200
# Bidirectional marks: they also reorder the text after them, which is not theirs.
_BIDI_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class FaceCommand(LociCommand):
    """A command that may wait for the model, and counts recalls."""

    uses_model = False

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command; the model is loaded first, since this process has no later moment to use it."""
        for stream in (sys.stdout, sys.stderr):
            # Characters that the terminal's encoding lacks are question marks: failing after the work would be worse.
            if isinstance(stream, io.TextIOWrapper) and "PYTHONIOENCODING" not in os.environ:
                stream.reconfigure(errors="replace")
        wanted = self.verbs[options["verb"]].uses_model if self.verbs else self.uses_model
        if wanted(options) if callable(wanted) else wanted:
            with suppress(ModelUnavailable):  # the services report what that means for their result
                get_encoder(timeout_s=MODEL_WAIT_S)
        try:
            super().handle(*args, **options)
        finally:
            self.count_recalls()

    def count_recalls(self) -> None:
        """Write the recall counts; a full disk does not take back an answer that was given."""
        try:
            COUNTER.flush()
        except DatabaseError as error:
            fault = find_storage_fault(error)
            if fault is None:
                raise
            self.stderr.write(f"The recall was not counted: {fault}.")

    def clean(self, text: str) -> str:
        """The text without characters that control a terminal."""
        return printable(text, keep_lines=True)


def table_text(rows: Sequence[Sequence[str]], *, header: Sequence[str] = ()) -> str:
    """Rows in columns; the last one takes the rest of the terminal's line."""
    return "\n".join(_format_table(rows, header=header, columns=terminal_columns()))


def in_lines(*lines: str) -> str:
    """The lines that are not empty, as one text."""
    return "\n".join(filter(None, lines))


def read_text(argument: str, *, field: str = "content") -> str:
    """The argument, or the text on standard input if it is "-".

    Raises:
        InvalidInput: it is not UTF-8.
        TooLarge: it is longer than a memory may be.
    """
    if argument != "-":
        return argument
    limit = 4 * settings.LOCI.storage.max_content_chars  # bytes: a UTF-8 character has at most four
    raw = sys.stdin.buffer.read(limit + 1) if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
    if len(raw) > limit:
        raise TooLarge(
            f"Standard input has more than {limit:,} bytes.", hint="Store it in parts.", field=field
        )
    try:
        return raw.decode()
    except UnicodeDecodeError as broken:
        raise InvalidInput(
            f"Standard input is not UTF-8 (byte {broken.start}).", hint="Convert it first.", field=field
        ) from None


def printable(text: str, *, keep_lines: bool = False) -> str:
    """The text with control characters and bidirectional marks escaped; by default on one line."""
    lines = text.split("\n") if keep_lines else [" ".join(text.split())]
    return "\n".join("".join(c if _is_harmless(c) else f"\\x{ord(c):02x}" for c in line) for line in lines)


def _is_harmless(c: str) -> bool:
    """True if the character neither controls a terminal nor reorders text."""
    return c not in _BIDI_MARKS and unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp")


def wrap_text(text: str, *, width: int) -> list[str]:
    """The words of a text as lines of at most `width` columns."""
    lines, line = [], ""
    for word in printable(text).split(" "):
        for part in _split_word(word, width):
            longer = f"{line} {part}" if line else part
            if _text_width(longer) > width:
                lines.append(line)
                line = part
            else:
                line = longer
    return [*lines, line] if line else lines


def _text_width(text: str) -> int:
    """The number of columns that a text takes on a terminal."""
    shown = (c for c in text if not unicodedata.combining(c))
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown)


def _format_table(rows: Sequence[Sequence[str]], *, header: Sequence[str], columns: int) -> list[str]:
    """The lines of a table; the last column is wrapped to the rest of the width."""
    shown = [[printable(cell) for cell in row] for row in ([header, *rows] if header else rows)]
    if not shown:
        return []
    widths = [max(_text_width(row[at]) for row in shown) for at in range(len(shown[0]))]
    rest = max(_MIN_COLUMNS // 2, columns - sum(widths[:-1]) - 2 * (len(widths) - 1))
    lines = []
    for row in shown:
        last = wrap_text(row[-1], width=rest) or [""]
        cells = zip(row[:-1], widths, strict=False)
        first = "".join(cell + " " * (width - _text_width(cell) + 2) for cell, width in cells)
        lines += [(first + last[0]).rstrip(), *(" " * _text_width(first) + more for more in last[1:])]
    return lines


def terminal_columns() -> int:
    """The width of the terminal, between _MIN_COLUMNS and _MAX_COLUMNS."""
    return min(max(shutil.get_terminal_size((100, 24)).columns, _MIN_COLUMNS), _MAX_COLUMNS)


def _split_word(word: str, width: int) -> list[str]:
    """The word in parts of at most `width` columns."""
    parts, part = [], ""
    for c in word:
        if _text_width(part + c) > width:
            parts.append(part)
            part = ""
        part += c
    return [*parts, part]
