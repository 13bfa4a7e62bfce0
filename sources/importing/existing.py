"""Finds the stored rows that correspond to an export's records."""

from typing import Any

from django.db.models import Model, Q

from access.models import Group
from memories.models import Thread
from relations.models import EntityAlias
from sources.format import ALIAS, RecordKind
from sources.importing.references import is_id


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
    wanted = Q(id__in=ids)
    match kind.name:
        case "alias":
            wanted = Q(memory__id__in=[id_ for record in records if is_id(id_ := record.get("memory"))])
        case "group":
            wanted |= Q(slug__in=_texts(records, "slug"))
        case "thread":
            wanted |= Q(group__slug__in=_texts(records, "group"), name__in=_texts(records, "name"))
    found: dict[str, Model] = {}
    for row in kind.model._default_manager.filter(wanted).select_related(*kind.references):
        found[f"id:{getattr(row, 'id', '')}"] = row
        if isinstance(row, Group):
            found[f"slug:{row.slug}"] = row
        elif isinstance(row, Thread):
            found[f"thread:{row.group.slug}/{row.name}"] = row
        elif isinstance(row, EntityAlias):
            found[f"alias:{row.memory.id}/{row.fold}"] = row
    return found


def _texts(records: list[dict[str, Any]], name: str) -> set[str]:
    # No stored text has a NUL, and PostgreSQL refuses even to look for one.
    texts = (value for record in records if isinstance(value := record.get(name), str))
    return {text for text in texts if "\x00" not in text}
