"""Finds the stored rows that correspond to an export's records."""

from collections.abc import Iterable
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import CharField, Model, Q, QuerySet, Value

from access.models import Group
from memories.models import Thread
from memories.queries.by_key import read_rows
from relations.models import EntityAlias
from sources.format import ALIAS, RecordKind
from sources.importing.references import is_id
from storage.compiled_queries import CompiledQuery


def id_name(kind: RecordKind, record: dict[str, Any]) -> str:
    """A record's key by its id; empty for an alias, which has none."""
    return "" if kind is ALIAS else f"id:{record.get('id')}"


def natural_name(kind: RecordKind, record: dict[str, Any]) -> str:
    """A record's key by its natural name; empty if its kind has none."""
    match kind.name:
        case "group":
            return f"slug:{record.get('slug')}"
        case "thread":
            return f"thread:{record.get('group')}/{record.get('name')}"
        case "alias":
            return f"alias:{record.get('memory')}/{record.get('fold')}"
    return ""


def stored_rows(kind: RecordKind, records: list[dict[str, Any]]) -> dict[str, Model]:
    """Stored rows of the records, by id and by natural name."""
    ids = [str(id_) for record in records if is_id(id_ := record.get("id"))]
    wanted: Q | None = None
    match kind.name:
        case "alias":
            wanted = Q(memory__id__in=[id_ for record in records if is_id(id_ := record.get("memory"))])
        case "group":
            wanted = Q(id__in=ids) | Q(slug__in=_texts(records, "slug"))
        case "thread":
            wanted = Q(id__in=ids)
            wanted |= Q(group__slug__in=_texts(records, "group"), name__in=_texts(records, "name"))
    found: dict[str, Model] = {}
    for row in _rows_with_ids(kind, ids) if wanted is None else _rows(kind, wanted):
        found[f"id:{getattr(row, 'id', '')}"] = row
        if isinstance(row, Group):
            found[f"slug:{row.slug}"] = row
        elif isinstance(row, Thread):
            found[f"thread:{row.group.slug}/{row.name}"] = row
        elif isinstance(row, EntityAlias):
            found[f"alias:{row.memory.id}/{row.fold}"] = row
    return found


def _rows(kind: RecordKind, wanted: Q) -> "QuerySet[Any]":
    return kind.model._default_manager.filter(wanted).select_related(*kind.references)


def _rows_with_ids(kind: RecordKind, ids: list[str]) -> Iterable[Model]:
    if connection.features.has_native_uuid_field:
        return _rows(kind, Q(id__in=ids))
    return read_rows(lambda count: _compile_id_query(kind, count), [UUID(id_).hex for id_ in ids])


@cache
def _compile_id_query(kind: RecordKind, count: int) -> CompiledQuery[Any]:
    # The column holds the id's hex digits as text, which a UUIDField value would not accept.
    return CompiledQuery(
        lambda *digits: _rows(
            kind, Q(id__in=[Value(digit, output_field=CharField()) for digit in digits])
        ).order_by(),
        count,
    )


def _texts(records: list[dict[str, Any]], name: str) -> set[str]:
    # No stored text has a NUL, and PostgreSQL refuses even to look for one.
    texts = (value for record in records if isinstance(value := record.get(name), str))
    return {text for text in texts if "\x00" not in text}
