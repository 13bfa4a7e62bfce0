"""Every row of a store, read straight from its tables, for comparing two stores; not by way of an export."""

import hashlib
import json
import sys
from typing import Any

import django
from django.db.models import F, Model

OWN_KEYS = {
    "key",
    "group",
    "thread",
    "root",
    "superseded_by",
    "source",
    "target",
    "subject",
    "object",
    "memory",
}
# What belongs to a machine's own users and tokens does not travel.
LOCAL = {"author", "token"}


def dump() -> dict[str, Any]:
    """All rows by table, each sorted, with portable names for keys; the chains; the indexes' faults."""
    from access.audit.verify import verify_log
    from access.models import AuditEntry, AuditPayload, Group
    from memories.models import Checkpoint, Link, Memory, Piece, Thread, Tombstone
    from memories.search.base import search_index
    from relations.models import EntityAlias, Relation, RelationEvidence

    memories = rows(
        Memory,
        group="group__slug",
        thread="thread__name",
        root="root__id",
        next="superseded_by__id",
        summary="summary__id",
    )
    for row in memories:
        # The group's key stands in the filter column, and keys differ between stores.
        row["filter"] = row["filter"].split()[1:]
    return {
        "group": rows(Group),
        "thread": rows(Thread, group="group__slug"),
        "memory": memories,
        "piece": [
            {
                **row,
                "embedding": hashlib.sha256(bytes(row["embedding"])).hexdigest() if row["embedding"] else "",
            }
            for row in rows(Piece, memory="memory__id")
        ],
        "link": rows(Link, source="source__id", target="target__id"),
        "relation": rows(Relation, group="group__slug", subject="subject__id", object="object__id"),
        "evidence": rows(RelationEvidence, relation="relation__id", memory="memory__id"),
        "alias": rows(EntityAlias, group="group__slug", memory="memory__id"),
        "checkpoint": rows(Checkpoint, group="group__slug", thread="thread__name"),
        "tombstone": rows(Tombstone, group="group__slug"),
        "log": rows(AuditEntry),
        "said": rows(AuditPayload, entry="entry__hash"),
        "chains": {f"{report.origin} {report.chain}": report.is_whole for report in verify_log()},
        "faults": search_index().find_errors(),
    }


def rows(model: type[Model], **names: str) -> list[dict[str, Any]]:
    """The rows of a table with its own columns, and references by the named paths."""
    ties = {field.name for field in model._meta.concrete_fields if field.is_relation}
    columns = [f.name for f in model._meta.concrete_fields if f.name not in ties | {"key", "id"} | LOCAL]
    columns += ["id"] if model._meta.pk is not None and model._meta.pk.name == "key" and has_id(model) else []
    paths = {f"to_{name}": F(path) for name, path in names.items()}
    found = list(model._default_manager.values(*columns, **paths))
    return sorted(found, key=lambda row: json.dumps(row, default=str, sort_keys=True))


def has_id(model: type[Model]) -> bool:
    return any(field.name == "id" for field in model._meta.concrete_fields)


if __name__ == "__main__":
    django.setup()
    sys.stdout.write(json.dumps(dump(), default=str, sort_keys=True))
