"""Notes of basic-memory: front matter with a permalink; lines `- [category] text #tag (context)` and `- relation [[Note]]`."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from memories.draft import Draft
from memories.entities.store_relation import RelationDraft
from memories.types import RELATION_SOURCE, Type
from sources.importing.drafts import tree_importer
from sources.importing.formats.notes.folders import (
    NOTES,
    PROBED,
    FoundNote,
    draft_of,
    notes_of,
    time_of,
)
from sources.importing.importer import LineRules, SourceRecord
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.values import ref_of, short_hash, tags_of, text_of
from sources.sections import split_sections, with_headings

NO_NOTE: Final = "relations to notes that the folder does not have"
# A category is a word: no task marks such as [x], no times such as [00:01:02], no links such as [text](url).
_OBSERVATION: Final = re.compile(r"^\s*[-*] \[([A-Za-z][\w -]{1,40})\](?!\()\s+(.+)$")
_RELATION: Final = re.compile(
    r'^\s*[-*] (?:"([^"\n]{1,80})"|([\w][\w -]{0,60}))?\s*\[\[([^\]\n|]+)(?:\|[^\]\n]*)?\]\](?:\s*\([^)]*\))?\s*$'
)
_CONTEXT: Final = re.compile(r"\s*\(([^()]*)\)\s*$")
_TAG: Final = re.compile(r"(?:^|\s)#([A-Za-z_][\w/-]*)")
_MAX_RELATION_WORDS: Final = 4  # prose with a link at its end is not a relation


def _is_basic_memory(tree: FileTree) -> bool:
    heads = (found.note.head for found in notes_of(tree, limit=PROBED))
    return any("permalink" in head and ("type" in head or "title" in head) for head in heads)


def _read_basic_memory(tree: FileTree, rules: LineRules) -> Iterator[SourceRecord]:
    """Each note as an entity with its observations and the rest of its text, then the relations."""
    relations: list[tuple[str, str, str]] = []
    titles = dict[str, str]()
    for found in notes_of(tree):
        if found.why:
            yield SourceRecord(why=found.why)
            continue
        permalink = text_of(found.note.head.get("permalink")) or found.name
        titles |= {key.lower(): found.title for key in (found.title, found.stem, permalink)}
        yield SourceRecord(_entity_draft(found, permalink), place=found.folder)
        prose = []
        for line in found.note.body.split("\n"):
            if observation := _OBSERVATION.match(line):
                yield _observation_record(found, permalink, observation[1], observation[2])
            elif relation := _relation_of(line):
                relations.append((found.title, *relation))
            else:
                prose.append(line)
        for section in split_sections("\n".join(prose)):
            draft = draft_of(found, with_headings(found.title, section), "")
            ref = ref_of(permalink, "text", section.ref)
            yield SourceRecord(replace(draft, type=Type.SEMANTIC, source_ref=ref), place=found.folder)
    for subject, predicate, target in dict.fromkeys(relations):
        if title := titles.get(target.lower()):
            if title != subject:
                yield SourceRecord(relation=RelationDraft(subject, predicate, title))
        else:
            yield SourceRecord(skipped=NO_NOTE)


def _entity_draft(found: FoundNote, permalink: str) -> Draft:
    kind = text_of(found.note.head.get("type"))
    tags = tags_of(found.note.head.get("tags"), [kind])
    return Draft(
        found.title,
        type=Type.ENTITY,
        source=RELATION_SOURCE,  # a name alone takes no place in an answer
        tags=tags,
        source_ref=ref_of(permalink),
        valid_from=time_of(found.note.head),
    )


def _observation_record(found: FoundNote, permalink: str, category: str, text: str) -> SourceRecord:
    """A line with a category: its text as a fact about the note, the context behind it as metadata."""
    context = _CONTEXT.search(text)
    text = text[: context.start()] if context else text
    tags = tags_of([category], _TAG.findall(text), found.note.head.get("tags"))
    plain = _TAG.sub("", text).strip() or text.strip()
    draft = Draft(
        f"{found.title}: {plain}",
        tags=tags,
        metadata={"context": context[1]} if context and context[1].strip() else {},
        source_ref=ref_of(permalink, category, short_hash(plain)),
        valid_from=time_of(found.note.head),
    )
    return SourceRecord(draft, place=found.folder)


def _relation_of(line: str) -> tuple[str, str] | None:
    found = _RELATION.match(line)
    if found is None:
        return None
    predicate = (found[1] or found[2] or "links to").strip()
    if not found[1] and len(predicate.split()) > _MAX_RELATION_WORDS:
        return None
    return predicate, found[3].strip()


BASIC_MEMORY = tree_importer(
    "basic-memory",
    "notes of basic-memory (folder, zip or one note)",
    endings=(".md", ".zip"),
    single=(".zip", *NOTES),
    recognises=_is_basic_memory,
    read=_read_basic_memory,
)
