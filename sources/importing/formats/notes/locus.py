"""`.locus` files: one memory each, Markdown with front matter `id`, `created`, `room`, `tags`.

The first heading is the title. A title that an export made from the text itself is taken off again.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from memories.sessions.conversations import CONVERSATION
from sources.importing.drafts import tree_importer
from sources.importing.formats.notes.folders import FoundNote, draft_of, notes_of
from sources.importing.formats.notes.instructions import instruction_record
from sources.importing.importer import LineRules, SourceRecord
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.values import text_of

ENDINGS: Final = (".locus",)
ID: Final = re.compile(r"locus-\d{8}-[\w-]+")
STANDING: Final = "CLAUDE.md"  # a room's instructions
_TITLE_CHARS: Final = 60
_HEADING: Final = re.compile(r"\A\s*# (.+)\n+")


def _is_locus(tree: FileTree) -> bool:
    return bool(tree.names(*ENDINGS))


def is_locus_note(found: FoundNote) -> bool:
    """True for a note with the id of a locus."""
    return bool(ID.fullmatch(text_of(found.note.head.get("id"))))


def _read_locus(tree: FileTree, rules: LineRules) -> Iterator[SourceRecord]:
    for name in tree.names(".md"):
        if PurePosixPath(name).name == STANDING:
            yield instruction_record(tree, name, place=PurePosixPath(name).parent.name)
    yield from map(locus_record, notes_of(tree, endings=ENDINGS))


def locus_record(found: FoundNote) -> SourceRecord:
    """A file as a memory of its room; a file without an id is known by its name."""
    if found.why:
        return SourceRecord(why=found.why)
    head, content = found.note.head, without_title(found.note.body)
    if not content:
        return SourceRecord(why=f"{found.name}: it is empty")
    room = text_of(head.get("room"))
    # The file is not a turn of the conversation it was taken from, so it does not join, or make, a thread.
    values = {
        "speaker": text_of(head.get("author")),
        CONVERSATION: text_of(head.get(CONVERSATION))[:500],
        "origin": text_of(head.get("origin")),
    }
    draft = replace(
        draft_of(found, content, ""),
        group=room or None,
        metadata={name: value for name, value in values.items() if value},
    )
    if is_locus_note(found):
        draft = replace(draft, source_ref=text_of(head["id"]))
    return SourceRecord(draft, place=room or found.folder)


def without_title(body: str) -> str:
    """The text, without a heading that only repeats its beginning."""
    heading = _HEADING.match(body)
    rest = body[heading.end() :].strip() if heading else ""
    return rest if heading and title_of(rest) == heading[1].strip() else body.strip()


def title_of(content: str) -> str:
    """A title for a text: its first line, cut at a word."""
    line = " ".join(content.strip().split("\n", 1)[0].split()).strip("# ")
    if len(line) <= _TITLE_CHARS:
        return line
    cut = line[:_TITLE_CHARS].rsplit(" ", 1)[0]
    return f"{cut} …"


LOCUS = tree_importer(
    "locus",
    "a .locus file, or a folder or zip of them",
    endings=(*ENDINGS, ".zip"),
    recognises=_is_locus,
    read=_read_locus,
)
