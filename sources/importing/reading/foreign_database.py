"""SQLite databases of other programs: opened for reading only, and left as they are."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from access.errors import InvalidInput
from sources.importing.lines import first_bytes, open_file
from sources.importing.reading.json_stream import read_items
from sources.importing.reading.values import dict_of
from storage.sqlite.driver import choose_driver

_MAGIC: Final = b"SQLite format 3\x00"
ROWS_AT_ONCE: Final = 500


class _ForeignDatabase:
    """A database of another program. Columns differ between its versions: columns() says which there are."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def columns(self, table: str) -> frozenset[str]:
        found = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return frozenset(str(name) for (name,) in found)

    def rows(self, table: str, *, order: str) -> Iterator[dict[str, Any]]:
        """All rows of a table as dicts, in an order (SQL). Both names come from an importer, never from a file."""
        cursor = self._connection.execute(f'SELECT * FROM "{table}" ORDER BY {order}')  # noqa: S608 - see above
        names = [column[0] for column in cursor.description]
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from (dict(zip(names, row, strict=True)) for row in rows)


@contextmanager
def open_foreign(path: Path) -> Iterator[_ForeignDatabase]:
    """A database, read only. One that is not open elsewhere is read as immutable, so that no file appears next to it.

    Raises:
        InvalidInput: it is not a database, is broken, or its tables cannot be read.
    """
    library: Any = choose_driver().module
    is_in_use = path.with_name(f"{path.name}-wal").exists()
    address = f"file:{quote(str(path.absolute()))}?mode=ro{'' if is_in_use else '&immutable=1'}"
    try:
        connection = library.connect(address, uri=True)
        try:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield _ForeignDatabase(connection)
        finally:
            connection.close()
    except library.DatabaseError as error:
        raise InvalidInput(f"The database cannot be read: {error}.", field="file") from None


def tables_of(path: Path) -> dict[str, frozenset[str]]:
    """The tables of a database with their columns; empty if the file is none.

    Virtual tables are left out: they cannot be read without their module, such as vec0.
    """
    if not path.is_file() or not first_bytes(path).startswith(_MAGIC):
        return {}
    try:
        with open_foreign(path) as database:
            found = database.rows("sqlite_master", order="name")
            names = [
                row["name"]
                for row in found
                if row["type"] == "table" and not (row["sql"] or "").upper().startswith("CREATE VIRTUAL")
            ]
            return {name: database.columns(name) for name in names}
    except InvalidInput:
        return {}


def rows_or_elements(path: Path, kinds: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a database, or the elements of the lists in a JSON file, each with its kind; `kinds` by table."""
    found = tables_of(path)
    if found:
        with open_foreign(path) as database:
            for table, kind in kinds.items():
                if table in found:
                    yield from ((kind, row) for row in database.rows(table, order="rowid"))
        return
    with open_file(path) as file:
        for key, value, is_element in read_items(file):
            if is_element and key in kinds.values():
                yield key, dict_of(value)
