"""What all formats of notes have in common: the notes of a folder or zip, and the drafts of their sections."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final

from access.errors import LociError
from memories.draft import DEFAULT_IMPORTANCE, Draft
from memories.language.word_forms import is_unspaced
from memories.types import Type
from sources.importing.formats.notes.front_matter import Note, split_note
from sources.importing.importer import SourceRecord
from sources.importing.reading.file_tree import FileTree, is_hidden
from sources.importing.reading.values import dict_of, moment_of, ref_of, short_hash, tags_of, text_of
from sources.sections import split_sections, with_headings

NOTES: Final = (".md", ".markdown")
PROBED: Final = 200  # notes that are looked at to recognise a format


@dataclass(frozen=True)
class FoundNote:
    """A note of a tree: its name there, the folder that it is in, and its parts; `why` if it cannot be read."""

    name: str
    note: Note
    why: str = ""

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return PurePosixPath(self.name).stem

    @property
    def folder(self) -> str:
        """The note's folder, "" at the top."""
        return folder_of(self.name)

    @property
    def title(self) -> str:
        """The title that it names, else the file's name."""
        return text_of(self.note.head.get("title")) or self.stem


def folder_of(name: str) -> str:
    """The folder of a file in its tree, "" at the top."""
    return name.rpartition("/")[0]


def notes_of(
    tree: FileTree, *, endings: tuple[str, ...] = NOTES, limit: int | None = None
) -> Iterator[FoundNote]:
    """The notes of a tree that are not hidden, in order of their names."""
    names = [name for name in tree.names(*endings) if not is_hidden(name)]
    for name in names[:limit]:
        try:
            yield FoundNote(name, split_note(tree.text(name)))
        except LociError as error:
            yield FoundNote(name, Note({}, ""), f"{name}: {error.message}")


def source_of_tree(format_name: str) -> Callable[[Path], str]:
    """Reads the source of a tree's notes, with the tree's name: two folders may have notes of the same name."""

    def source(path: Path) -> str:
        with FileTree(path) as tree:
            return f"{format_name}:{tree.name}"

    return source


def time_of(head: dict[str, Any]) -> datetime | None:
    """When a note was written, by its front matter; files' own times change with every copy."""
    names = ("valid_from", "created", "created_at", "date", "modified", "updated")
    return next((at for name in names if (at := moment_of(head.get(name)))), None)


def draft_of(found: FoundNote, content: str, ref: str) -> Draft:
    """A draft with what the front matter says: type, tags, importance, author, thread, time."""
    head = found.note.head
    kind, importance = text_of(head.get("type")).lower(), text_of(head.get("importance"))
    author = text_of(head.get("author"))
    return Draft(
        content,
        type=kind if kind in Type.values else Type.SEMANTIC,
        tags=tags_of(head.get("tags")),
        importance=int(importance) if importance.isdigit() else DEFAULT_IMPORTANCE,
        thread=text_of(head.get("thread"))[:200],
        metadata={"speaker": author} if author else {},
        source_ref=ref_of(found.name, *filter(None, [ref])),
        valid_from=time_of(head),
    )


_ITEM: Final = re.compile(r"[-*+] +(?=\S)")
_TASK: Final = re.compile(r"\[.\] ")
_GOES_ON: Final = re.compile(r"\s|$|(?!\d+[.)] )\w")  # a line that may belong to the item before it
_FACT_WORDS: Final = 3  # fewer are words of an enumeration


def _facts_of(text: str) -> list[str]:
    """The items of a text that is one list of facts, each with what is indented below it; empty for any other text.

    Numbered steps, tasks, enumerations of words, and lists with a paragraph stay whole.
    """
    items, is_after_blank = list[str](), False
    for line in text.split("\n"):
        if mark := _ITEM.match(line):
            items.append(line[mark.end() :])
        elif not items or not _GOES_ON.match(line) or (is_after_blank and line[:1].strip()):
            return []
        else:
            items[-1] += f"\n{line}"
        is_after_blank = not line.strip()
    are_facts = all(
        not _TASK.match(item) and (len(item.split()) >= _FACT_WORDS or is_unspaced(item[0])) for item in items
    )
    return [item.rstrip() for item in items] if are_facts and len(items) > 1 else []


def section_records(found: FoundNote) -> Iterator[SourceRecord]:
    """One record per section of a note, or per item of a section that is a list of facts."""
    if found.why:
        yield SourceRecord(why=found.why)
        return
    for section in split_sections(found.note.body):
        facts = _facts_of(section.text)
        # By its text: whatever comes before it, an item that was imported stays known.
        for text, ref in [(fact, short_hash(section.ref, fact)) for fact in facts] or [
            (section.text, section.ref)
        ]:
            draft = draft_of(found, with_headings(found.title, replace(section, text=text)), ref)
            yield SourceRecord(draft, place=found.folder)


def head_of(found: FoundNote, name: str) -> dict[str, Any]:
    """A part of the front matter with keys of its own; empty if there is none."""
    return dict_of(found.note.head.get(name))
