"""What the exports of all chat services have in common."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from memories.draft import Draft
from memories.types import Type
from sources.importing.importer import SourceRecord
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.json_stream import peek, read_items
from sources.importing.reading.values import dict_of, ref_of

NAMES: Final = {"user": "User", "human": "User", "assistant": "Assistant"}  # as recall knows the speakers


@dataclass(frozen=True)
class Conversation:
    """A conversation of an export."""

    id: str
    title: str
    started: datetime | None = None


def turn_record(
    conversation: Conversation, *, id_: str, role: str, text: str, at: datetime | None
) -> SourceRecord:
    """A turn as an event in the conversation's thread, with its speaker in front."""
    speaker = NAMES[role]
    metadata: dict[str, Any] = {"speaker": speaker}
    if conversation.title:
        metadata["title"] = conversation.title[:200]
    return SourceRecord(
        Draft(
            f"{speaker}: {text}",
            type=Type.EPISODIC,
            thread=conversation.id[:200],
            metadata=metadata,
            source_ref=ref_of(id_),
            valid_from=at or conversation.started,
        ),
        place=conversation.title,
    )


class _FirstValues(NamedTuple):
    name: str
    values: dict[str, Any]


def elements_of(tree: FileTree, name: str) -> Iterator[dict[str, Any]]:
    """The objects in the lists of a JSON file of an export."""
    with tree.open(name) as file:
        yield from (dict_of(item.value) for item in read_items(file) if item.is_element)


def first_values(tree: FileTree, *, starts: tuple[str, ...]) -> Iterator[_FirstValues]:
    """The first values of the JSON files with these beginnings of names; of any name if the tree is one file."""
    names = tree.names(".json")
    for name in names:
        if len(names) == 1 or name.rpartition("/")[2].lower().startswith(starts):
            with tree.open(name) as file:
                yield _FirstValues(name, peek(file, items=2))
