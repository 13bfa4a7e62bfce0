"""A watched file as sections with their positions, so that one can be replaced without touching the rest."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from memories.draft import Draft
from sources.importing.formats.notes.folders import FoundNote, draft_of
from sources.importing.formats.notes.front_matter import split_note
from sources.importing.formats.notes.locus import (
    ENDINGS as LOCUS_ENDINGS,
)
from sources.importing.formats.notes.locus import (
    locus_record,
    title_of,
    without_title,
)
from sources.importing.formats.notes.sections import (
    NoteSection,
    place_of,
    split_long,
    with_headings,
)
from sources.slug import slug_of
from sources.watching.front_matter import BrokenHead, body_start, read_head

WHOLE: Final = ""  # ref of a file that is one memory
_HEADING: Final = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE: Final = re.compile(r"^\s*(```+|~~~+)")


@dataclass(frozen=True)
class Span:
    """A range of a text without surrounding empty lines, below a path of headings."""

    path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True)
class SectionText:
    """A section of a file: its reference, text, position, and the memory made from it.

    `place` are the headings that the memory has in front. `span` None: it is part of a longer text, and cannot be replaced.
    """

    ref: str
    body: str
    draft: Draft
    place: str = ""
    span: Span | None = None

    @cached_property
    def body_hash(self) -> str:
        """Hash of the text."""
        return hash_of(self.body)

    @cached_property
    def labels_hash(self) -> str:
        """Hashes of the front matter's labels and of the headings, 32 digits each."""
        draft = self.draft
        return (
            hash_of(json.dumps([draft.type, list(draft.tags), draft.importance]))[:32]
            + hash_of(self.place)[:32]
        )

    def body_of(self, content: str) -> str:
        """A memory's text in this section's form: without the headings in front."""
        for mark in (f"{self.place}\n", f"{self.place}: "):
            if self.place and content.startswith(mark):
                return content[len(mark) :]
        return content


@dataclass(frozen=True)
class NoteText:
    """The text and sections of a file. `trouble` is the reason why Loci never writes into it; empty if it may."""

    path: str
    text: str
    sections: tuple[SectionText, ...]
    is_locus: bool = False
    trouble: str = ""

    @property
    def newline(self) -> str:
        """The line end that the file uses."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def with_bodies(self, bodies: dict[str, str]) -> str:
        """The text with new texts for some sections, by ref; everything else unchanged."""
        text = self.text
        changed = [each for each in self.sections if each.ref in bodies and each.span is not None]
        for section in sorted(changed, key=lambda each: each.span.start if each.span else 0, reverse=True):
            assert section.span is not None  # noqa: S101 - filtered above
            body = bodies[section.ref]
            if self.is_locus:
                body = self._titled(body)
            body = body.replace("\n", self.newline)
            text = text[: section.span.start] + body + text[section.span.end :]
        return text

    def _titled(self, content: str) -> str:
        """A locus's text with its own title restored, if the title was derived from the text."""
        raw = self.text[body_start(self.text) :].replace("\r\n", "\n").strip()
        is_made = without_title(raw) != raw
        return f"# {title_of(content)}\n\n{content}" if is_made else content


def hash_of(text: str) -> str:
    """SHA-256 of a text in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_note(path: str, raw: bytes) -> NoteText:
    """The sections of a file.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    text = raw.decode("utf-8")
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    found = FoundNote(path, split_note(plain))
    trouble = ""
    try:
        read_head(text)
    except BrokenHead as broken:
        trouble = f"its front matter cannot be read, so the file is never written: {broken}"
    if path.lower().endswith(LOCUS_ENDINGS):
        return NoteText(path, text, locus_sections(found, text), is_locus=True, trouble=trouble)
    if text.replace("\r\n", "").count("\r"):
        trouble = trouble or "its lines end with CR alone, so the file is never written"
    return NoteText(path, text, tuple(note_sections(found, text)), trouble=trouble)


def locus_sections(found: FoundNote, text: str) -> tuple[SectionText, ...]:
    """A .locus file as one section."""
    draft = locus_record(found).draft
    if draft is None:
        return ()
    span = trimmed(text, (), body_start(text), len(text))
    return (SectionText(WHOLE, draft.content, replace(draft, group=None, source_ref=""), "", span),)


def note_sections(found: FoundNote, text: str) -> Iterator[SectionText]:
    """The sections of a note that have text, cut as by an import. References are unique."""
    seen: Counter[str] = Counter()
    for span in raw_spans(text, body_start(text)):
        whole = text[span.start : span.end].replace("\r\n", "\n").replace("\r", "\n")
        parts = [part for part in split_long(whole) if part.strip()]
        for part in parts:
            ref = "/".join(slug_of(heading) for heading in span.path)
            seen[ref] += 1
            ref = (ref if seen[ref] == 1 else f"{ref}:{seen[ref]}")[:300]
            section = NoteSection(span.path, part.rstrip(), ref)
            content = with_headings(found.title, section)
            place = place_of(found.title, span.path)
            draft = replace(draft_of(found, content, ref), source_ref="")
            yield SectionText(ref, section.text, draft, place, span if len(parts) == 1 else None)


def raw_spans(text: str, start: int) -> Iterator[Span]:
    """Each heading's path and the range of lines below it, without empty ranges and headings in code."""
    path: list[tuple[int, str]] = []
    fence, at, begin = "", start, start
    for line in _LINE.findall(text[start:]):
        shown = line.rstrip("\r\n")
        if mark := _FENCE.match(shown):
            fence = mark[1] if not fence else "" if mark[1].startswith(fence) else fence
        heading = None if fence or mark else _HEADING.match(shown)
        if heading is not None:
            if span := trimmed(text, names_of(path), begin, at):
                yield span
            depth, begin = len(heading[1]), at + len(line)
            path = [(level, name) for level, name in path if level < depth] + [(depth, heading[2])]
        at += len(line)
    if span := trimmed(text, names_of(path), begin, len(text)):
        yield span


def names_of(path: list[tuple[int, str]]) -> tuple[str, ...]:
    """The headings of a path."""
    return tuple(name for _, name in path)


def trimmed(text: str, path: tuple[str, ...], start: int, end: int) -> Span | None:
    """The range without leading empty lines and trailing white space; None if nothing is left."""
    part = text[start:end]
    if not part.strip():
        return None
    lead = re.match(r"(?:[ \t]*\r?\n|\r)*", part)
    return Span(path, start + (lead.end() if lead else 0), start + len(part.rstrip()))
