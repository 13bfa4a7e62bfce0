"""Instruction files of agents' clients: CLAUDE.md, AGENTS.md, rules. They are proposed for a group's instructions."""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Final

from access.errors import LociError
from sources.importing.formats.notes.front_matter import split_note
from sources.importing.importer import InstructionsText, SourceRecord
from sources.importing.reading.file_tree import FileTree, is_hidden
from sources.importing.reading.values import list_of, text_of

NAMES: Final = ("claude.md", "claude.local.md", "agents.md", "gemini.md")
RULES: Final = ("/.claude/rules/", "/.cursor/rules/")
_LEADS_ELSEWHERE: Final = "instruction files that only lead to others"
SCOPES: Final = ("paths", "globs")  # of a rule: the files that it is for
_IMPORT: Final = re.compile(r"^@\S+$", re.MULTILINE)


def is_instruction(name: str) -> bool:
    """True for an instruction file, by its name in its tree."""
    base = PurePosixPath(name).name.lower()
    return base in NAMES or base.endswith(".mdc") or any(part in f"/{name}" for part in RULES)


def instruction_records(tree: FileTree, place_of: Callable[[str], str]) -> Iterator[SourceRecord]:
    """The instruction files of a tree, rules in hidden folders too; those of packages are not the reader's."""
    for name in tree.names(".md", ".mdc"):
        is_read = not is_hidden(name) or any(part in f"/{name}" for part in RULES)
        if is_instruction(name) and is_read and "node_modules" not in PurePosixPath(name).parts:
            yield instruction_record(tree, name, place=place_of(name))


def instruction_record(tree: FileTree, name: str, *, place: str = "") -> SourceRecord:
    """An instruction file of a tree."""
    try:
        text = instruction_text(tree.text(name))
    except LociError as error:
        return SourceRecord(why=f"{name}: {error.message}")
    if not text:
        return SourceRecord(skipped=_LEADS_ELSEWHERE)
    file = name if tree.path.is_file() and tree.names() == [name] else f"{tree.name}/{name}"
    return SourceRecord(instructions=InstructionsText(text, file), place=place)


def instruction_text(text: str) -> str:
    """What a file says: without front matter, but for the files that a rule is for. Empty if it only leads to others."""
    note = split_note(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    body = note.body.strip()
    if not _IMPORT.sub("", body).strip():
        return ""
    named = (note.head.get(name) for name in SCOPES)
    scopes = [text_of(each) for value in named for each in (list_of(value) or [value]) if text_of(each)]
    return f"For the files {', '.join(scopes)}:\n\n{body}" if scopes else body
