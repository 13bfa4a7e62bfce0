"""What commands print: JSON on request, else lines that fit the terminal and cannot drive it."""

import argparse
import io
import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from access.errors import InvalidInput, LociError, TooLarge
from memories.embedding import ModelUnavailable, get_encoder
from memories.recall.recall_log import COUNTER

NOTHING_FOUND = 3  # exit status of a recall without an answer
MODEL_WAIT_S = 120.0
NARROWEST = 40  # columns
MAX_COLUMNS = 200
# Marks that turn the direction of what follows, also of what is not theirs.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class FaceCommand(BaseCommand):
    """A command that parses, calls one function and renders. Exit status: 0 done, 1 an error, 2 wrong usage."""

    examples = ""
    takes_group = True
    uses_model = False
    group_help = "default: LOCI_GROUP"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = self.examples
        if self.takes_group:
            parser.add_argument("--group", metavar="SLUG", help=self.group_help)
        parser.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command; an error is said in words, or as JSON where the answer would be."""
        _let_any_text_out()
        if self.uses_model:
            _wait_for_model()
        try:
            status = self.act(options)
        except LociError as error:
            if options["json"]:
                self.print_json(error.as_dict())
            raise CommandError(plain(str(error), keep_lines=True)) from error
        finally:
            COUNTER.flush()
        if status:
            sys.exit(status)

    def act(self, options: dict[str, Any]) -> int:
        """Do the work and print; give the exit status."""
        raise NotImplementedError

    def print_json(self, body: Any) -> None:
        """Print one JSON object on one line."""
        self.stdout.write(json.dumps(body, ensure_ascii=False, default=str).encode(errors="replace").decode())

    def print_table(self, rows: Sequence[Sequence[str]], *, header: Sequence[str] = ()) -> None:
        """Print columns; the last takes what is left of the line."""
        for line in table(rows, header=header, columns=columns()):
            self.stdout.write(line)


def read_text(argument: str, *, field: str = "content") -> str:
    """Give the argument, or what stands on standard input where it is "-".

    Raises:
        InvalidInput: it is not UTF-8.
        TooLarge: it is longer than any memory may be.
    """
    if argument != "-":
        return argument
    limit = 4 * settings.LOCI.storage.max_content_chars  # bytes: no character has more than four
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


def plain(text: str, *, keep_lines: bool = False) -> str:
    """Give the text with whatever could drive a terminal made visible, by default on one line."""
    lines = text.split("\n") if keep_lines else [" ".join(text.split())]
    return "\n".join("".join(c if _is_harmless(c) else f"\\x{ord(c):02x}" for c in line) for line in lines)


def wrapped(text: str, *, width: int) -> list[str]:
    """Cut one line of words into lines of at most `width` columns."""
    lines, line = [], ""
    for word in plain(text).split(" "):
        for part in _parts(word, width):
            longer = f"{line} {part}" if line else part
            if cells(longer) > width:
                lines.append(line)
                line = part
            else:
                line = longer
    return [*lines, line] if line else lines


def cells(text: str) -> int:
    """Count the columns that a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def table(rows: Sequence[Sequence[str]], *, header: Sequence[str], columns: int) -> list[str]:
    """Give the lines of a table whose last column is wrapped to what is left."""
    shown = [[plain(cell) for cell in row] for row in ([header, *rows] if header else rows)]
    if not shown:
        return []
    widths = [max(cells(row[at]) for row in shown) for at in range(len(shown[0]))]
    left = max(NARROWEST // 2, columns - sum(widths[:-1]) - 2 * (len(widths) - 1))
    lines = []
    for row in shown:
        last = wrapped(row[-1], width=left) or [""]
        first = "".join(
            cell + " " * (width - cells(cell) + 2) for cell, width in zip(row[:-1], widths, strict=False)
        )
        lines += [(first + last[0]).rstrip(), *(" " * cells(first) + more for more in last[1:])]
    return lines


def columns() -> int:
    """Give the width of the terminal, within reason."""
    return min(max(shutil.get_terminal_size((100, 24)).columns, NARROWEST), MAX_COLUMNS)


def _parts(word: str, width: int) -> list[str]:
    """Cut a word that is wider than a line."""
    parts, part = [], ""
    for c in word:
        if cells(part + c) > width:
            parts.append(part)
            part = ""
        part += c
    return [*parts, part]


def _is_harmless(c: str) -> bool:
    return c not in _DIRECTIONS and unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp")


def _wait_for_model() -> None:
    """Let the model load to its end: this process has no later moment at which it could be used."""
    with suppress(ModelUnavailable):  # the services say what that means for their answer
        get_encoder(timeout_s=MODEL_WAIT_S)


def _let_any_text_out() -> None:
    """Print what the terminal's encoding lacks as a question mark, rather than fail after the work is done."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and "PYTHONIOENCODING" not in os.environ:
            stream.reconfigure(errors="replace")
