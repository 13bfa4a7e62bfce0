"""Rows built from an export's records: every value checked against its column."""

from collections.abc import Callable
from datetime import datetime
from functools import cache, lru_cache, partial
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.core.validators import MaxLengthValidator
from django.db import DatabaseError, models, transaction
from django.db.models import Model

from memories.language.cleaning import content_hash, fold_hash
from memories.language.word_forms import forms_of
from memories.models import Memory
from memories.store.search_columns import context_of, filter_tokens
from sources.format import MEMORY, RecordKind
from sources.importing.references import Targets
from storage.bulk_insert import ManyInsert, like

M = TypeVar("M", bound=Model)
PLAIN_NUMBER = 30_000  # every column of whole numbers takes these
MAX_PLAIN = 2**62


def build_row(kind: RecordKind, record: dict[str, Any], targets: Targets) -> Model:
    """Give the unsaved row of a record, without `superseded_by`, which may point to a later line.

    Raises:
        ValueError: a value does not fit its column, or what it points to is missing; it says which.
    """
    for name in (*kind.fields, *kind.ties):
        if name not in record:
            raise ValueError(f"it has no '{name}'")
    values = {name: read(record[name]) for name, read in _readers(kind)}
    ties: dict[str, Model] = {}
    for name in kind.ties:
        if name != "superseded_by":
            target = targets.find(name, record[name], record)
            if target is not None:
                ties[name] = target
            elif not kind.model._meta.get_field(name).null:
                raise ValueError(f"'{name}' is missing")
    if kind is not MEMORY:
        return kind.model(**values, **ties)
    memory: Memory = like(_example(Memory), values, ties)
    _derive(memory)
    return memory


@cache
def _example(model: type[M]) -> M:
    return model()


def insert_rows(rows: list[Model]) -> dict[int, str]:
    """Insert rows of one table; give the places of those that the database refused, with its reason.

    All at once where all fit, else one by one, so that one row at fault keeps no other out.
    """
    if not rows:
        return {}
    try:
        with transaction.atomic():
            _inserts(type(rows[0])).add(rows)
    except (DatabaseError, ValueError, OverflowError):
        return {at: why for at, row in enumerate(rows) if (why := _insert_alone(row))}
    return {}


@cache
def _inserts(model: type[Model]) -> ManyInsert[Any]:
    return ManyInsert(model)


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


@cache
def _readers(kind: RecordKind) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    return tuple((name, _reader(kind.model, name)) for name in kind.fields)


def _reader(model: type[Model], name: str) -> Callable[[Any], Any]:
    """Give what reads a column's values: the plain ones at once, whatever else by its field, which is slower."""
    read = partial(_value, model, name)
    field = next((f for f in model._meta.concrete_fields if f.name == name), None)
    plain, may_be_null = _plain_reader(field), field is not None and field.null

    def read_plain(raw: Any) -> Any:
        if raw is None and may_be_null:
            return None
        value = plain(raw)
        return read(raw) if value is None else value

    return read_plain


def _plain_reader(field: Any) -> Callable[[Any], Any]:
    """Give what gives a plain value as the column holds it, and None for any other."""
    if field is None or not all(isinstance(v, MaxLengthValidator) for v in _own_validators(field)):
        return lambda raw: None
    match field:
        case models.CharField() | models.TextField():
            words, most = dict(field.flatchoices or ()), field.max_length or MAX_PLAIN
            return lambda raw: (
                raw
                if type(raw) is str and (raw in words if words else len(raw) <= most and "\x00" not in raw)
                else None
            )
        case models.DateTimeField():
            return lambda raw: _moment(raw) if type(raw) is str else None
        case models.UUIDField():
            return lambda raw: _uuid(raw) if type(raw) is str else None
        case models.IntegerField():
            return lambda raw: raw if type(raw) is int and 0 <= raw <= PLAIN_NUMBER else None
        case models.FloatField() | models.BooleanField():
            wanted = float if isinstance(field, models.FloatField) else bool
            return lambda raw: raw if type(raw) is wanted else None
        case models.JSONField():
            return lambda raw: raw if type(raw) in (dict, list) else None
    return lambda raw: None


def _own_validators(field: Any) -> list[Any]:
    """Give the checks that a field has beside those of its kind of column."""
    return [*field.default_validators, *field._validators]


@lru_cache(maxsize=2048)  # the rows of a batch often share their moments
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
