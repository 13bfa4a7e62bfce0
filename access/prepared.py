"""Queries of the ORM that are compiled once for each connection and then run with other values.

Compiling takes the ORM several times as long as SQLite takes to answer; it is worth sparing where every call passes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet
from django.db.models.query import ValuesListIterable, get_related_populators

T = TypeVar("T")
_KEPT = "_loci_prepared"  # the attribute of a connection that keeps what was compiled for it
_MARK = -(2**62)  # values that no query asks for stand in for the real ones while it is compiled


@dataclass(frozen=True)
class _Statement:
    """A compiled query: its SQL, what stands in each place (a value, or which of those given), how rows are read."""

    sql: str
    places: tuple[tuple[bool, Any], ...]  # whether it is one of the given, and its index or else the value
    compiler: Any
    converters: Any
    read: Callable[[Sequence[Any]], Any]


class Prepared(Generic[T]):
    """A query with a fixed number of values; `make` gives its QuerySet for them.

    Values are bound as they are given: texts and whole numbers. The rows are objects of the model with what
    select_related() names, or tuples where the QuerySet ends in values_list().
    """

    def __init__(self, make: Callable[..., "QuerySet[Any, T]"], count: int = 1) -> None:
        self._make = make
        self._marks = [_MARK + index for index in range(count)]

    def rows(self, *values: str | int) -> list[T]:
        """Run the query with as many values as it was made for."""
        statement = self._statement()
        params = [values[place] if is_given else place for is_given, place in statement.places]
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(statement.sql, params)
            found: Any = cursor.fetchall()
        if statement.converters:
            found = statement.compiler.apply_converters(found, statement.converters)
        return [statement.read(row) for row in found]

    def first(self, *values: str | int) -> T | None:
        """Give the first row, None where there is none."""
        return next(iter(self.rows(*values)), None)

    def _statement(self) -> _Statement:
        kept = vars(connections[DEFAULT_DB_ALIAS]).setdefault(_KEPT, {})
        if self not in kept:
            kept[self] = self._compile()
        statement: _Statement = kept[self]
        return statement

    def _compile(self) -> _Statement:
        queryset = self._make(*self._marks)
        compiler = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        # A text column has made a text of its mark.
        order: dict[Any, int] = {mark: index for index, mark in enumerate(self._marks)}
        order |= {str(mark): index for mark, index in order.items()}
        places = tuple((True, order[p]) if p in order else (False, p) for p in params)
        selected = [column[0] for column in compiler.select[: compiler.col_count]]
        is_tuple = issubclass(queryset._iterable_class, ValuesListIterable)
        read = tuple if is_tuple else _reader(queryset, compiler)
        return _Statement(sql, places, compiler, compiler.get_converters(selected), read)


def _reader(queryset: "QuerySet[Any]", compiler: Any) -> Callable[[Sequence[Any]], Any]:
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
