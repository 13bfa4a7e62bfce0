"""ChatGPT's data export: the zip, its folder, or a `conversations*.json` of it.

A conversation is a tree of messages, since turns can be edited and asked again. The turns that the user sees last are on
the way from `current_node` to the root. System and tool messages, and those hidden from the user, are left out.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from memories.draft import Draft
from memories.types import Type
from sources.importing.drafts import tree_importer
from sources.importing.formats.chats.turns import Conversation, elements_of, first_values, turn_record
from sources.importing.importer import LineRules, SourceRecord, Waiting
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.values import dict_of, list_of, moment_of, ref_of, short_hash, text_of

STARTS: Final = ("conversations",)
ENDINGS: Final = (".zip", ".json")
INSTRUCTIONS: Final = "user_editable_context"
TEXTS: Final = frozenset({"text", "multimodal_text"})


def _is_chatgpt(tree: FileTree) -> bool:
    return any("mapping" in dict_of(first.values.get("")) for first in first_values(tree, starts=STARTS))


def _read_chatgpt(tree: FileTree, rules: LineRules) -> Iterator[SourceRecord]:
    """The turns of every conversation, and once each text of the user's instructions."""
    instructions = set[str]()
    for first in list(first_values(tree, starts=STARTS)):
        for item in elements_of(tree, first.name):
            yield from _conversation_records(item, instructions)


def _conversation_records(item: dict[str, Any], instructions: set[str]) -> Iterator[SourceRecord]:
    mapping = dict_of(item.get("mapping"))
    id_ = text_of(item.get("conversation_id")) or text_of(item.get("id"))
    if not mapping or not id_:
        yield SourceRecord(why="a conversation without an id or messages")
        return
    messages = list(_seen_messages(mapping, text_of(item.get("current_node"))))
    conversation = Conversation(id_, text_of(item.get("title")), started_at(item, messages))
    for message in messages:
        content, author = dict_of(message.get("content")), dict_of(message.get("author"))
        if content.get("content_type") == INSTRUCTIONS:
            yield from _instruction_records(content, conversation, instructions)
            continue
        role, text = text_of(author.get("role")), _parts_text(content)
        if role in ("user", "assistant") and text and not _is_hidden(message):
            turn, at = text_of(message.get("id")), moment_of(message.get("create_time"))
            yield turn_record(conversation, id_=turn or short_hash(id_, text), role=role, text=text, at=at)


def _seen_messages(mapping: dict[str, Any], last: str) -> Iterator[dict[str, Any]]:
    """The messages on the way to the current node, first to last; without one, to the newest leaf."""
    node = last if last in mapping else _newest_leaf(mapping)
    way: list[dict[str, Any]] = []
    seen = set[str]()
    while node in mapping and node not in seen:
        seen.add(node)
        entry = dict_of(mapping[node])
        if message := dict_of(entry.get("message")):
            way.append(message)
        node = text_of(entry.get("parent"))
    yield from reversed(way)


def _newest_leaf(mapping: dict[str, Any]) -> str:
    leaves = [name for name, entry in mapping.items() if not list_of(dict_of(entry).get("children"))]

    def time_of(name: str) -> float:
        at = moment_of(dict_of(dict_of(mapping[name]).get("message")).get("create_time"))
        return at.timestamp() if at else 0.0

    return max(leaves, key=time_of, default="")


def started_at(item: dict[str, Any], messages: list[dict[str, Any]]) -> datetime | None:
    """The beginning of a conversation; never the present, which would differ at each import."""
    if created := moment_of(item.get("create_time")):
        return created
    times = [at for message in messages if (at := moment_of(message.get("create_time")))]
    return min(times, default=None)


def _parts_text(content: dict[str, Any]) -> str:
    """The text parts of a message. Pictures and other attachments are objects, which are left out."""
    if content.get("content_type") not in TEXTS:
        return ""
    return "\n".join(
        part.strip() for part in list_of(content.get("parts")) if isinstance(part, str) and part.strip()
    )


def _is_hidden(message: dict[str, Any]) -> bool:
    """True if the user does not see a message: it is for a tool, or marked hidden."""
    hidden = dict_of(message.get("metadata")).get("is_visually_hidden_from_conversation")
    return bool(hidden) or message.get("recipient") not in (None, "", "all")


def _instruction_records(
    content: dict[str, Any], conversation: Conversation, known: set[str]
) -> Iterator[SourceRecord]:
    """What the user told ChatGPT about themselves and their wishes: each text once in the export."""
    for name, type_ in (("user_profile", Type.SEMANTIC), ("user_instructions", Type.PROCEDURAL)):
        text = text_of(content.get(name))
        if text and text not in known:
            known.add(text)
            ref = ref_of("instructions", short_hash(text))
            draft = Draft(
                text, type=type_, tags=("instructions",), source_ref=ref, valid_from=conversation.started
            )
            yield SourceRecord(draft, place=conversation.title)


CHATGPT = tree_importer(
    "chatgpt",
    "a data export of ChatGPT (zip, folder or conversations.json)",
    endings=ENDINGS,
    recognises=_is_chatgpt,
    read=_read_chatgpt,
    waiting=Waiting.FACTS,
)
