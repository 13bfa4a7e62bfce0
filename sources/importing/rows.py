"""Builds rows from an export's records, with every value checked against its column."""

from collections.abc import Callable
from datetime import datetime
from functools import cache, lru_cache, partial
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.core.validators import MaxLengthValidator
from django.db import DatabaseError, IntegrityError, models, transaction
from django.db.models import Model

from memories.language.cleaning import content_hash
from memories.language.dress import fold_hash
from memories.language.word_forms import forms_of
from memories.models import Memory
from memories.models.text_lookup import NAME as TEXT_INDEX
from memories.store.search_columns import context_of, filter_tokens
from sources.format import MEMORY, RecordKind
from sources.importing.references import Targets
from storage.bulk.insert import ManyInsert

M = TypeVar("M", bound=Model)
MAX_PLAIN_INT = 30_000  # accepted by every integer column
UNLIMITED_CHARS = 2**62


def build_row(kind: RecordKind, record: dict[str, Any], targets: Targets) -> Model:
    """The unsaved row of a record, without `superseded_by`, which may refer to a later line.

    Raises:
        ValueError: a value does not fit its column, or a reference has no target; the message names it.
    """
    for name in (*kind.fields, *kind.references):
        if name not in record:
            raise ValueError(f"it has no '{name}'")
    values = {name: read(record[name]) for name, read in _column_readers(kind)}
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


@cache
def _column_readers(kind: RecordKind) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    return tuple((name, column_reader(kind.model, name)) for name in kind.fields)


def column_reader(model: type[Model], name: str) -> Callable[[Any], Any]:
    """A function that parses a column's values: plain ones directly, others by the field, which is slower."""
    parse = partial(parse_value, model, name)
    field = next((f for f in model._meta.concrete_fields if f.name == name), None)
    plain, may_be_null = _plain_reader(field), field is not None and field.null

    def read(raw: Any) -> Any:
        if raw is None and may_be_null:
            return None
        value = plain(raw)
        return parse(raw) if value is None else value

    return read


def _plain_reader(field: Any) -> Callable[[Any], Any]:
    own_validators = [] if field is None else [*field.default_validators, *field._validators]
    if field is None or not all(isinstance(v, MaxLengthValidator) for v in own_validators):
        return lambda raw: None
    match field:
        case models.CharField() | models.TextField():
            choices, most = dict(field.flatchoices or ()), field.max_length or UNLIMITED_CHARS
            return lambda raw: (
                raw
                if type(raw) is str
                and (raw in choices if choices else len(raw) <= most and "\x00" not in raw)
                else None
            )
        case models.DateTimeField():
            return lambda raw: _moment(raw) if type(raw) is str else None
        case models.UUIDField():
            return lambda raw: _uuid(raw) if type(raw) is str else None
        case models.IntegerField():
            return lambda raw: raw if type(raw) is int and 0 <= raw <= MAX_PLAIN_INT else None
        case models.FloatField() | models.BooleanField():
            wanted = float if isinstance(field, models.FloatField) else bool
            return lambda raw: raw if type(raw) is wanted else None
        case models.JSONField():
            return lambda raw: raw if type(raw) in (dict, list) else None
    return lambda raw: None


@lru_cache(maxsize=2048)  # the rows of a batch often have the same times
def _moment(raw: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(raw)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _uuid(raw: str) -> UUID | None:
    try:
        return UUID(raw)
    except ValueError:
        return None


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
