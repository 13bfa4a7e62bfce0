"""Markdown cut at its headings: one section is one memory. Headings as parts of references and file names."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

_HEADING: Final = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE: Final = re.compile(r"^\s*(```+|~~~+)")
_SLUG: Final = re.compile(r"[^\w]+")
_BLANK_LINES: Final = re.compile(r"\A(?:[ \t]*\n)+")
# Up to the last blank line; else the last line that is not indented, so that no item of a list is cut; else the last line.
_CUTS: Final = tuple(re.compile(f".+(?={here})", re.DOTALL) for here in (r"\n\n", r"\n\S", r"\n"))


@dataclass(frozen=True)
class _NoteSection:
    """The text below one heading, without those below it. `path` are the headings from the outermost on.

    `ref` names it within its note, by the headings, with a number if they occur twice.
    """

    path: tuple[str, ...]
    text: str
    ref: str


def split_sections(body: str) -> Iterator[_NoteSection]:
    """The sections of a note that have a text. Headings in code are none. Very long sections are cut at lines."""
    seen: Counter[str] = Counter()
    lines = body.split("\n")
    for path, first, last in headed_lines(lines):
        text = "\n".join(lines[first:last])
        for part in _split_long(_BLANK_LINES.sub("", text).rstrip()):
            if part.strip():
                ref = "/".join(slug_of(heading) for heading in path)
                seen[ref] += 1
                yield _NoteSection(path, part.rstrip(), ref if seen[ref] == 1 else f"{ref}:{seen[ref]}")


def headed_lines(lines: Sequence[str], start: int = 0) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Each heading's path and the range of lines below it, from `start` on; the first range may have no heading."""
    path: list[tuple[int, str]] = []
    fence, began = "", start
    for at in range(start, len(lines)):
        if mark := _FENCE.match(lines[at]):
            fence = mark[1] if not fence else "" if mark[1].startswith(fence) else fence
        heading = None if fence or mark else _HEADING.match(lines[at])
        if heading is not None:
            yield tuple(name for _, name in path), began, at
            depth, began = len(heading[1]), at + 1
            path = [(level, name) for level, name in path if level < depth] + [(depth, heading[2])]
    yield tuple(name for _, name in path), began, len(lines)


def _split_long(text: str) -> Iterator[str]:
    """A text in parts that fit into a memory, cut at blank lines, else at lines, else where it is full."""
    limit = settings.LOCI.storage.max_content_chars * 9 // 10  # the headings come in front
    while len(text) > limit:
        at = next((found.end() for cut in _CUTS if (found := cut.match(text, 0, limit))), limit)
        yield text[:at]
        text = text[at:].lstrip("\n")
    yield text


def with_headings(title: str, section: _NoteSection) -> str:
    """A section's text with its place in front: "Title › Heading: text"."""
    place = place_of(title, section.path)
    if not place:
        return section.text
    return f"{place}\n{section.text}" if "\n" in section.text else f"{place}: {section.text}"


def place_of(title: str, path: tuple[str, ...]) -> str:
    """A section's place in words: "Title › Heading"; a first heading that is the title is named once."""
    return " › ".join(filter(None, (title, *(path[1:] if path[:1] == (title,) else path))))


def slug_of(text: str) -> str:
    """A heading as part of a reference: lower case, words joined by hyphens."""
    return _SLUG.sub("-", text.lower()).strip("-")
