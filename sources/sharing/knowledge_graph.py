"""The knowledge graph of the MCP memory server: entities with observations, and relations between them.

A memory "Name: text" is an observation of the entity of that name; all others are observations of their group.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from memories.models import Memory
from memories.queries.versions import head_of
from memories.types import Type
from sources.exporting.atomic_file import replace_file
from sources.sharing.shared_rows import SharedRows

_GROUP_TYPE: Final = "group"
_OTHER_TYPE: Final = "entity"


@dataclass
class _GraphEntity:
    """An entity with its observations, each once, in order."""

    kind: str
    observations: dict[str, None] = field(default_factory=dict)


def write_graph(rows: SharedRows, path: Path) -> Counter[str]:
    """Entities by name, then relations."""
    entities, triples = dict[str, _GraphEntity](), dict[tuple[str, str, str], None]()
    counts: Counter[str] = Counter()
    for group in rows.groups:
        memories = list(rows.memories(group))
        names = {_name_of(memory): memory for memory in memories if memory.type == Type.ENTITY}
        for name, memory in names.items():
            entities.setdefault(name, _GraphEntity(memory.tags[0] if memory.tags else _OTHER_TYPE))
        for memory in memories:
            counts["memory"] += 1
            if memory.type != Type.ENTITY:
                name, _, observation = memory.content.partition(": ")
                if name not in names or not observation:
                    name, observation = group.slug, memory.content
                entities.setdefault(name, _GraphEntity(_GROUP_TYPE)).observations[observation] = None
        keys = {memory.key for memory in names.values()}
        for relation in rows.relations(group):
            ends = head_of(relation.subject), head_of(relation.object)
            if keys.issuperset(end.key for end in ends):
                triples[_name_of(ends[0]), relation.predicate, _name_of(ends[1])] = None
    with replace_file(path) as file:
        for name in sorted(entities):
            entity = entities[name]
            line = {
                "type": "entity",
                "name": name,
                "entityType": entity.kind,
                "observations": [*entity.observations],
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        for subject, predicate, object_ in sorted(triples):
            line = {"type": "relation", "from": subject, "to": object_, "relationType": predicate}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return counts + Counter({"entity": len(entities), "relation": len(triples)})


def _name_of(memory: Memory) -> str:
    return " ".join(memory.content.split())
