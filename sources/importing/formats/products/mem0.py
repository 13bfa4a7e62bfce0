"""Memories of mem0: what get_all() returns as JSON, or its history.db, from which the last texts are rebuilt."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memories.draft import Draft
from sources.importing.drafts import record_importer
from sources.importing.importer import LineRules, SourceRecord, Waiting
from sources.importing.lines import open_file
from sources.importing.reading.foreign_database import open_foreign, tables_of
from sources.importing.reading.json_stream import peek, read_items
from sources.importing.reading.values import dict_of, moment_of, ref_of, short_hash, tags_of, text_of

LISTS: Final = ("", "results", "memories", "data")
DELETED: Final = "memories that were deleted there"
_HISTORY: Final = frozenset({"memory_id", "new_memory", "event"})


def _is_mem0(path: Path) -> bool:
    if not path.is_file():
        return False
    if tables_of(path).get("history", frozenset()) >= _HISTORY:
        return True
    with open_file(path) as file:
        found = peek(file)
    first = next((item for key in LISTS if isinstance(item := found.get(key), dict)), {})
    return bool(text_of(first.get("memory"))) and "id" in first


def _read_mem0(path: Path, rules: LineRules) -> Iterator[SourceRecord]:
    if tables_of(path):
        yield from _read_history(path)
        return
    with open_file(path) as file:
        for key, value, is_element in read_items(file):
            if is_element and key in LISTS:
                yield _item_record(dict_of(value))


def _item_record(item: dict[str, Any]) -> SourceRecord:
    """One memory. A changed text is true from the change on."""
    content = text_of(item.get("memory"))
    if not content:
        return SourceRecord(why="an item without a 'memory'")
    user, created, updated = (text_of(item.get(name)) for name in ("user_id", "created_at", "updated_at"))
    metadata = dict_of(item.get("metadata"))
    known = {
        "speaker": user,
        "agent": text_of(item.get("agent_id")),
        "created_at": created if updated else "",
    }
    return SourceRecord(
        Draft(
            content,
            tags=tags_of(item.get("categories")),
            metadata=metadata | {name: value for name, value in known.items() if value},
            thread=text_of(item.get("run_id"))[:200],
            source_ref=ref_of(text_of(item.get("id")) or short_hash(content)),
            valid_from=moment_of(updated) or moment_of(created),
        ),
        place=user,
    )


def _read_history(path: Path) -> Iterator[SourceRecord]:
    """The last text of each memory, in the order of their first events. Earlier wordings are not taken over."""
    last: dict[str, dict[str, Any]] = {}
    with open_foreign(path) as database:
        has_time = "created_at" in database.columns("history")
        for row in database.rows("history", order="created_at, rowid" if has_time else "rowid"):
            last.setdefault(text_of(row.get("memory_id")), {}).update(
                {name: value for name, value in row.items() if value is not None}
            )
            if row.get("event") == "DELETE" or row.get("is_deleted"):
                last[text_of(row.get("memory_id"))]["is_gone"] = True
            elif row.get("event") == "ADD":
                last[text_of(row.get("memory_id"))]["is_gone"] = False
    for id_, row in last.items():
        if row.get("is_gone"):
            yield SourceRecord(skipped=DELETED)
            continue
        times = {"created_at": row.get("updated_at") or row.get("created_at")}
        yield _item_record(
            {"id": id_, "memory": row.get("new_memory"), "agent_id": row.get("actor_id"), **times}
        )


MEM0 = record_importer(
    "mem0",
    "memories of mem0, as JSON of get_all() or its history.db",
    endings=(".json", ".db"),
    recognises=_is_mem0,
    read=_read_mem0,
    waiting=Waiting.FACTS,  # a model drew them from chats
)
