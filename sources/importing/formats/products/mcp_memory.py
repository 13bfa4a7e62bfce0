"""The knowledge graph of the MCP memory server: `memory.jsonl`, or `memory.json` with all of it in one object.

An entity becomes an entity, each of its observations a fact "Name: observation", a relation a relation. The file knows
neither times nor authors. Some versions write `entityName`, `from_id`, `relation_type`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memories.draft import Draft
from memories.entities.store_relation import RelationDraft
from memories.types import RELATION_SOURCE, Type
from sources.importing.drafts import record_importer
from sources.importing.importer import LineRules, SourceRecord
from sources.importing.lines import first_object, open_file, read_lines
from sources.importing.reading.json_stream import JsonFault, peek, read_items
from sources.importing.reading.values import list_of, ref_of, short_hash, tags_of, text_of

_DANGLING: Final = "relations of an entity that the file does not have"


def _is_graph(path: Path) -> bool:
    if not path.is_file():
        return False
    line = first_object(path)
    if line.get("type") in ("entity", "relation"):
        return bool(_name_of(line)) or bool(_ends_of(line))
    with open_file(path) as file:
        found = peek(file)
    return {"entities", "relations"} <= found.keys()


def _read_graph(path: Path, rules: LineRules) -> Iterator[SourceRecord]:
    """The entities and observations, then the relations, wherever they stand in the file."""
    names = set[str]()
    for item in _read_parts(path):
        if isinstance(item, str):
            yield SourceRecord(why=item)
        elif item.get("type") == "entity":
            names.add(_name_of(item))
            yield from _entity_records(item)
        elif item.get("type") != "relation":
            yield SourceRecord(
                why=f"it is neither an entity nor a relation, its type is {str(item.get('type'))[:40]!r}"
            )
    for item in _read_parts(path):
        if not isinstance(item, str) and item.get("type") == "relation":
            yield _relation_record(item, names)


def _read_parts(path: Path) -> Iterator[dict[str, Any] | str]:
    """The file's objects, each with its `type`; a text is the reason why a line has none."""
    if first_object(path).get("type") in ("entity", "relation"):
        for line in read_lines(path):
            yield f"line {line.number}: {line.why}" if line.why else line.value
        return
    kinds = {"entities": "entity", "relations": "relation"}
    with open_file(path) as file:
        try:
            for key, value, is_element in read_items(file):
                if key in kinds and is_element and isinstance(value, dict):
                    yield value | {"type": kinds[key]}
        except JsonFault as fault:
            yield str(fault)


def _entity_records(item: dict[str, Any]) -> Iterator[SourceRecord]:
    name = _name_of(item)
    if not name:
        yield SourceRecord(why="an entity without a name")
        return
    kind = text_of(item.get("entityType") or item.get("entity_type"))
    tags = tags_of([kind])
    # Its source is that of an entity which a relation makes: a name alone takes no place in an answer.
    entity = Draft(
        name, type=Type.ENTITY, tags=tags, source=RELATION_SOURCE, source_ref=ref_of("entity", name)
    )
    yield SourceRecord(entity, place=kind)
    for observation in dict.fromkeys(map(text_of, list_of(item.get("observations")))):
        if observation:
            content = observation if observation.startswith(f"{name}: ") else f"{name}: {observation}"
            ref = ref_of(name, short_hash(observation))
            yield SourceRecord(Draft(content, tags=tags, source_ref=ref), place=kind)


def _relation_record(item: dict[str, Any], names: set[str]) -> SourceRecord:
    ends, predicate = _ends_of(item), text_of(item.get("relationType") or item.get("relation_type"))
    if not ends or not predicate:
        return SourceRecord(why="a relation without from, to and relationType")
    if not names.issuperset(ends):
        return SourceRecord(skipped=_DANGLING)
    return SourceRecord(relation=RelationDraft(ends[0], predicate, ends[1]))


def _name_of(item: dict[str, Any]) -> str:
    return " ".join(text_of(item.get("name") or item.get("entityName") or item.get("id")).split())


def _ends_of(item: dict[str, Any]) -> tuple[str, str] | None:
    subject = " ".join(text_of(item.get("from") or item.get("from_id")).split())
    object_ = " ".join(text_of(item.get("to") or item.get("to_id")).split())
    return (subject, object_) if subject and object_ else None


MCP_MEMORY = record_importer(
    "mcp-memory",
    "the memory.jsonl of the MCP memory server",
    endings=(".jsonl", ".json"),
    recognises=_is_graph,
    read=_read_graph,
)
