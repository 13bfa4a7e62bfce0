"""Compiled ORM queries, cached per connection.

Compiling a query takes the ORM several times as long as SQLite takes to run it; hot paths save that here.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet
from django.db.models.query import ValuesListIterable, get_related_populators
from django.db.models.sql import UpdateQuery


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
_Key = TypeVar("_Key")
_MIN_KEYS = 16  # smallest compiled size; larger ones are doubled, so that few queries are compiled
_Places = tuple[tuple[bool, Any], ...]  # per parameter: (True, index of the argument) or (False, constant)
_CACHE_ATTRIBUTE = "_loci_prepared"  # the attribute of a connection that holds its compiled statements
_FIRST_PLACEHOLDER = -(2**62)  # compiled in place of the arguments: values that no query uses


@dataclass(frozen=True)
class _Compiled:
    """A compiled query: its SQL, its parameters, and how its rows are read."""

    sql: str
    places: _Places
    read: Callable[[list[tuple[Any, ...]]], list[Any]]


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
        return statement.read(fetch(statement.sql, bind(statement.places, values), is_repeated=True))

    def first(self, *values: str | int) -> T | None:
        """The first row; None if there is none."""
        return next(iter(self.rows(*values)), None)

    def _statement(self) -> _Compiled:
        statement: _Compiled = _compiled_once(self, self._compile)
        return statement

    def _compile(self) -> _Compiled:
        queryset = self._make(*self._placeholders)
        compiler = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        sql, places = _find_places(compiler.as_sql(), self._placeholders)
        if issubclass(queryset._iterable_class, ValuesListIterable):
            converted = _converter(compiler, 0, compiler.col_count)
            return _Compiled(sql, places, lambda rows: [*map(tuple, converted(rows))])
        return _Compiled(sql, places, _row_reader(queryset, compiler))


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

    def _compile(self) -> tuple[str, _Places]:
        queryset, changes = self._make(*self._placeholders)
        query: Any = queryset.order_by().query.chain(UpdateQuery)
        query.add_update_values(changes)
        return _find_places(query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql(), self._placeholders)


def _compiled_once(key: object, compile_: Callable[[], Any]) -> Any:
    """The value cached for this connection and key; compiled on first use."""
    cache = vars(connections[DEFAULT_DB_ALIAS]).setdefault(_CACHE_ATTRIBUTE, {})
    if key not in cache:
        cache[key] = compile_()
    return cache[key]


def _find_places(compiled: tuple[str, Sequence[Any]], placeholders: Sequence[int]) -> tuple[str, _Places]:
    """The compiled SQL with its constant texts as literals, and which argument each other parameter takes, or its constant.

    A literal may fit a partial index. Where a value is bound, SQLite plans the statement anew each time to find out.
    """
    # A text column has turned its placeholder into a str.
    order: dict[Any, int] = {mark: index for index, mark in enumerate(placeholders)}
    order |= {str(mark): index for mark, index in order.items()}
    text, params = compiled
    sql, *parts = text.split("%s")
    places = list[tuple[bool, Any]]()
    for param, part in zip(params, parts, strict=True):
        if isinstance(param, str) and param not in order:
            literal = str(param).replace("'", "''").replace("%", "%%")
            sql += f"'{literal}'{part}"
        else:
            places.append((True, order[param]) if param in order else (False, param))
            sql += f"%s{part}"
    return sql, tuple(places)


def bind(places: _Places, values: Sequence[str | int]) -> list[Any]:
    """The parameters of the SQL for these arguments."""
    return [values[place] if is_argument else place for is_argument, place in places]


def _converter(compiler: Any, start: int, end: int) -> Callable[[Iterable[Sequence[Any]]], Any]:
    """A function that makes Python's values of the database's in these columns of rows."""
    every = compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]])
    wanted = {at: each for at, each in every.items() if start <= at < end}
    return lambda rows: compiler.apply_converters(rows, wanted) if wanted else rows


def _row_reader(queryset: "QuerySet[Any]", compiler: Any) -> Callable[[list[tuple[Any, ...]]], list[Any]]:
    """A function that builds model objects from rows, as ModelIterable does; those of one row of another table share its object."""
    using, info = queryset.db, compiler.klass_info
    model, fields = info["model"], info["select_fields"]
    names = [compiler.select[index][0].target.attname for index in fields]
    start, end = fields[0], fields[-1] + 1
    own, related = _converter(compiler, 0, end), _converter(compiler, end, compiler.col_count)
    populators = get_related_populators(info, compiler.select, using)  # type: ignore[call-arg]  # stubs of a later Django

    def read(rows: list[tuple[Any, ...]]) -> list[Any]:
        found, by_related = list[Any](), dict[tuple[Any, ...], Any]()
        for raw, row in zip(rows, own(rows), strict=True):
            made = model.from_db(using, names, row[start:end])
            first = by_related.setdefault(raw[end:], made)
            if first is made:
                for whole in related([raw]):
                    for populator in populators:
                        populator.populate(whole, made)
            else:
                made._state.fields_cache.update(first._state.fields_cache)
            found.append(made)
        return found

    return read


def read_rows(query_for: Callable[[int], CompiledQuery[T]], keys: Sequence[int | str]) -> list[T]:
    """Rows of these keys; `query_for` returns the query for a number of keys."""
    if not keys:
        return []
    padded = pad_keys(keys)
    return query_for(len(padded)).rows(*padded)


def pad_keys(keys: Sequence[_Key], *, least: int = _MIN_KEYS) -> list[_Key]:
    """Pad the keys to the next compiled size by repeating the last one, which is still found once."""
    count = least
    while count < len(keys):
        count *= 2
    return [*keys, *[keys[-1]] * (count - len(keys))]
