"""A Markdown file, or a folder or zip of them: one memory per section. Also the Markdown that Loci exports."""

from collections.abc import Iterator

from sources.importing.drafts import tree_importer
from sources.importing.formats.notes.folders import (
    NOTES,
    folder_of,
    notes_of,
    section_records,
    source_of_tree,
)
from sources.importing.formats.notes.instructions import instruction_records, is_instruction
from sources.importing.formats.notes.locus import is_locus_note, locus_record
from sources.importing.importer import LineRules, Recognition, SourceRecord
from sources.importing.reading.file_tree import FileTree, is_hidden


def _is_markdown(tree: FileTree) -> Recognition:
    has_notes = any(not is_hidden(name) for name in tree.names(*NOTES))
    return Recognition.PLAIN if has_notes else Recognition.NO


def _read_markdown(tree: FileTree, rules: LineRules) -> Iterator[SourceRecord]:
    """The sections of every note; a note that Loci exported is one memory."""
    yield from instruction_records(tree, folder_of)
    for found in notes_of(tree):
        if is_instruction(found.name):
            continue
        if is_locus_note(found):
            yield locus_record(found)
        else:
            yield from section_records(found)


MARKDOWN = tree_importer(
    "markdown",
    "a Markdown file, or a folder or zip of them",
    endings=(*NOTES, ".zip"),
    recognises=_is_markdown,
    read=_read_markdown,
    source=source_of_tree("markdown"),
)
