"""Builds rows from an export's records, with every value checked against its column."""

from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import DatabaseError, IntegrityError, models, transaction
from django.db.models import Model

from memories.language.cleaning import content_hash
from memories.language.dress import fold_hash
from memories.language.word_forms import forms_of
from memories.models import Memory
from memories.models.text_lookup import NAME as TEXT_INDEX
from memories.store.threads import context_of, filter_tokens
from sources.format import MEMORY, RecordKind
from sources.importing.references import Targets
from storage.bulk import ManyInsert

M = TypeVar("M", bound=Model)


def build_row(kind: RecordKind, record: dict[str, Any], targets: Targets) -> Model:
    """The unsaved row of a record, without `superseded_by`, which may refer to a later line.

    Raises:
        ValueError: a value does not fit its column, or a reference has no target; the message names it.
    """
    for name in (*kind.fields, *kind.references):
        if name not in record:
            raise ValueError(f"it has no '{name}'")
    values = {name: parse_value(kind.model, name, record[name]) for name in kind.fields}
    references: dict[str, Model] = {}
    for name in kind.references:
        if name != "superseded_by":
            target = targets.find(name, record[name], record)
            if target is not None:
                references[name] = target
            elif not kind.model._meta.get_field(name).null:
                raise ValueError(f"'{name}' is missing")
    if kind is not MEMORY:
        return kind.model(**values, **references)
    memory = Memory(**values, **references)
    _derive_columns(memory)
    return memory


def insert_rows(rows: list[Model]) -> dict[int, str]:
    """Insert rows of one table; return the positions of those that the database rejected, with the reason.

    All at once if every row fits, else one by one, so that a bad row does not keep out the others.
    """
    if not rows:
        return {}
    try:
        with transaction.atomic():
            _bulk_inserter(type(rows[0])).add(rows)
    except (DatabaseError, ValueError, OverflowError):
        return {at: why for at, row in enumerate(rows) if (why := _insert_alone(row))}
    return {}


@cache
def _bulk_inserter(model: type[Model]) -> ManyInsert[Any]:
    return ManyInsert(model)


def _insert_alone(row: Model) -> str:
    row.pk, row._state.adding = None, True
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except (DatabaseError, ValueError, OverflowError) as error:
        return f"it conflicts with a stored row: {_why_refused(row, error)}"
    return ""


def _why_refused(row: Model, error: Exception) -> str:
    """Why the database refused a row, in words for the one who imports it."""
    # The first line: on PostgreSQL the next ones hold the row's own values.
    if isinstance(error, IntegrityError) and "unique constraint" in str(error).lower().partition("\n")[0]:
        if isinstance(row, Memory) and TEXT_INDEX in str(error):
            return (
                f"the same text is live here, in the group '{row.group.slug}', with the same type and scope"
            )
        if isinstance(row, Memory) and "source_ref" in str(error):
            return f"the source '{row.source}' has brought another text as '{row.source_ref}' here"
        return f"this {row._meta.verbose_name} is stored here with another id"
    if isinstance(error, IntegrityError):
        return "its values are out of bounds or contradict each other"
    return str(error)


def _derive_columns(memory: Memory) -> None:
    """Fill the derived columns; the neighbours' words are added to the context after all lines are in."""
    if not memory.content.strip():
        raise ValueError("its content is empty")
    memory.content_hash, memory.fold_hash = content_hash(memory.content), fold_hash(memory.content)
    memory.filter = filter_tokens(memory)
    memory.forms = forms_of(memory.content)
    memory.context = context_of(memory, [])


def parse_value(model: type[Model], name: str, raw: Any) -> Any:
    """A JSON value as its column holds it, validated by the field.

    Raises ValueError or TypeError for a value that does not fit; the message names the column.
    """
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        raise ValueError(f"there is no column '{name}'") from None
    if not isinstance(field, models.Field):
        raise TypeError(f"'{name}' is not a column")
    if raw is None and field.null:
        return None
    needs_text = isinstance(field, models.CharField | models.TextField | models.UUIDField)
    if raw is None or (needs_text and not isinstance(raw, str)):
        raise ValueError(f"'{name}' is {raw!r}")
    if isinstance(raw, str) and "\x00" in raw:
        raise ValueError(f"'{name}' contains a NUL character")
    try:
        value = field.to_python(raw)
        field.run_validators(value)
    except (ValidationError, TypeError, OverflowError) as error:
        raise ValueError(f"'{name}' is {raw!r}: {error}") from None
    is_empty = field.blank and value == ""
    if field.choices and not is_empty and value not in dict(field.flatchoices):
        raise ValueError(f"'{name}' is {raw!r}, which is not one of its values")
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError(f"'{name}' has no time zone")
    return value
