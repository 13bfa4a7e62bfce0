"""An Obsidian vault: one memory per section, and a relation "mentions" for each link between two of its notes."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from memories.draft import Draft
from memories.entities.store_relation import RelationDraft
from memories.types import RELATION_SOURCE, Type
from sources.importing.drafts import tree_importer
from sources.importing.formats.notes.folders import folder_of, notes_of, section_records, source_of_tree
from sources.importing.formats.notes.instructions import instruction_records, is_instruction
from sources.importing.importer import LineRules, SourceRecord
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.values import ref_of, tags_of

LEFT_OUT: Final = "templates, trash and conflict copies"
NO_NOTE: Final = "links to notes that the vault does not have"
_MENTIONS: Final = "mentions"
CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
LINK: Final = re.compile(r"(?<!!)\[\[([^\]|#^\n]+)(?:[#^][^\]|\n]*)?(?:\|[^\]\n]*)?\]\]")
TAG: Final = re.compile(r"(?:^|\s)#([A-Za-z_][\w/-]*)")
_CONFLICT: Final = re.compile(r"\((?:conflicted copy|conflict)[^)]*\)|sync-conflict", re.IGNORECASE)


def _is_vault(tree: FileTree) -> bool:
    return any("/.obsidian/" in f"/{name}" for name in tree.names())


def _read_vault(tree: FileTree, rules: LineRules) -> Iterator[SourceRecord]:
    """The sections of every note, an entity per note that a link joins, then the links."""
    links: dict[tuple[str, str], None] = {}
    titles: dict[str, str] = {}
    yield from instruction_records(tree, folder_of)
    for found in notes_of(tree):
        if is_instruction(found.name):
            continue
        if _is_left_out(found.name):
            yield SourceRecord(skipped=LEFT_OUT)
            continue
        titles[found.stem.lower()] = found.stem
        text = CODE.sub(" ", found.note.body)
        links |= {(found.stem, target.strip().rpartition("/")[2]): None for target in LINK.findall(text)}
        tags = tags_of(found.note.head.get("tags"), TAG.findall(text))
        for record in section_records(found):
            yield replace(record, draft=replace(record.draft, tags=tags)) if record.draft else record
    joined = [(a, titles[b.lower()]) for a, b in links if b.lower() in titles]
    pairs = [(a, b) for a, b in dict.fromkeys(joined) if a != b]
    for title in dict.fromkeys(name for pair in pairs for name in pair):
        # Its source is that of an entity which a relation makes: a name alone takes no place in an answer.
        entity = Draft(title, type=Type.ENTITY, source=RELATION_SOURCE, source_ref=ref_of("note", title))
        yield SourceRecord(entity)
    yield from (SourceRecord(relation=RelationDraft(a, _MENTIONS, b)) for a, b in pairs)
    yield from (SourceRecord(skipped=NO_NOTE) for _, b in links if b.lower() not in titles)


def _is_left_out(name: str) -> bool:
    """True for templates and conflict copies; hidden folders are not read at all."""
    folders = name.lower().split("/")[:-1]
    return "templates" in folders or "template" in folders or bool(_CONFLICT.search(name))


OBSIDIAN = tree_importer(
    "obsidian",
    "an Obsidian vault (folder or zip)",
    endings=(".zip",),
    recognises=_is_vault,
    read=_read_vault,
    source=source_of_tree("obsidian"),
)
