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

from access.bulk_work import long_statement
from access.prepared import PLAIN, PreparedInsert, kind_of
from access.ready_json import ReadyJson

M = TypeVar("M", bound=Model)
MOST = 256  # rows in one statement; compiling one for 200 takes less than running them in five
SIZES = (64, 16, 4, 1)  # of fewer rows: few sizes, so that few are compiled
FEW = 4  # objects that are quicker inserted as PreparedInsert does it
_NOTHING = type(None)
Columns = Mapping[str, Sequence[Any]]  # by the columns' attributes, such as `group_id`


class ManyInsert(Generic[M]):
    """The INSERT of many rows of a model, whose values are no expressions, on SQLite inside a transaction.

    Rows and keys are those that PreparedInsert gives, which does it on another database and where there are few.
    """

    def __init__(self, model: type[M]) -> None:
        self._model, self._few = model, PreparedInsert(model)
        self._table = model._meta.db_table
        key = model._meta.pk
        self._key = key if isinstance(key, AutoField) else None
        self._fields: list[Any] = [field for field in model._meta.concrete_fields if field is not self._key]
        self._names = [field.attname for field in self._fields]
        self._values = itemgetter(*self._names)  # of a row's own dict: past the model's descriptors
        self._timed = [field for field in self._fields if getattr(field, "auto_now", False)]
        self._ties = [field for field in self._fields if field.is_relation]

    def add(self, rows: Sequence[M]) -> None:
        """Insert unsaved objects in order; each has its key afterwards. No signals are sent."""
        if len(rows) < FEW or not is_at_hand():
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
        """Insert rows given by all their columns but the key; give the keys, where the database counts them."""
        connection: Any = connections[DEFAULT_DB_ALIAS]
        adapted = {f.column: _adapted(f, columns[f.attname], connection) for f in self._fields}
        count = len(next(iter(adapted.values())))
        first = 1 if self._key is None else self._next_key()
        if self._key is not None:
            adapted[self._key.column] = range(first, first + count)
        at = 0
        for size in _sizes(count):
            self._insert({name: values[at : at + size] for name, values in adapted.items()}, size)
            at += size
        return range(first, first + count)

    def _insert(self, columns: Columns, count: int) -> None:
        own, shared = dict[str, Sequence[Any]](), dict[str, Any]()
        for name, values in columns.items():
            if values.count(values[0]) < count:
                own[name] = values
            elif values[0] is not None:
                shared[name] = values[0]
        if not own:
            name, value = shared.popitem()
            own[name] = [value] * count
        sql = _statement(self._table, tuple(own), tuple(shared), count)
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor, long_statement():
            cursor.execute(sql, [*shared.values(), *chain.from_iterable(zip(*own.values(), strict=True))])

    def _next_key(self) -> int:
        """Give the key that SQLite would give next: nobody else writes until the transaction ends."""
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [self._table])
            given = cursor.fetchone()
        return int(given[0]) + 1 if given else 1

    def _set_ties(self, rows: Sequence[Any]) -> None:
        """Give rows the keys of what was saved only after they were tied to it."""
        for field in self._ties:
            for row in rows:
                held = row.__dict__
                target = (
                    None if held.get(field.attname) is not None else row._state.fields_cache.get(field.name)
                )
                if target is not None and target.pk is not None:
                    held[field.attname] = getattr(target, field.target_field.attname)
                elif target is not None:
                    row._prepare_related_fields_for_save(
                        operation_name="bulk_create"
                    )  # it says what is missing


def _sizes(count: int) -> Iterator[int]:
    """Give the numbers of rows of the statements for so many."""
    while count > SIZES[0]:
        yield min(count, MOST)
        count -= min(count, MOST)
    for size in SIZES:
        while count >= size:
            yield size
            count -= size


def is_at_hand() -> bool:
    """Say whether rows can be inserted by their columns now: on SQLite, where the transaction has the write lock."""
    connection = connections[DEFAULT_DB_ALIAS]
    return connection.vendor == "sqlite" and connection.in_atomic_block


def _adapted(field: Any, values: Sequence[Any], connection: Any) -> Sequence[Any]:
    """Give a column's values as the library takes them, of exact types: it asks much about any other."""
    kinds = {*map(type, values)}
    if kinds == {ReadyJson}:
        return [value.stored for value in values]
    kinds -= {_NOTHING}
    if kinds <= {PLAIN.get(kind_of(field))} or kinds == {bytes}:
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
def _statement(table: str, own: tuple[str, ...], shared: tuple[str, ...], count: int) -> str:
    """Give the INSERT of so many rows: the columns they share stand before the rows, once."""
    names = ", ".join(f'"{name}"' for name in (*shared, *own))
    chosen = ", ".join([*["%s"] * len(shared), *[f"column{at}" for at in range(1, len(own) + 1)]])
    row = f"({', '.join(['%s'] * len(own))})"
    return f'INSERT INTO "{table}" ({names}) SELECT {chosen} FROM (VALUES {", ".join([row] * count)})'  # noqa: S608
