"""Reports of imports. Every face renders them by what ImportReport has alone."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Final

from access.answers import Answer
from access.groups.guarding import mask_words
from guard import kind_of
from memories.draft import Draft
from memories.language.cleaning import format_count
from memories.store.withdrawn.tombstones import key_missing_text
from sources.format import counts_text
from sources.importing.lines import LineFault

RELATED: Final = "related"  # the count of new relations
PROPOSED: Final = "proposed"  # of instruction files that wait in the Review
SAMPLE_TEXTS: Final = 5
SAMPLE_CHARS: Final = 200


@dataclass(frozen=True, kw_only=True)
class ImportReport(Answer, ABC):
    """What an import did, or what it would do.

    `unit` is what the numbers of the rejected lines, `faults`, count: "line", or "record" for files without lines. `run` is
    the id by which the import is undone as a whole; "" if it cannot be, or has changed nothing. `skipped` counts the records
    left out on purpose, by reason; `sample` shows the first texts, as sample_of() does.
    """

    faults: tuple[LineFault, ...]
    unit: str = "line"
    run: str = ""
    skipped: dict[str, int] = field(default_factory=dict)
    sample: tuple[dict[str, str], ...] = ()

    @abstractmethod
    def counts(self) -> list[tuple[str, int]]:
        """The numbers that are not zero, each with its words, without rejected lines."""

    @abstractmethod
    def as_text(self) -> str:
        """One or more sentences."""


@dataclass(frozen=True, kw_only=True)
class LinesReport(ImportReport):
    """Number of lines by result; `lines` does not count blank ones."""

    source: str
    lines: int
    created: int
    reinforced: int
    unchanged: int
    queued: int
    related: int = 0
    proposed: int = 0  # instruction files
    findings: dict[str, int] = field(default_factory=dict)  # by kind, as the guard found them

    def counts(self) -> list[tuple[str, int]]:
        """The results that occurred."""
        results = [
            ("created", self.created),
            ("unchanged", self.unchanged),
            ("restated", self.reinforced),
            ("waiting for a curator", self.queued),
            ("relations", self.related),
            ("instruction files to decide about in the Review", self.proposed),
        ]
        return [(words, count) for words, count in results if count]

    def as_text(self) -> str:
        """All results in one sentence."""
        relations = f"{format_count(self.related, 'relation')}, " if self.related else ""
        proposed = f"{format_count(self.proposed, 'instruction file')} proposed, " if self.proposed else ""
        left_out = "".join(f"\n  {count} left out: {why}" for why, count in sorted(self.skipped.items()))
        return (
            f"{format_count(self.lines, self.unit)} from {self.source}: {self.created} created, {self.unchanged} unchanged, "
            f"{self.reinforced} restated, {self.queued} waiting for a curator, {relations}{proposed}{len(self.faults)} not stored."
            f"{left_out}"
            f"{_found_text(self.findings)}"
        )


@dataclass(frozen=True, kw_only=True)
class RestoreReport(ImportReport):
    """Number of lines by kind and result; `loose` counts successors that are in neither file nor store.

    Its rows have ids of their own, and are not undone as a whole.
    """

    origin: str
    added: dict[str, int]
    unchanged: dict[str, int]
    loose: int = 0
    purged_payloads: int = 0
    missing_keys: dict[str, int] = field(default_factory=dict)  # tombstones by key that is not available here

    def counts(self) -> list[tuple[str, int]]:
        """Added rows by kind, and the lines already in the store."""
        unchanged = sum(self.unchanged.values())
        added = [(f"{kind} added", count) for kind, count in self.added.items() if count]
        return [*added, *([("lines already in the store", unchanged)] if unchanged else [])]

    def as_text(self) -> str:
        """What was added, what was there, and what is missing."""
        loose = ""
        if self.loose:
            verb = "is" if self.loose == 1 else "are"
            loose = f" {format_count(self.loose, 'successor')} {verb} in neither the file nor the store."
        missing = f" {text}." if (text := key_missing_text(self.missing_keys)) else ""
        here = lines_were(sum(self.unchanged.values()))
        return (
            f"From store {self.origin}: {counts_text(self.added)} added; {here} already here.{loose}{missing}"
        )


def _found_text(findings: dict[str, int]) -> str:
    kinds = ", ".join(f"{count} {kind_of(kind).label}" for kind, count in sorted(findings.items()))
    return f" Found: {kinds}." if kinds else ""


def lines_were(lines: int, unit: str = "line") -> str:
    """A number of lines with its verb: "1 line was", "2 lines were"."""
    return f"{format_count(lines, unit)} {'was' if lines == 1 else 'were'}"


def sample_of(draft: Draft) -> dict[str, str]:
    """A draft as a report shows it."""
    return {
        "type": draft.type,
        "group": draft.group or "",
        "content": mask_words(draft.content)[:SAMPLE_CHARS],
    }
