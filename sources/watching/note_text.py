"""A watched file as sections, and which of its rows each section has. Pure."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from memories.draft import Draft
from sources.importing.formats.notes.folders import FoundNote, draft_of
from sources.importing.formats.notes.front_matter import split_note
from sources.importing.formats.notes.locus import ENDINGS as LOCUS_ENDINGS
from sources.importing.formats.notes.locus import locus_record
from sources.models import WatchedSection
from sources.sections import place_of, split_sections, with_headings

WHOLE: Final = ""  # ref of a file that is one memory


@dataclass(frozen=True)
class SectionText:
    """A section of a file: its reference, its text, and the memory made from it, with the headings `place` in front."""

    ref: str
    body: str
    draft: Draft
    place: str = ""

    @cached_property
    def body_hash(self) -> str:
        """Hash of the text."""
        return _hash_of(self.body)

    @cached_property
    def labels_hash(self) -> str:
        """Hashes of the front matter's labels and of the headings, 32 digits each."""
        draft = self.draft
        labels = json.dumps([draft.type, list(draft.tags), draft.importance])
        return _hash_of(labels)[:32] + _hash_of(self.place)[:32]

    def body_of(self, content: str) -> str:
        """A memory's text without the headings in front."""
        for mark in (f"{self.place}\n", f"{self.place}: "):
            if self.place and content.startswith(mark):
                return content[len(mark) :]
        return content


@dataclass(frozen=True)
class NoteText:
    """The text and sections of a file."""

    text: str
    sections: tuple[SectionText, ...]


def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_note(path: str, raw: bytes) -> NoteText:
    """The sections of a file, cut as by an import.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    text = raw.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    found = FoundNote(path, split_note(text))
    is_locus = path.lower().endswith(LOCUS_ENDINGS)
    return NoteText(text, tuple(_locus_section(found) if is_locus else _note_sections(found)))


def _locus_section(found: FoundNote) -> Iterator[SectionText]:
    if (draft := locus_record(found).draft) is not None:
        yield SectionText(WHOLE, draft.content, replace(draft, group=None, source_ref=""))


def _note_sections(found: FoundNote) -> Iterator[SectionText]:
    for section in split_sections(found.note.body):
        ref = section.ref[:300]
        draft = replace(draft_of(found, with_headings(found.title, section), ref), source_ref="")
        yield SectionText(ref, section.text, draft, place_of(found.title, section.path))


@dataclass(frozen=True)
class Matches:
    """Pairs of sections and rows, new sections, and rows whose section is gone."""

    pairs: tuple[tuple[SectionText, WatchedSection], ...]
    new: tuple[SectionText, ...]
    gone: tuple[WatchedSection, ...]


def match_sections(sections: Sequence[SectionText], rows: Sequence[WatchedSection]) -> Matches:
    """Match by heading and text, else by text (a changed heading), else by heading (a changed text)."""
    pairs: list[tuple[SectionText, WatchedSection]] = []
    left, free = list(sections), list(rows)
    for key_of_section, key_of_row in (
        (lambda s: (s.ref, s.body_hash), lambda r: (r.ref, r.body_hash)),
        (lambda s: s.body_hash, lambda r: r.body_hash),
        (lambda s: s.ref, lambda r: r.ref),
    ):
        by_key = defaultdict[object, list[WatchedSection]](list)
        for row in free:
            by_key[key_of_row(row)].append(row)
        unmatched = []
        for section in left:
            if same := by_key[key_of_section(section)]:
                pairs.append((section, same.pop(0)))
            else:
                unmatched.append(section)
        left = unmatched
        taken = {id(row) for _, row in pairs}
        free = [row for row in free if id(row) not in taken]
    return Matches(tuple(pairs), tuple(left), tuple(free))
