"""Loci's database engine for SQLite: Django's own backend, on a library that loads sqlite-vec into every connection."""

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.asyncio import async_unsafe

from storage.home import ensure_home
from storage.sqlite.django_backend import import_backend
from storage.sqlite.driver import DRIVER, vec0_path
from storage.sqlite.open_files import FileInUse, exclusive_access, mark_open
from storage.sqlite.schema_dependents import suspend_dependents

# 8 MiB at SQLite's usual page; between two steps the processor is others'.
BACKUP_BATCH_PAGES, SLEEP_S = 2048, 0.005

# Without a fitting library Django still has to load, so that the system check can say what to do.
_backend: Any = import_backend(DRIVER.module or importlib.import_module("sqlite3"))


class SchemaEditor(_backend.DatabaseSchemaEditor):  # type: ignore[misc]  # a private copy has no static type
    """Django's, with values adapted by our library; Django's own asks the standard one, which lacks its adapters."""

    def quote_value(self, value: Any) -> str:
        """Give the value as an SQL literal."""
        library = _backend.Database
        with suppress(library.ProgrammingError):  # nothing to adapt
            value = library.adapt(value)
        return str(super().quote_value(value))

    def _remake_table(self, *args: Any, **kwargs: Any) -> None:
        with suspend_dependents(self.connection):
            super()._remake_table(*args, **kwargs)

    def alter_db_table(self, *args: Any, **kwargs: Any) -> None:
        """Rename a table; the triggers and views that name it live on."""
        with suspend_dependents(self.connection):
            super().alter_db_table(*args, **kwargs)


@lru_cache(maxsize=1000)
def _with_question_marks(query: str) -> str:
    return str(_backend.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%"))


class Cursor(_backend.SQLiteCursorWrapper):  # type: ignore[misc]  # a private copy has no static type
    """Django's, which looks for the places in a statement's text once and not at each call."""

    def convert_query(self, query: str, *, param_names: list[str] | None = None) -> str:
        """Give the statement with its places as the library writes them."""
        if param_names is None:
            return _with_question_marks(query)
        return str(super().convert_query(query, param_names=param_names))


class DatabaseWrapper(_backend.DatabaseWrapper):  # type: ignore[misc]  # a private copy has no static type
    """A connection to Loci's SQLite file; the first one makes the file, readable by its owner alone."""

    display_name = "SQLite with sqlite-vec"
    SchemaEditorClass = SchemaEditor
    # True for a copy that only its maker knows of: nobody else can have it open.
    is_private_copy = False

    @async_unsafe
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open the file and load vec0; raises ImproperlyConfigured where no library can."""
        if DRIVER.problem:
            raise ImproperlyConfigured(DRIVER.problem)
        if not self.is_in_memory_db():
            path = Path(conn_params["database"])
            make_database_file(path)
            if not self.is_private_copy:
                _say_open(path, timeout_s=float(conn_params.get("timeout", 5)))
        connection = super().get_new_connection(conn_params)
        connection.enable_load_extension(True)
        connection.load_extension(str(vec0_path()))
        connection.enable_load_extension(False)
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        """Give a cursor; SQLite's have no names."""
        return self.connection.cursor(factory=Cursor)

    def copy_to(self, target: Path, *, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the file as it stands for this connection with SQLite's online backup; nobody waits for it.

        Within a read transaction it is that transaction's snapshot: a copy without one begins anew whenever another
        process writes. `progress` is told the pages done and all pages.
        """

        def report(_status: int, remaining: int, total: int) -> None:
            if progress is not None:
                progress(total - remaining, total)

        self.ensure_connection()
        make_database_file(target)
        with closing(_backend.Database.connect(str(target))) as copy:
            self.connection.backup(copy, pages=BACKUP_BATCH_PAGES, progress=report, sleep=SLEEP_S)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Close this connection and keep every other process from the file for the time of the block.

        Raises OperationalError where another process has it open.
        """
        self.close()
        with (
            self.wrap_database_errors,
            _as_operational_error(),
            exclusive_access(Path(self.settings_dict["NAME"])),
        ):
            try:
                yield
            finally:
                self.close()


def _say_open(path: Path, *, timeout_s: float) -> None:
    with _as_operational_error():
        mark_open(path, timeout_s=timeout_s)


@contextmanager
def _as_operational_error() -> Iterator[None]:
    """Say it as the library says that it cannot open a file, so that Django knows what it is."""
    try:
        yield
    except FileInUse as other:
        raise _backend.Database.OperationalError(str(other)) from other


def make_database_file(path: Path) -> None:
    """Make the file and its folder where they are missing; SQLite gives the WAL the same mode."""
    if path.exists():
        return
    ensure_home(settings.LOCI.home)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
