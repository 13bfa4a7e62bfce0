"""Queries of the ORM that are compiled once for each connection and then run with other values.

Compiling takes the ORM several times as long as SQLite takes to answer; it is worth sparing where every call passes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField, Model, QuerySet
from django.db.models.query import ValuesListIterable, get_related_populators
from django.db.models.sql import InsertQuery, UpdateQuery

# A wrapper of statements that has this attribute, true, looks at writes alone: it is not asked about a SELECT.
LOOKS_AT_WRITES = "looks_at_writes_alone"


def fetch(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Give all rows of one SELECT, with a %s for each of the params, which are texts, numbers and bytes.

    On SQLite it goes to the library at once, unless somebody follows the statements or the transaction is broken: a
    cursor of Django's asks and wraps some twenty things each time, and a recall makes a dozen statements. Errors are
    Django's in both ways.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "sqlite" and connection.connection is not None and not _is_followed(connection):
        with connection.wrap_database_errors:
            found: list[tuple[Any, ...]] = connection.connection.execute(sqlite_sql(sql), params).fetchall()
        return found
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _is_followed(connection: Any) -> bool:
    if connection.needs_rollback or connection.queries_logged:
        return True
    wrappers = connection.execute_wrappers
    return not all(getattr(each, LOOKS_AT_WRITES, False) for each in wrappers)


@lru_cache(maxsize=1000)
def sqlite_sql(sql: str) -> str:
    """Give the statement with SQLite's own marks."""
    return sql.replace("%s", "?").replace("%%", "%")


T = TypeVar("T")
M = TypeVar("M", bound=Model)
Places = tuple[tuple[bool, Any], ...]  # whether it is one of the given, and its index or else the value
_CACHE_ATTRIBUTE = "_loci_prepared"  # the attribute of a connection that keeps what was compiled for it
AT_ONCE = 16  # rows in one INSERT
# Each statement keeps the pages that it changes for its own undoing: of many rows, 64 in one take a third less time.
SIZES = (64, AT_ONCE, 1)
# What a database takes as it is; any other type is left to the field.
NATIVE_TYPES = {
    "CharField": str, "TextField": str, "FloatField": float, "BooleanField": bool, "BigAutoField": int, "AutoField": int,
    "BigIntegerField": int, "IntegerField": int, "PositiveIntegerField": int, "PositiveSmallIntegerField": int,
}  # fmt: skip
_FIRST_PLACEHOLDER = -(2**62)  # values that no query asks for stand in for the real ones while it is compiled


@dataclass(frozen=True)
class _Statement:
    """A compiled query: its SQL, what stands in each place (a value, or which of those given), how rows are read."""

    sql: str
    places: Places
    compiler: Any
    converters: Any
    read: Callable[[Sequence[Any]], Any]


class CompiledQuery(Generic[T]):
    """A query with a fixed number of values; `make` gives its QuerySet for them.

    Values are bound as they are given: texts and whole numbers. The rows are objects of the model with what
    select_related() names, or tuples where the QuerySet ends in values_list().
    """

    def __init__(self, make: Callable[..., "QuerySet[Any, T]"], count: int = 1) -> None:
        self._make = make
        self._marks = [_FIRST_PLACEHOLDER + index for index in range(count)]

    def rows(self, *values: str | int) -> list[T]:
        """Run the query with as many values as it was made for."""
        statement = self._statement()
        found: Any = fetch(statement.sql, bind(statement.places, values))
        if statement.converters:
            found = statement.compiler.apply_converters(found, statement.converters)
        return [statement.read(row) for row in found]

    def first(self, *values: str | int) -> T | None:
        """Give the first row, None where there is none."""
        return next(iter(self.rows(*values)), None)

    def _statement(self) -> _Statement:
        statement: _Statement = compiled_once(self, self._compile)
        return statement

    def _compile(self) -> _Statement:
        queryset = self._make(*self._marks)
        compiler = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        places = find_places(params, self._marks)
        selected = [column[0] for column in compiler.select[: compiler.col_count]]
        is_tuple = issubclass(queryset._iterable_class, ValuesListIterable)
        read = tuple if is_tuple else row_reader(queryset, compiler)
        return _Statement(sql, places, compiler, compiler.get_converters(selected), read)


