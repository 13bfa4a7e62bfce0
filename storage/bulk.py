"""Insert many rows in few statements: on SQLite shared values are bound once, and keys are known beforehand.

For each statement SQLite keeps a journal to undo that one alone, and the keyword index flushes its memory; so a batch is
one statement. Columns that are empty in every row are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import AutoField, Field, Model

from storage.canonical_json import ReadyJson
from storage.dialect import dialect

M = TypeVar("M", bound=Model)
T = TypeVar("T")
AT_ONCE = 400  # values in one query: a database limits the number of parameters

MAX_ROWS = 256  # rows in one statement; compiling one for 200 rows costs less than running five
SIZES = (64, 16, 4, 1)  # of smaller statements; few sizes, so that few are compiled
_NONE_TYPE = type(None)
# Types that a database takes unchanged, by field type; the field converts any other.
_NATIVE_TYPES = {
    "CharField": str, "TextField": str, "FloatField": float, "BooleanField": bool, "BigAutoField": int, "AutoField": int,
    "BigIntegerField": int, "IntegerField": int, "PositiveIntegerField": int, "PositiveSmallIntegerField": int,
}  # fmt: skip
Columns = Mapping[str, Sequence[Any]]  # values by the columns' attributes, such as `group_id`


def batches(values: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    """The values in lists that fit into one query."""
    found = list(values)
    return (found[at : at + size] for at in range(0, len(found), size))


class ManyInsert(Generic[M]):
    """The INSERT of many rows of a model inside a transaction; values are not expressions.

    Django's bulk_create() writes them outside of one; rows and keys are the same either way.
    """

    def __init__(self, model: type[M]) -> None:
        self._model, self._table = model, model._meta.db_table
        key = model._meta.pk
        self._key = key if isinstance(key, AutoField) else None
        self._fields: list[Any] = [field for field in model._meta.concrete_fields if field is not self._key]
        self._names = [field.attname for field in self._fields]
        self._values = itemgetter(*self._names)  # from a row's own dict, past the model's descriptors
        self._timed = [field for field in self._fields if getattr(field, "auto_now", False)]
        self._relations = {field.name: field for field in self._fields if field.is_relation}

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """The internal type of each column's field; of a relation that of the key it points to."""
        return {
            field.attname: (field.target_field if field.is_relation else field).get_internal_type()
            for field in self._fields
        }

    def add(self, rows: Sequence[M]) -> None:
        """Insert unsaved objects in order; each has its key afterwards. No signals are sent."""
        if not rows or not can_insert_columns():
            self._model._base_manager.bulk_create(rows)
            return
        self._set_related_keys(rows)
        for field in self._timed:
            for row in rows:
                field.pre_save(row, add=True)
        keys = self.add_columns(
            dict(zip(self._names, zip(*map(self._values, map(vars, rows)), strict=True), strict=True))
        )
        for number, row in enumerate(rows):
            if self._key is not None:
                row.__dict__[self._key.attname] = keys[number]
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    def add_columns(self, columns: Columns) -> Sequence[int]:
        """Insert rows given as columns, all but the key; returns their keys (1, 2, … without an automatic key)."""
        connection: Any = connections[DEFAULT_DB_ALIAS]
        own, shared, count = dict[str, Sequence[Any]](), dict[str, Any](), 0
        for field in self._fields:
            values = columns[field.attname]
            count = len(values)
            # Compared as JSON text, since 1, 1.0 and true are equal objects.
            kind = self._kinds[field.attname]
            is_json = kind == "JSONField"
            if is_json:
                values = _adapt_column(field, kind, values, connection)
            if values.count(values[0]) < count:
                own[field.column] = values if is_json else _adapt_column(field, kind, values, connection)
            elif values[0] is not None:
                shared[field.column] = (
                    values[0] if is_json else _adapt_column(field, kind, values[:1], connection)[0]
                )
        if count == 1 or not dialect().assigns_keys:
            return self._insert_all(
                own | {name: [value] * count for name, value in shared.items()}, {}, count
            )
        first = self._next_key()
        keys = range(first, first + count)
        if self._key is not None:
            own[str(self._key.column)] = keys
        self._insert_all(own, shared, count)
        return keys

    def _insert_all(self, own: Columns, shared: Mapping[str, Any], count: int) -> Sequence[int]:
        """Insert the rows in few statements; returns the keys that the database gave them, or 1, 2, …"""
        at, keys = 0, list[int]()
        for size in _statement_sizes(count):
            keys += self._insert({name: values[at : at + size] for name, values in own.items()}, shared, size)
            at += size
        return keys or range(1, count + 1)

    def _insert(self, own: Columns, shared: Mapping[str, Any], count: int) -> Sequence[int]:
        if not own:
            [name, *others] = shared
            own, shared = {name: [shared[name]] * count}, {other: shared[other] for other in others}
        returning = self._key.column if self._key is not None and self._key.column not in own else ""
        sql = _insert_sql(self._table, tuple(own), tuple(shared), count, returning=returning)
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(sql, [*shared.values(), *chain.from_iterable(zip(*own.values(), strict=True))])
            return [key for (key,) in cursor.fetchall()] if returning else ()

    def _next_key(self) -> int:
        """The key that SQLite assigns next, since there is no other writer meanwhile; 1 without an automatic key."""
        if self._key is None:
            return 1
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [self._table])
            last = cursor.fetchone()
        return int(last[0]) + 1 if last else 1

    def _set_related_keys(self, rows: Sequence[Any]) -> None:
        """Set the keys of related objects that were saved only after the rows were linked to them."""
        for row in rows:
            attributes = row.__dict__
            for name, target in row._state.fields_cache.items():
                field = self._relations.get(name)
                if field is None or target is None or attributes.get(field.attname) is not None:
                    continue
                if target.pk is None:
                    # Raises the error that names what is missing.
                    row._prepare_related_fields_for_save(operation_name="bulk_create")
                attributes[field.attname] = getattr(target, field.target_field.attname)


