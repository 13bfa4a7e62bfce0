"""Compiled ORM queries, cached per connection.

Compiling a query takes the ORM several times as long as SQLite takes to run it; hot paths save that here.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField, Model, QuerySet
from django.db.models.query import ValuesListIterable, get_related_populators
from django.db.models.sql import InsertQuery, UpdateQuery


def repeated_cursor() -> Any:
    """A cursor for statements that come again and again; PostgreSQL then keeps their plans."""
    connection: Any = connections[DEFAULT_DB_ALIAS]
    return connection.repeated_cursor() if connection.vendor == "postgresql" else connection.cursor()


def fetch(sql: str, params: Sequence[Any], *, is_repeated: bool = False) -> list[tuple[Any, ...]]:
    """All rows of one SELECT; each %s in it is bound to a str, number or bytes of `params`.

    `is_repeated`: its best plan does not depend on the values, so PostgreSQL may keep it.
    """
    with repeated_cursor() if is_repeated else connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


T = TypeVar("T")
M = TypeVar("M", bound=Model)
Places = tuple[tuple[bool, Any], ...]  # per parameter: (True, index of the argument) or (False, constant)
_CACHE_ATTRIBUTE = "_loci_prepared"  # the attribute of a connection that holds its compiled statements
AT_ONCE = 16  # rows in one INSERT
# Each statement journals the pages that it changes: for many rows, 64 in one take a third less time.
SIZES = (64, AT_ONCE, 1)
# Types that a database takes unchanged, by field type; the field converts any other.
NATIVE_TYPES = {
    "CharField": str, "TextField": str, "FloatField": float, "BooleanField": bool, "BigAutoField": int, "AutoField": int,
    "BigIntegerField": int, "IntegerField": int, "PositiveIntegerField": int, "PositiveSmallIntegerField": int,
}  # fmt: skip
_VALUES = re.compile(r"(?<= VALUES )(\([^()]*(?:\([^()]*\)[^()]*)*\))")  # of an INSERT of one row
_FIRST_PLACEHOLDER = -(2**62)  # compiled in place of the arguments: values that no query uses


@dataclass(frozen=True)
class _Compiled:
    """A compiled query: its SQL, its parameters, and how its rows are read."""

    sql: str
    places: Places
    compiler: Any
    converters: Any
    read: Callable[[Sequence[Any]], Any]


class CompiledQuery(Generic[T]):
    """A query with `count` arguments; `make` builds its QuerySet from them.

    Arguments are bound unchanged: str and int. The rows are model objects with what select_related() names, or tuples if
    the QuerySet ends in values_list().
    """

    def __init__(self, make: Callable[..., "QuerySet[Any, T]"], count: int = 1) -> None:
        self._make = make
        self._placeholders = [_FIRST_PLACEHOLDER + index for index in range(count)]

    def rows(self, *values: str | int) -> list[T]:
        """Run the query with its `count` arguments."""
        statement = self._statement()
        found: Any = fetch(statement.sql, bind(statement.places, values), is_repeated=True)
        if statement.converters:
            found = statement.compiler.apply_converters(found, statement.converters)
        return [statement.read(row) for row in found]

    def first(self, *values: str | int) -> T | None:
        """The first row; None if there is none."""
        return next(iter(self.rows(*values)), None)

    def _statement(self) -> _Compiled:
        statement: _Compiled = _compiled_once(self, self._compile)
        return statement

    def _compile(self) -> _Compiled:
        queryset = self._make(*self._placeholders)
        compiler = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        places = _find_places(params, self._placeholders)
        selected = [column[0] for column in compiler.select[: compiler.col_count]]
        is_tuple = issubclass(queryset._iterable_class, ValuesListIterable)
        read = tuple if is_tuple else _row_reader(queryset, compiler)
        return _Compiled(sql, places, compiler, compiler.get_converters(selected), read)


class CompiledUpdate:
    """An UPDATE with `count` arguments; `make` builds the QuerySet to update and the new values from them."""

    def __init__(self, make: Callable[..., "tuple[QuerySet[Any], dict[str, Any]]"], count: int) -> None:
        self._make = make
        self._placeholders = [_FIRST_PLACEHOLDER + index for index in range(count)]

    def run(self, *values: str | int) -> int:
        """Update the rows; returns how many matched."""
        sql, places = _compiled_once(self, self._compile)
        with repeated_cursor() as cursor:
            cursor.execute(sql, bind(places, values))
            changed: int = cursor.rowcount
        return changed

    def run_each(self, rows: Sequence[Sequence[str | int]]) -> None:
        """Run the update for each row of arguments, with one executemany()."""
        sql, places = _compiled_once(self, self._compile)
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.executemany(sql, [bind(places, values) for values in rows])

    def _compile(self) -> tuple[str, Places]:
        queryset, changes = self._make(*self._placeholders)
        query: Any = queryset.order_by().query.chain(UpdateQuery)
        query.add_update_values(changes)
        sql, params = query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql()
        return sql, _find_places(params, self._placeholders)


class CompiledInsert(Generic[M]):
    """The INSERT of rows of a model; values are no expressions."""

    def __init__(self, model: type[M]) -> None:
        self._model = model
        self._fields = [f for f in model._meta.concrete_fields if not isinstance(f, AutoField)]
        self._values = attrgetter(*[field.attname for field in self._fields])
        self._timed = [field for field in self._fields if getattr(field, "auto_now", False)]
        self._relations: list[tuple[str, str]] = [
            (field.name, field.attname) for field in self._fields if field.is_relation
        ]
        self._native = [NATIVE_TYPES.get(internal_type(field)) for field in self._fields]

    def add(self, rows: Sequence[M]) -> None:
        """Insert unsaved objects in order, in statements of SIZES rows; sets each one's key. No signals are sent."""
        at = 0
        for size in SIZES:
            while len(rows) - at >= size:
                self._add(rows[at : at + size])
                at += size

    def _add(self, rows: Sequence[M]) -> None:
        connection: Any = connections[DEFAULT_DB_ALIAS]
        sql, compiler = _compiled_once((self, len(rows)), lambda: self._compile(rows[0], len(rows)))
        adapted: dict[tuple[int, int], Any] = {}
        params = [param for row in rows for param in self._params(row, connection, adapted)]
        returning = compiler.returning_fields
        with repeated_cursor() as cursor:
            cursor.execute(sql, [*params, *compiler.returning_params])
            found = cursor.fetchall() if returning else [()] * len(rows)
        for row, values in zip(rows, found, strict=True):
            for field, value in zip(returning, values, strict=True):
                setattr(row, field.attname, value)
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    def _params(self, row: Any, connection: Any, adapted: dict[tuple[int, int], Any]) -> list[Any]:
        """A row's values as the database takes them; asking each field takes longer than inserting the row.

        `adapted` caches converted values that rows share, such as the time of a batch.
        """
        related = row._state.fields_cache
        for relation, name in self._relations:
            if related.get(relation) is not None and getattr(row, name) is None:
                # The related object was saved after the row was linked to it.
                row._prepare_related_fields_for_save(operation_name="bulk_create")
                break
        for field in self._timed:
            field.pre_save(row, add=True)
        params = [*self._values(row)]
        for at, native in enumerate(self._native):
            value = params[at]
            if value is not None and type(value) is not native:
                place = (at, id(value))  # the rows stay alive, so an id is never reused
                if place not in adapted:
                    adapted[place] = self._fields[at].get_db_prep_save(value, connection)
                params[at] = adapted[place]
        return params

    def _compile(self, example: M, count: int) -> tuple[str, Any]:
        """The INSERT of `count` rows like `example`, from that of one: for many, PostgreSQL's compiler takes columns."""
        query = InsertQuery(self._model)
        query.insert_values(self._fields, [example])
        compiler: Any = query.get_compiler(using=DEFAULT_DB_ALIAS)
        compiler.returning_fields = self._model._meta.db_returning_fields
        [(sql, _)] = compiler.as_sql()
        query.objs = []
        before, row, after = _VALUES.split(sql, maxsplit=1)
        return f"{before}{', '.join([row] * count)}{after}", compiler