class CompiledUpdate:
    """An UPDATE with a fixed number of values; `make` gives the QuerySet of what is changed, and what to, for them."""

    def __init__(self, make: Callable[..., "tuple[QuerySet[Any], dict[str, Any]]"], count: int) -> None:
        self._make = make
        self._marks = [_FIRST_PLACEHOLDER + index for index in range(count)]

    def run(self, *values: str | int) -> int:
        """Change the rows; give how many there were."""
        sql, places = compiled_once(self, self._compile)
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(sql, bind(places, values))
            changed: int = cursor.rowcount
        return changed

    def run_each(self, rows: Sequence[Sequence[str | int]]) -> None:
        """Do what run() does with each of these values."""
        sql, places = compiled_once(self, self._compile)
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.executemany(sql, [bind(places, values) for values in rows])

    def _compile(self) -> tuple[str, Places]:
        queryset, changes = self._make(*self._marks)
        query: Any = queryset.order_by().query.chain(UpdateQuery)
        query.add_update_values(changes)
        sql, params = query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql()
        return sql, find_places(params, self._marks)


class CompiledInsert(Generic[M]):
    """The INSERT of rows of a model whose values are no expressions."""

    def __init__(self, model: type[M]) -> None:
        self._model = model
        self._fields = [f for f in model._meta.concrete_fields if not isinstance(f, AutoField)]
        self._values = attrgetter(*[field.attname for field in self._fields])
        self._timed = [field for field in self._fields if getattr(field, "auto_now", False)]
        self._ties: list[tuple[str, str]] = [
            (field.name, field.attname) for field in self._fields if field.is_relation
        ]
        self._plain = [NATIVE_TYPES.get(internal_type(field)) for field in self._fields]

    def add(self, rows: Sequence[M]) -> None:
        """Insert unsaved objects in order, as many as SIZES has in a statement; each has its key afterwards.

        No signals are sent.
        """
        at = 0
        for size in SIZES:
            while len(rows) - at >= size:
                self._add(rows[at : at + size])
                at += size

    def _add(self, rows: Sequence[M]) -> None:
        connection: Any = connections[DEFAULT_DB_ALIAS]
        sql, compiler = compiled_once((self, len(rows)), lambda: self._compile(rows))
        adapted: dict[tuple[int, int], Any] = {}
        params = [param for row in rows for param in self._params(row, connection, adapted)]
        given = compiler.returning_fields
        with connection.cursor() as cursor:
            cursor.execute(sql, [*params, *compiler.returning_params])
            found = cursor.fetchall() if given else [()] * len(rows)
        for row, values in zip(rows, found, strict=True):
            for field, value in zip(given, values, strict=True):
                setattr(row, field.attname, value)
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    def _params(self, row: Any, connection: Any, adapted: dict[tuple[int, int], Any]) -> list[Any]:
        """Give a row's values as the database takes them; asking each field takes longer than inserting the row.

        `adapted` remembers what other rows hold as well, such as the moment of a batch.
        """
        known = row._state.fields_cache
        for tie, name in self._ties:
            if known.get(tie) is not None and getattr(row, name) is None:
                # What was tied to an object before that was saved has its key only now.
                row._prepare_related_fields_for_save(operation_name="bulk_create")
                break
        for field in self._timed:
            field.pre_save(row, add=True)
        params = [*self._values(row)]
        for at, plain in enumerate(self._plain):
            value = params[at]
            if value is not None and type(value) is not plain:
                place = (at, id(value))  # the rows live on, so no other value takes its place in memory
                if place not in adapted:
                    adapted[place] = self._fields[at].get_db_prep_save(value, connection)
                params[at] = adapted[place]
        return params

    def _compile(self, examples: Sequence[M]) -> tuple[str, Any]:
        query = InsertQuery(self._model)
        query.insert_values(self._fields, [*examples])
        compiler: Any = query.get_compiler(using=DEFAULT_DB_ALIAS)
        compiler.returning_fields = self._model._meta.db_returning_fields
        [(sql, _)] = compiler.as_sql()
        query.objs = []
        return sql, compiler


def internal_type(field: Any) -> str:
    """Give the kind of a field's values; of a tie those of the key that it holds."""
    kind: str = (field.target_field if field.is_relation else field).get_internal_type()
    return kind


def compiled_once(key: object, compile_: Callable[[], Any]) -> Any:
    """Give what was compiled for this connection, compiled now where it was not."""
    kept = vars(connections[DEFAULT_DB_ALIAS]).setdefault(_CACHE_ATTRIBUTE, {})
    if key not in kept:
        kept[key] = compile_()
    return kept[key]


def find_places(params: Sequence[Any], marks: Sequence[int]) -> Places:
    # A text column has made a text of its mark.
    order: dict[Any, int] = {mark: index for index, mark in enumerate(marks)}
    order |= {str(mark): index for mark, index in order.items()}
    return tuple((True, order[p]) if p in order else (False, p) for p in params)


def bind(places: Places, values: Sequence[str | int]) -> list[Any]:
    return [values[place] if is_given else place for is_given, place in places]


def row_reader(queryset: "QuerySet[Any]", compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """Give what makes an object of a row, as ModelIterable does."""
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