def _statement_sizes(count: int) -> Iterator[int]:
    """Split a number of rows into the sizes of the statements."""
    while count > SIZES[0]:
        yield min(count, MAX_ROWS)
        count -= min(count, MAX_ROWS)
    for size in SIZES:
        while count >= size:
            yield size
            count -= size


def can_insert_columns() -> bool:
    """True inside a transaction: one that writes nothing else may see its keys taken."""
    return connections[DEFAULT_DB_ALIAS].in_atomic_block


def _adapt_column(field: Any, kind: str, values: Sequence[Any], connection: Any) -> Sequence[Any]:
    """A column's values in the exact types of the database library, which is slow with any other."""
    kinds = {*map(type, values)}
    if kinds == {ReadyJson}:
        return [value.stored for value in values]
    kinds -= {_NONE_TYPE}
    if kinds <= {_NATIVE_TYPES.get(kind)}:
        return values
    if kinds == {UUID}:
        return [value and value.hex for value in values]
    adapted: dict[Any, Any] = {}  # values that many rows share, such as the time of a batch
    column = []
    for value in values:
        # The rows stay alive, so an id is never reused. Empty values of a type are all alike.
        shared = id(value) if value else type(value)
        if shared not in adapted:
            adapted[shared] = _adapt_value(field, value, connection)
        column.append(adapted[shared])
    return column


def _adapt_value(field: Any, value: Any, connection: Any) -> Any:
    """One value as the database library takes it."""
    if value is None:
        return None
    stored = value.stored if isinstance(value, ReadyJson) else field.get_db_prep_save(value, connection)
    return (
        str.__str__(stored) if isinstance(stored, str) else stored
    )  # a TextChoices member becomes a plain str


@lru_cache(maxsize=256)
def _insert_sql(
    table: str, own: tuple[str, ...], shared: tuple[str, ...], count: int, *, returning: str = ""
) -> str:
    """The INSERT of `count` rows; the shared values are bound once, before those of the rows."""
    names = ", ".join(f'"{name}"' for name in (*shared, *own))
    rows = ", ".join([f"({', '.join(['%s'] * len(own))})"] * count)
    if shared:
        chosen = ", ".join([*["%s"] * len(shared), *[f"column{at}" for at in range(1, len(own) + 1)]])
        return f'INSERT INTO "{table}" ({names}) SELECT {chosen} FROM (VALUES {rows})'  # noqa: S608
    end = f' RETURNING "{returning}"' if returning else ""
    return f'INSERT INTO "{table}" ({names}) VALUES {rows}{end}'  # noqa: S608


def write_columns(model: type[Model], keys: Sequence[int], columns: Mapping[str, Sequence[Any]]) -> int:
    """Set each column of each row to its value, inside the caller's transaction. Returns the number of rows.

    500 rows take 4 ms; Django's bulk_update, which writes one CASE for each row and column, takes ten times as long.
    """
    if not keys:
        return 0
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    fields = [by_name[name] for name in columns]
    key = next(field for field in by_name.values() if field.primary_key)
    names = ", ".join(f"{_quoted(field)} = %s" for field in fields)
    table = connection.ops.quote_name(model._meta.db_table)
    statement = f"UPDATE {table} SET {names} WHERE {_quoted(key)} = %s"  # noqa: S608 - names of the model's own columns
    prepared = [
        [field.get_db_prep_save(value, connection) for value in columns[field.attname]] for field in fields
    ]
    with connection.cursor() as cursor:
        cursor.executemany(statement, list(zip(*prepared, keys, strict=True)))
    return len(keys)


def _quoted(field: "Field[Any, Any]") -> str:
    return connection.ops.quote_name(field.column or field.name)
