"""Finding the stored rows that an export's records speak of."""

from typing import Any

from django.db.models import Model, Q

from access.models import Group
from memories.models import Thread
from relations.models import EntityAlias
from sources.records import ALIAS, Kind
from sources.targets import is_id


def name_of(kind: Kind, record: dict[str, Any]) -> str:
    """Give what a record is known by first: its id."""
    return "" if kind is ALIAS else f"id:{record.get('id')}"


def natural_name(kind: Kind, record: dict[str, Any]) -> str:
    """Give what a row is known by beside its id; empty where it has nothing else."""
    match kind.name:
        case "group":
            return f"slug:{record.get('slug')}"
        case "thread":
            return f"thread:{record.get('group')}/{record.get('name')}"
        case "alias":
            return f"alias:{record.get('memory')}/{record.get('fold')}"
    return ""


def stored_rows(kind: Kind, records: list[dict[str, Any]]) -> dict[str, Model]:
    """Give the rows that records name, by id and by what else they are known by."""
    ids = [id_ for record in records if is_id(id_ := record.get("id"))]
    match kind.name:
        case "alias":
            wanted = Q(memory__id__in=[id_ for record in records if is_id(id_ := record.get("memory"))])
        case "group":
            wanted = Q(id__in=ids) | Q(slug__in=_texts(records, "slug"))
        case "thread":
            wanted = Q(id__in=ids)
            wanted |= Q(group__slug__in=_texts(records, "group"), name__in=_texts(records, "name"))
        case _:
            wanted = Q(id__in=ids)
    found: dict[str, Model] = {}
    for row in kind.model._default_manager.filter(wanted).select_related(*kind.ties):
        found[f"id:{getattr(row, 'id', '')}"] = row
        if isinstance(row, Group):
            found[f"slug:{row.slug}"] = row
        elif isinstance(row, Thread):
            found[f"thread:{row.group.slug}/{row.name}"] = row
        elif isinstance(row, EntityAlias):
            found[f"alias:{row.memory.id}/{row.fold}"] = row
    return found


def _texts(records: list[dict[str, Any]], name: str) -> set[str]:
    return {value for record in records if isinstance(value := record.get(name), str)}
