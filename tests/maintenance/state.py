"""The whole state of the store, for comparisons before and after."""

from typing import Any

from django.db.models import Model

from memories.models import Link, Memory, Piece
from memories.search.base import search_index
from relations.models import EntityAlias, Relation, RelationEvidence
from tests.memories.indexes import words_and_vectors

TABLES: tuple[type[Model], ...] = (Memory, Piece, Link, Relation, RelationEvidence, EntityAlias)


def whole_state() -> dict[str, Any]:
    """Every field of every row that a run may change, and the contents of both indexes."""
    rows = {
        model._meta.db_table: {row["pk"]: row for row in model._base_manager.values("pk", *_fields(model))}
        for model in TABLES
    }
    words, vectors = words_and_vectors()
    return {**rows, "words": words, "vectors": vectors}


def _fields(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def index_faults() -> list[str]:
    """Differences between the indexes and the rows."""
    return search_index().find_errors()


def stored_texts() -> list[str]:
    """The texts of all memories, sorted."""
    return sorted(Memory.objects.values_list("content", flat=True))