def internal_type(field: Any) -> str:
    """A field's internal type; of a relation that of the key it points to."""
    name: str = (field.target_field if field.is_relation else field).get_internal_type()
    return name


def _compiled_once(key: object, compile_: Callable[[], Any]) -> Any:
    """The value cached for this connection and key; compiled on first use."""
    cache = vars(connections[DEFAULT_DB_ALIAS]).setdefault(_CACHE_ATTRIBUTE, {})
    if key not in cache:
        cache[key] = compile_()
    return cache[key]


def _find_places(params: Sequence[Any], placeholders: Sequence[int]) -> Places:
    """Which argument each parameter of the compiled SQL takes, or its constant."""
    # A text column has turned its placeholder into a str.
    order: dict[Any, int] = {mark: index for index, mark in enumerate(placeholders)}
    order |= {str(mark): index for mark, index in order.items()}
    return tuple((True, order[p]) if p in order else (False, p) for p in params)


def bind(places: Places, values: Sequence[str | int]) -> list[Any]:
    """The parameters of the SQL for these arguments."""
    return [values[place] if is_argument else place for is_argument, place in places]


def _row_reader(queryset: "QuerySet[Any]", compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """A function that builds a model object from a row, as ModelIterable does."""
    using, info = queryset.db, compiler.klass_info
    model, fields = info["model"], info["select_fields"]
    names = [compiler.select[index][0].target.attname for index in fields]
    start, end = fields[0], fields[-1] + 1
    populators = get_related_populators(info, compiler.select, using)  # type: ignore[call-arg]  # stubs of a later Django

    def read(row: Sequence[Any]) -> Any:
        found = model.from_db(using, names, row[start:end])
        for populator in populators:
            populator.populate(row, found)
        return found

    return read
