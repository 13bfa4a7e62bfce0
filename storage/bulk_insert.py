"""Many new rows of a table in few statements: what they share is said once, and each has its key beforehand.

For each statement SQLite keeps what it needs to undo that one alone, and the keyword index writes down what it holds in
memory; so a batch is one. And of a column that no row has a value for, the library need not be told row by row.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField, Model
from django.db.models.base import ModelState

from storage.canonical_json import ReadyJson
from storage.compiled_queries import NATIVE_TYPES, CompiledInsert, internal_type

M = TypeVar("M", bound=Model)


def copy_row(example: M, values: Mapping[str, Any], ties: Mapping[str, Model] | None = None) -> M:
    """Give an unsaved row with an example's values but for these, by the names of columns (`group_id`, not `group`).

    `ties` are rows that it points to, by the names of fields; their keys are set as well. The example's lists and dicts
    are shared with it: give each row its own. No signals are sent.
    """
    row = object.__new__(example.__class__)
    held = row.__dict__
    held.update(example.__dict__)
    held.update(values)
    state = ModelState()
    known = state.fields_cache = dict(example._state.fields_cache)
    held["_state"] = state
    for name, target in (ties or {}).items():
        known[name] = target
        held[f"{name}_id"] = target.pk
    return row


MAX_ROWS = 256  # rows in one statement; compiling one for 200 takes less than running them in five
SIZES = (64, 16, 4, 1)  # of fewer rows: few sizes, so that few are compiled
MIN_BULK_ROWS = 4  # objects that are quicker inserted as PreparedInsert does it
NONE_TYPE = type(None)
Columns = Mapping[str, Sequence[Any]]  # by the columns' attributes, such as `group_id`


class ManyInsert(Generic[M]):
    """The INSERT of many rows of a model, whose values are no expressions, on SQLite inside a transaction.

    Rows and keys are those that PreparedInsert gives, which does it on another database and where there are few.
    """

    def __init__(self, model: type[M]) -> None:
        self._model, self._few = model, CompiledInsert(model)
        self._table = model._meta.db_table
        key = model._meta.pk
        self._key = key if isinstance(key, AutoField) else None
        self._fields: list[Any] = [field for field in model._meta.concrete_fields if field is not self._key]
        self._names = [field.attname for field in self._fields]
        self._values = itemgetter(*self._names)  # of a row's own dict: past the model's descriptors
        self._timed = [field for field in self._fields if getattr(field, "auto_now", False)]
        self._ties = {field.name: field for field in self._fields if field.is_relation}

    def add(self, rows: Sequence[M]) -> None:
        """Insert unsaved objects in order; each has its key afterwards. No signals are sent."""
        if len(rows) < MIN_BULK_ROWS or not can_insert_columns():
            self._few.add(rows)
            return
        self._set_ties(rows)
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

    def add_columns(self, columns: Columns) -> range:
        """Insert rows given by all their columns but the key; returns the keys, if the database counts them."""
        connection: Any = connections[DEFAULT_DB_ALIAS]
        own, shared, count = dict[str, Sequence[Any]](), dict[str, Any](), 0
        for field in self._fields:
            values = columns[field.attname]
            count = len(values)
            # Equal objects need not be the same text as JSON: 1, 1.0 and true are equal.
            is_ready = internal_type(field) == "JSONField"
            if is_ready:
                values = adapt_column(field, values, connection)
            if values.count(values[0]) < count:
                own[field.column] = values if is_ready else adapt_column(field, values, connection)
            elif values[0] is not None:
                shared[field.column] = (
                    values[0] if is_ready else adapt_column(field, values[:1], connection)[0]
                )
        first, at = self._next_key(), 0
        keys = range(first, first + count)
        if self._key is not None:
            own[str(self._key.column)] = keys
        for size in statement_sizes(count):
            self._insert({name: values[at : at + size] for name, values in own.items()}, shared, size)
            at += size
        return keys

    def _insert(self, own: Columns, shared: Mapping[str, Any], count: int) -> None:
        if not own:
            [name, *others] = shared
            own, shared = {name: [shared[name]] * count}, {other: shared[other] for other in others}
        sql = insert_sql(self._table, tuple(own), tuple(shared), count)
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(sql, [*shared.values(), *chain.from_iterable(zip(*own.values(), strict=True))])

    def _next_key(self) -> int:
        """Give the key that SQLite would give next: nobody else writes until the transaction ends. 1 where it counts none."""
        if self._key is None:
            return 1
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [self._table])
            given = cursor.fetchone()
        return int(given[0]) + 1 if given else 1

    def _set_ties(self, rows: Sequence[Any]) -> None:
        """Give rows the keys of what was saved only after they were tied to it."""
        for row in rows:
            held = row.__dict__
            for name, target in row._state.fields_cache.items():
                field = self._ties.get(name)
                if field is None or target is None or held.get(field.attname) is not None:
                    continue
                if target.pk is None:
                    row._prepare_related_fields_for_save(
                        operation_name="bulk_create"
                    )  # it says what is missing
                held[field.attname] = getattr(target, field.target_field.attname)


def statement_sizes(count: int) -> Iterator[int]:
    """Give the numbers of rows of the statements for so many."""
    while count > SIZES[0]:
        yield min(count, MAX_ROWS)
        count -= min(count, MAX_ROWS)
    for size in SIZES:
        while count >= size:
            yield size
            count -= size


def can_insert_columns() -> bool:
    """Say whether rows can be inserted by their columns now: on SQLite, where the transaction has the write lock."""
    connection = connections[DEFAULT_DB_ALIAS]
    return connection.vendor == "sqlite" and connection.in_atomic_block


def adapt_column(field: Any, values: Sequence[Any], connection: Any) -> Sequence[Any]:
    """Give a column's values as the library takes them, of exact types: it asks much about any other."""
    kinds = {*map(type, values)}
    if kinds == {ReadyJson}:
        return [value.stored for value in values]
    kinds -= {NONE_TYPE}
    if kinds <= {NATIVE_TYPES.get(internal_type(field))} or kinds == {bytes}:
        return values
    if kinds == {UUID}:
        return [value and value.hex for value in values]
    adapted: dict[Any, Any] = {}  # what many rows hold as well, such as the moment of a batch
    column = []
    for value in values:
        # The rows live on, so no other value takes its place in memory. What is empty is as any other of its kind.
        place = id(value) if value else type(value)
        if place not in adapted:
            adapted[place] = _adapted_alone(field, value, connection)
        column.append(adapted[place])
    return column


def _adapted_alone(field: Any, value: Any, connection: Any) -> Any:
    if value is None:
        return None
    said = value.stored if isinstance(value, ReadyJson) else field.get_db_prep_save(value, connection)
    return (
        str.__str__(said) if isinstance(said, str) else said
    )  # a word of a list of choices is a kind of its own


@lru_cache(maxsize=256)
def insert_sql(table: str, own: tuple[str, ...], shared: tuple[str, ...], count: int) -> str:
    """Give the INSERT of so many rows: the columns they share stand before the rows, once."""
    names = ", ".join(f'"{name}"' for name in (*shared, *own))
    chosen = ", ".join([*["%s"] * len(shared), *[f"column{at}" for at in range(1, len(own) + 1)]])
    row = f"({', '.join(['%s'] * len(own))})"
    return f'INSERT INTO "{table}" ({names}) SELECT {chosen} FROM (VALUES {", ".join([row] * count)})'  # noqa: S608
