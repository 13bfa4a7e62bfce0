"""Locators: `path#L10-L42@sha`, where sha begins the hash of the text on these lines."""

import re
from typing import Final, NamedTuple

from sources.models import SHA_DIGITS

_LOCATOR: Final = re.compile(
    r"(?P<path>.+)#L(?P<start>\d{1,9})(?:-L(?P<end>\d{1,9}))?@(?P<sha>[0-9a-f]{6,64})"
)


class Locator(NamedTuple):
    """A range of lines in a file, and the start of the hash of its text."""

    path: str
    start: int
    end: int
    sha: str


def format_locator(path: str, start: int, end: int, text_hash: str) -> str:
    """The locator of a chunk."""
    lines = f"L{start}" if start == end else f"L{start}-L{end}"
    return f"{path}#{lines}@{text_hash[:SHA_DIGITS]}"


def parse_locator(text: str) -> Locator | None:
    """The parsed locator; None if the text is not one."""
    found = _LOCATOR.fullmatch(text.strip())
    if found is None:
        return None
    start = int(found["start"])
    return Locator(found["path"], start, int(found["end"] or start), found["sha"])
