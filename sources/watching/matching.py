"""Matches the sections of a file with their rows. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sources.models import WatchedSection
from sources.watching.note_text import SectionText


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
