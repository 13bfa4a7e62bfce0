"""Loci's database engine for SQLite: Django's own backend, with sqlite-vec loaded into every connection."""

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.asyncio import async_unsafe

from storage.changes import current_change
from storage.encryption import KeyProblem, database_key
from storage.encryption.pages import is_plain, present_key
from storage.faults import report_failed_commit
from storage.home import DATABASE, ensure_home
from storage.sqlite.dialect import FileInUse, exclusive_access, mark_open
from storage.sqlite.driver import driver_of_settings, load_vec0

BACKEND = "django.db.backends.sqlite3"


def _import_backend(library: ModuleType) -> ModuleType:
    """A private copy of `django.db.backends.sqlite3.base` that uses `library`."""
    dbapi = importlib.import_module(f"{library.__name__}.dbapi2")
    importlib.import_module(BACKEND)  # the package itself stays; only its modules are copied
    with _substitute_modules({"sqlite3": library, "sqlite3.dbapi2": dbapi}):
        return importlib.import_module(f"{BACKEND}.base")


@contextmanager
def _substitute_modules(names: dict[str, ModuleType]) -> Iterator[None]:
    """Replace `sqlite3` by `names` in `sys.modules` and import the backend again during the block."""
    package = sys.modules[BACKEND]
    attributes = dict(vars(package))
    before = {name: sys.modules.pop(name) for name in [*sys.modules] if _is_substituted(name)}
    sys.modules.update(names)
    try:
        yield
    finally:
        for name in [*sys.modules]:
            if _is_substituted(name):
                del sys.modules[name]
        sys.modules.update(before)
        vars(package).clear()
        vars(package).update(attributes)


def _is_substituted(name: str) -> bool:
    return name == "sqlite3" or name.startswith(("sqlite3.", f"{BACKEND}."))


_DEPENDENTS = (
    "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view') AND sql IS NOT NULL"
)


@contextmanager
def _suspend_dependents(connection: Any) -> Iterator[None]:
    """Drop all triggers and views during the block, then create them again unchanged."""
    with connection.cursor() as cursor:
        cursor.execute(_DEPENDENTS)
        # Views are created first: triggers read them.
        dependents = sorted(cursor.fetchall(), key=lambda row: row[0] != "view")
        for kind, name, _ in reversed(dependents):
            cursor.execute(f'DROP {kind} "{name}"')
    yield
    with connection.cursor() as cursor:
        for _, _, sql in dependents:
            cursor.execute(sql)


# 8 MiB at SQLite's default page size, with a pause after each batch that leaves the processor to others.
BACKUP_BATCH_PAGES, BACKUP_SLEEP_S = 2048, 0.005
NO_DATABASE = "there is no database at"
_BEGINNING = threading.Lock()

DRIVER = driver_of_settings()
# Django must load even without a usable library, so that the system check can report it.
_backend: Any = _import_backend(DRIVER.module or importlib.import_module("sqlite3"))


class _KeyedConnection(_backend.Database.Connection):  # type: ignore[misc]  # a private copy has no static type
    """A connection that presents the store's key, if there is one, before it reads anything.

    Every opener of the store and of its copies makes its connections here.
    """

    def __init__(self, database: str, *args: Any, **options: Any) -> None:
        try:
            key = database_key()
        except KeyProblem as problem:
            raise _backend.Database.OperationalError(str(problem)) from problem
        super().__init__(database, *args, **options)
        self.create_function("loci_change", 0, current_change)
        if key is None:
            return
        present_key(self, key)
        try:
            self.execute("SELECT 1 FROM sqlite_master LIMIT 1")
        except _backend.Database.OperationalError:
            raise  # locked, or the disk
        except _backend.Database.DatabaseError as error:
            self.close()
            wrong = KeyProblem(_describe_wrong_key(Path(database), key.origin))
            raise _backend.Database.OperationalError(str(wrong)) from wrong.with_traceback(
                error.__traceback__
            )


def _describe_wrong_key(path: Path, origin: str) -> str:
    """Why a file does not open with the key. No connection of this process has it open: they would have the same key."""
    if is_plain(path):
        return (
            f"The database {path} is not encrypted, but storage.encryption is sqlcipher: run 'loci store encrypt', "
            "or take the setting back."
        )
    return (
        f"The key in {origin} does not open the database {path}: it is another key, or the file is damaged."
    )


class SchemaEditor(_backend.DatabaseSchemaEditor):  # type: ignore[misc]  # a private copy has no static type
    """Django's schema editor with values adapted by our library; the standard one lacks our adapters."""

    def quote_value(self, value: Any) -> str:
        """The value as an SQL literal."""
        library = _backend.Database
        with suppress(library.ProgrammingError):  # nothing to adapt
            value = library.adapt(value)
        return str(super().quote_value(value))

    def _remake_table(self, *args: Any, **kwargs: Any) -> None:
        with _suspend_dependents(self.connection):
            super()._remake_table(*args, **kwargs)

    def alter_db_table(self, *args: Any, **kwargs: Any) -> None:
        """Rename a table and keep the triggers and views that name it."""
        with _suspend_dependents(self.connection):
            super().alter_db_table(*args, **kwargs)


