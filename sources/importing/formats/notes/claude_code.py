"""Claude Code's own memory: its memory folders, instruction files, and on demand its transcripts.

A topic file is one memory. MEMORY.md is an index of them: only lines that lead nowhere are taken. Instruction files
(CLAUDE.md, AGENTS.md, rules) are not memories: they are proposed for the group's instructions.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final

from memories.draft import Draft
from memories.types import Type
from sources.importing.drafts import tree_importer
from sources.importing.formats.chats.turns import Conversation, turn_record
from sources.importing.formats.notes.folders import PROBED, FoundNote, draft_of, head_of, notes_of
from sources.importing.formats.notes.instructions import instruction_records, is_instruction
from sources.importing.importer import LineRules, SourceRecord
from sources.importing.lines import first_object, parse_line
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.values import dict_of, list_of, moment_of, ref_of, short_hash, text_of

INDEX: Final = "MEMORY.md"
KINDS: Final = {
    "user": Type.PROCEDURAL,
    "feedback": Type.PROCEDURAL,
    "project": Type.SEMANTIC,
    "reference": Type.SEMANTIC,
}
_INDEX_LINES: Final = "lines of MEMORY.md that lead to a file"
TURNS: Final = "turns of sessions: import them with --turns"
_LINK: Final = re.compile(r"\[[^\]]*\]\([^)]+\.md\)|@\S+\.md")
_INJECTED: Final = re.compile(
    r"<(system-reminder|task-notification|hook_prompt|command-name|command-message|command-args|local-command-stdout|"
    r"memories|hindsight_memories|claude-mem-context)\b[^>]*>.*?</\1>",
    re.DOTALL,
)


def _is_claude_code(tree: FileTree) -> bool:
    path = tree.path
    if path.is_file() and path.suffix.lower() == ".jsonl":
        return {"sessionId", "type"} <= first_object(path).keys()
    if path.is_file() and is_instruction(path.name):
        return True
    return (
        any(PurePosixPath(name).name == INDEX for name in tree.names(".md"))
        or any(_is_topic(found) for found in notes_of(tree, limit=PROBED))
        or any(map(_is_session, tree.names(".jsonl")[:PROBED]))
    )


def _is_topic(found: FoundNote) -> bool:
    head = found.note.head
    return "name" in head and "description" in head and _kind_of(found) in KINDS


def _is_session(name: str) -> bool:
    return bool(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", PurePosixPath(name).stem))


def _read_claude_code(tree: FileTree, rules: LineRules) -> Iterator[SourceRecord]:
    """Topic files and free lines of the index, then the turns of transcripts if the rules ask for them."""
    yield from instruction_records(tree, _project_of)
    for found in notes_of(tree):
        if found.stem == PurePosixPath(INDEX).stem:
            yield from _index_records(found)
        elif not is_instruction(found.name):
            yield _topic_record(found)
    for name in tree.names(".jsonl"):
        if rules.with_turns:
            yield from _transcript_records(tree, name)
        else:
            yield SourceRecord(skipped=TURNS)


def _kind_of(found: FoundNote) -> str:
    """The kind of a memory; newer versions write it below `metadata`."""
    return text_of(found.note.head.get("type")) or text_of(head_of(found, "metadata").get("type"))


def _topic_record(found: FoundNote) -> SourceRecord:
    """A topic file as one memory, its description in front."""
    head, body = found.note.head, found.note.body.strip()
    if found.why or not body:
        return SourceRecord(why=found.why or f"{found.name}: it is empty")
    description = text_of(head.get("description"))
    at = moment_of(head.get("modified")) or moment_of(head_of(found, "metadata").get("modified"))
    kind = _kind_of(found)
    draft = replace(
        draft_of(found, f"{description}\n{body}" if description and description not in body else body, ""),
        type=KINDS.get(kind, Type.SEMANTIC),
        tags=(kind,) if kind else (),
        valid_from=at,
        source_ref=ref_of(_project_of(found.name), found.stem),
    )
    return SourceRecord(draft, place=_project_of(found.name))


def _index_records(found: FoundNote) -> Iterator[SourceRecord]:
    """The list items of the index that say something themselves."""
    for line in found.note.body.split("\n"):
        text = line.strip().lstrip("-*").strip()
        if not text or text.startswith("#"):
            continue
        if _LINK.search(text):
            yield SourceRecord(skipped=_INDEX_LINES)
        else:
            ref = ref_of(_project_of(found.name), "index", short_hash(text))
            yield SourceRecord(Draft(text, source_ref=ref), place=_project_of(found.name))


def _project_of(name: str) -> str:
    """The folder of the project that a file belongs to; its coded name cannot be read back to a path."""
    parts = [part for part in PurePosixPath(name).parts[:-1] if part not in ("memory", "projects", ".claude")]
    return parts[0] if parts else ""


def _transcript_records(tree: FileTree, name: str) -> Iterator[SourceRecord]:
    """The turns of a session: what the user and the assistant wrote, without tools, thoughts and injected texts."""
    session = PurePosixPath(name).stem
    with tree.open(name) as file:
        for number, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            line = parse_line(number, raw)
            if line.why:
                yield SourceRecord(why=f"{name} line {number}: {line.why}")
            elif (record := _turn_of(line.value, session)) is not None:
                yield record


def _turn_of(line: dict[str, Any], session: str) -> SourceRecord | None:
    role = text_of(line.get("type"))
    if role not in ("user", "assistant") or any(
        line.get(k) for k in ("isMeta", "isSidechain", "isCompactSummary")
    ):
        return None
    content = dict_of(line.get("message")).get("content")
    parts = (
        [content] if isinstance(content, str) else [_part_text(dict_of(part)) for part in list_of(content)]
    )
    text = _INJECTED.sub("", "\n".join(filter(None, parts))).strip()
    if not text or all(line.startswith("[") and line.endswith("]") for line in text.split("\n")):
        return None  # nothing but tool calls
    conversation = Conversation(text_of(line.get("sessionId")) or session, "")
    id_ = text_of(line.get("uuid")) or short_hash(session, text)
    record = turn_record(conversation, id_=id_, role=role, text=text, at=moment_of(line.get("timestamp")))
    return replace(record, place=text_of(line.get("cwd")))


def _part_text(part: dict[str, Any]) -> str:
    """The text of a message's part; a tool call is one line, results and thoughts are left out."""
    match part.get("type"):
        case "text":
            return text_of(part.get("text"))
        case "tool_use":
            given = dict_of(part.get("input"))
            target = (
                text_of(given.get("file_path")) or text_of(given.get("path")) or text_of(given.get("command"))
            )
            return (
                f"[{text_of(part.get('name'))} {json.dumps(target[:120], ensure_ascii=False)[1:-1]}]"
                if target
                else ""
            )
    return ""


CLAUDE_CODE = tree_importer(
    "claude-code",
    "memory folders, instruction files or transcripts of Claude Code",
    endings=(".md", ".jsonl", ".zip"),
    single=(".md", ".mdc", ".jsonl", ".zip"),
    recognises=_is_claude_code,
    read=_read_claude_code,
)
