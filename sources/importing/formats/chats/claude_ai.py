"""Claude's data export: the zip, its folder, or `conversations.json`. Conversations do not name their project."""

from collections.abc import Iterator
from typing import Any, Final

from memories.draft import Draft
from sources.importing.drafts import tree_importer
from sources.importing.formats.chats.turns import Conversation, elements_of, first_values, turn_record
from sources.importing.importer import LineRules, SourceRecord, Waiting
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.json_stream import read_items
from sources.importing.reading.values import dict_of, list_of, moment_of, ref_of, short_hash, text_of

STARTS: Final = ("conversations", "projects")
ENDINGS: Final = (".zip", ".json", ".dms")
DOCUMENTS: Final = "documents of projects, which are not memories"


def _is_claude_ai(tree: FileTree) -> bool:
    firsts = first_values(tree, starts=STARTS)
    return any("chat_messages" in dict_of(first.values.get("")) for first in firsts)


def _read_claude_ai(tree: FileTree, rules: LineRules) -> Iterator[SourceRecord]:
    names = tree.names(".json")
    for name in names:
        base = name.rpartition("/")[2].lower()
        if base.startswith("projects") or "projects/" in name.lower():
            with tree.open(name) as file:
                yield from _project_records(file)
        elif len(names) == 1 or base.startswith("conversations"):
            for item in elements_of(tree, name):
                yield from _conversation_records(item)


def _conversation_records(item: dict[str, Any]) -> Iterator[SourceRecord]:
    id_ = text_of(item.get("uuid"))
    if not id_:
        yield SourceRecord(why="a conversation without a uuid")
        return
    conversation = Conversation(id_, text_of(item.get("name")), moment_of(item.get("created_at")))
    for message in map(dict_of, list_of(item.get("chat_messages"))):
        text, role = _message_text(message), text_of(message.get("sender"))
        if text and role in ("human", "assistant"):
            turn = text_of(message.get("uuid")) or short_hash(id_, text)
            at = moment_of(message.get("created_at"))
            yield turn_record(conversation, id_=turn, role=role, text=text, at=at)


def _message_text(message: dict[str, Any]) -> str:
    if text := text_of(message.get("text")):
        return text
    parts = (dict_of(part) for part in list_of(message.get("content")))
    return "\n".join(
        text for part in parts if part.get("type") == "text" and (text := text_of(part.get("text")))
    )


def _project_records(file: Any) -> Iterator[SourceRecord]:
    """The instructions of projects, in a file of one or of a list. Their documents are left out."""
    single: dict[str, Any] = {}
    for item in read_items(file):
        if item.key == "" and item.is_element:
            yield from _instruction_records(dict_of(item.value))
        elif item.is_element:
            single.setdefault(item.key, []).append(item.value)
        else:
            single[item.key] = item.value
    if single.get("uuid"):
        yield from _instruction_records(single)


def _instruction_records(project: dict[str, Any]) -> Iterator[SourceRecord]:
    """The instructions of one project, and a skipped record for each of its documents."""
    name, text = text_of(project.get("name")), text_of(project.get("prompt_template"))
    if text:
        ref = ref_of("project", text_of(project.get("uuid")))
        draft = Draft(
            f"{name}: {text}" if name else text,
            type="procedural",
            tags=("instructions",),
            source_ref=ref,
            valid_from=moment_of(project.get("created_at")),
        )
        yield SourceRecord(draft, place=name)
    yield from (SourceRecord(skipped=DOCUMENTS) for _ in list_of(project.get("docs")))


CLAUDE_AI = tree_importer(
    "claude-ai",
    "a data export of Claude (zip, folder or conversations.json)",
    endings=ENDINGS,
    recognises=_is_claude_ai,
    read=_read_claude_ai,
    waiting=Waiting.FACTS,
)