@lru_cache(maxsize=1000)
def _convert_placeholders(query: str) -> str:
    """The statement with `?` in place of `%s`; cached."""
    return str(_backend.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%"))


class Cursor(_backend.SQLiteCursorWrapper):  # type: ignore[misc]  # a private copy has no static type
    """Django's cursor with the placeholder conversion of each statement cached."""

    def convert_query(self, query: str, *, param_names: list[str] | None = None) -> str:
        """The statement with the library's placeholders."""
        if param_names is None:
            return _convert_placeholders(query)
        return str(super().convert_query(query, param_names=param_names))


class DatabaseWrapper(_backend.DatabaseWrapper):  # type: ignore[misc]  # a private copy has no static type
    """A connection to Loci's SQLite file; the first one creates the file, readable by its owner only."""

    display_name = "SQLite with sqlite-vec"
    SchemaEditorClass = SchemaEditor
    # True for a copy known only to its creator: no other process can have it open.
    is_private_copy = False

    def get_connection_params(self) -> dict[str, Any]:
        """Django's parameters with our connection class."""
        params: dict[str, Any] = super().get_connection_params()
        return {**params, "factory": _KeyedConnection}

    @async_unsafe
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open the file and load vec0.

        Raises:
            ImproperlyConfigured: no SQLite library can load extensions.
        """
        if DRIVER.problem:
            raise ImproperlyConfigured(DRIVER.problem)
        if not self.is_in_memory_db():
            path = Path(conn_params["database"])
            _refuse_new_database(path)
            _make_database_file(path)
            if not self.is_private_copy:
                with _raise_operational_error():
                    mark_open(path, timeout_s=float(conn_params.get("timeout", 5)))
        connection = super().get_new_connection(conn_params)
        load_vec0(connection)
        return connection

    def _start_transaction_under_autocommit(self) -> None:
        """Begin in this process's turn: only one of its threads asks again and again whether others have finished."""
        is_turn = _BEGINNING.acquire(timeout=self.settings_dict["OPTIONS"].get("timeout", 5))
        try:
            super()._start_transaction_under_autocommit()
        finally:
            if is_turn:
                _BEGINNING.release()

    def _commit(self) -> None:
        with report_failed_commit():
            super()._commit()

    def interrupt(self) -> None:
        """End the statement under way with an OperationalError; for another thread."""
        if self.connection is not None:
            self.connection.interrupt()

    def create_cursor(self, name: str | None = None) -> Any:
        """A new cursor; SQLite ignores the name."""
        return self.connection.cursor(factory=Cursor)

    def copy_to(self, target: Path, *, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the file as this connection sees it with SQLite's online backup; no other connection is blocked.

        Within a read transaction the copy is that transaction's snapshot; without one it restarts whenever another
        process writes. `progress` is called with the number of copied pages and of all pages.
        """

        def report(_status: int, remaining: int, total: int) -> None:
            if progress is not None:
                progress(total - remaining, total)

        self.ensure_connection()
        _make_database_file(target)
        with self.wrap_database_errors, closing(connect_to_copy(target)) as copy:
            self.connection.backup(copy, pages=BACKUP_BATCH_PAGES, progress=report, sleep=BACKUP_SLEEP_S)

    @contextmanager
    def exclusive_access(self) -> Iterator[None]:
        """Close this connection and lock every other process out of the file during the block.

        Raises:
            OperationalError: another process has it open.
        """
        self.close()
        with (
            self.wrap_database_errors,
            _raise_operational_error(),
            exclusive_access(Path(self.settings_dict["NAME"])),
        ):
            try:
                yield
            finally:
                self.close()


def connect_to_copy(path: Path) -> Any:
    """A bare connection to a copy of the store, opened with the store's key."""
    return _backend.Database.connect(str(path), factory=_KeyedConnection)


@contextmanager
def _raise_operational_error() -> Iterator[None]:
    """Turn FileInUse into the library's OperationalError, which Django understands."""
    try:
        yield
    except FileInUse as other:
        raise _backend.Database.OperationalError(str(other)) from other


class NewDatabase:
    """Whether this process may create a database at a path that the settings name."""

    is_allowed = False


def _refuse_new_database(path: Path) -> None:
    """Raise the library's OperationalError if a database that the settings name is missing: a misspelt path, or a disk
    that is not mounted, must not become an empty store. The default path may always be created.
    """
    config = settings.LOCI
    is_named = path == config.storage.database and path != config.home / DATABASE
    if is_named and not NewDatabase.is_allowed and not path.exists():
        raise _backend.Database.OperationalError(f"{NO_DATABASE} {path}")


def _make_database_file(path: Path) -> None:
    """Create the file and its folder where missing; SQLite gives the WAL the same mode."""
    if path.exists():
        return
    ensure_home(settings.LOCI.home)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
