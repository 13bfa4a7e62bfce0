"""Rows built from an export's records: every value checked against its column."""

from datetime import datetime
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import DatabaseError, models, transaction
from django.db.models import Model

from memories.context import context_of, filter_tokens
from memories.index.forms import forms_of
from memories.models import Memory
from memories.text import content_hash, fold_hash
from sources.records import MEMORY, Kind
from sources.targets import Targets


def build_row(kind: Kind, record: dict[str, Any], targets: Targets) -> Model:
    """Give the unsaved row of a record, without `superseded_by`, which may point to a later line.

    Raises:
        ValueError: a value does not fit its column, or what it points to is missing; it says which.
    """
    values: dict[str, Any] = {}
    for name in (*kind.fields, *kind.ties):
        if name not in record:
            raise ValueError(f"it has no '{name}'")
    for name in kind.fields:
        values[name] = _value(kind.model, name, record[name])
    for name in kind.ties:
        if name != "superseded_by":
            values[name] = _target(kind.model, name, targets.find(name, record[name], record))
    row = kind.model(**values)
    if kind is MEMORY and isinstance(row, Memory):
        _derive(row)
    return row


def insert_rows(rows: list[Model]) -> dict[int, str]:
    """Insert rows of one table; give the places of those that the database refused, with its reason.

    All at once where all fit, else one by one, so that one row at fault keeps no other out.
    """
    if not rows:
        return {}
    try:
        with transaction.atomic():
            type(rows[0])._default_manager.bulk_create(rows)
    except (DatabaseError, ValueError, OverflowError):
        return {at: why for at, row in enumerate(rows) if (why := _insert_alone(row))}
    return {}


def _insert_alone(row: Model) -> str:
    row.pk, row._state.adding = None, True
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except (DatabaseError, ValueError, OverflowError) as fault:
        return f"it does not fit beside what is stored: {fault}"
    return ""


def _derive(memory: Memory) -> None:
    """Fill the columns that follow from others; the words of neighbours come once all are there."""
    if not memory.content.strip():
        raise ValueError("its content is empty")
    memory.content_hash, memory.fold_hash = content_hash(memory.content), fold_hash(memory.content)
    memory.filter = filter_tokens(memory)
    memory.forms = forms_of(memory.content)
    memory.context = context_of(memory, [])


def _target(model: type[Model], name: str, target: Model | None) -> Model | None:
    if target is None and not model._meta.get_field(name).null:
        raise ValueError(f"'{name}' is missing")
    return target


def _value(model: type[Model], name: str, raw: Any) -> Any:
    """Give a JSON value as its column holds it."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        raise ValueError(f"there is no column '{name}'") from None
    if not isinstance(field, models.Field):
        raise TypeError(f"'{name}' is no column")
    if raw is None and field.null:
        return None
    is_written = isinstance(field, models.CharField | models.TextField | models.UUIDField)
    if raw is None or (is_written and not isinstance(raw, str)):
        raise ValueError(f"'{name}' is {raw!r}")
    if isinstance(raw, str) and "\x00" in raw:
        raise ValueError(f"'{name}' holds a NUL character")
    try:
        value = field.to_python(raw)
        field.run_validators(value)
    except (ValidationError, TypeError, OverflowError) as fault:
        raise ValueError(f"'{name}' is {raw!r}: {fault}") from None
    if field.choices and value not in dict(field.flatchoices):
        raise ValueError(f"'{name}' is {raw!r}, which is none of its words")
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError(f"'{name}' has no time zone")
    return value
