"""SQLite with full-text search and vectors on any Python, under Django's own backend."""

import datetime
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django.db.utils import ConnectionHandler

from loci_site.config.checks import sqlite_messages
from loci_site.config.databases import sqlite_settings
from loci_site.config.sections import Storage
from storage.sqlite import base, driver
from storage.sqlite import driver as probe
from storage.sqlite.driver import DRIVER, Driver, choose_driver
from tests.settings import REPOSITORY


@pytest.fixture
def databases(tmp_path: Path, django_db_blocker: Any) -> Iterator[ConnectionHandler]:
    """Separate connections to a new file, one per thread."""
    handler = ConnectionHandler({"default": sqlite_settings(tmp_path / "sub" / "x.db", storage=Storage())})
    with django_db_blocker.unblock():
        yield handler
        handler.close_all()


def one(database: Any, sql: str) -> Any:
    with database.cursor() as cursor:
        return cursor.execute(sql).fetchone()[0]


def test_every_connection_finds_vectors_and_secure_full_text(databases: ConnectionHandler) -> None:
    database = databases["default"]
    assert one(database, "SELECT vec_version()").startswith("v0.")
    with database.cursor() as cursor:
        cursor.execute("CREATE VIRTUAL TABLE words USING fts5(content, tokenize='porter unicode61')")
        cursor.execute("INSERT INTO words(words, rank) VALUES ('secure-delete', 1)")
        cursor.execute("INSERT INTO words(content) VALUES ('the ports were opened')")
        assert cursor.execute("SELECT count(*) FROM words WHERE words MATCH 'port'").fetchone() == (1,)


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 1),  # NORMAL
        ("foreign_keys", 1),
        ("cache_size", -16384),  # KiB
        ("mmap_size", 128 * 1024 * 1024),
        ("journal_size_limit", 64 * 1024 * 1024),
        ("temp_store", 2),  # MEMORY
        ("busy_timeout", 20_000),  # ms
    ],
)
def test_a_connection_is_set_up(databases: ConnectionHandler, pragma: str, value: object) -> None:
    assert one(databases["default"], f"PRAGMA {pragma}") == value


def test_extensions_cannot_be_loaded_by_sql(databases: ConnectionHandler) -> None:
    with pytest.raises(Exception, match="not authorized"):
        one(databases["default"], "SELECT load_extension('vec0')")


def test_the_file_and_its_wal_are_for_the_owner_alone(databases: ConnectionHandler, tmp_path: Path) -> None:
    with databases["default"].cursor() as cursor:
        cursor.execute("CREATE TABLE t(x)")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "sub").iterdir()}
    names = ("x.db", "x.db-wal", "x.db-shm", "x.db.lock")
    assert modes == dict.fromkeys(names, 0o600)


def test_writers_that_read_first_wait_for_each_other(databases: ConnectionHandler) -> None:
    with databases["default"].cursor() as cursor:
        cursor.execute("CREATE TABLE counter(n)")
        cursor.execute("INSERT INTO counter VALUES (0)")
    start, wrong = threading.Barrier(4), []

    def count() -> None:
        try:
            start.wait()
            for _ in range(25):
                add_one(databases)
        except Exception as error:
            wrong.append(error)
        finally:
            databases["default"].close()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert one(databases["default"], "SELECT n FROM counter") == 100


def add_one(databases: ConnectionHandler) -> None:
    database = databases["default"]
    with database.cursor() as cursor:
        cursor.execute(f"BEGIN {database.transaction_mode}")
        (n,) = cursor.execute("SELECT n FROM counter").fetchone()
        cursor.execute("UPDATE counter SET n = %s", [n + 1])
        cursor.execute("COMMIT")


@pytest.mark.sqlite(reason="transactions that begin with the write lock")
@pytest.mark.django_db(transaction=True)
def test_atomic_takes_the_write_lock_at_once() -> None:
    assert connection.transaction_mode == "IMMEDIATE"
    with transaction.atomic():
        other = connection.copy()
        try:
            other.settings_dict["OPTIONS"] = connection.settings_dict["OPTIONS"] | {"timeout": 0}
            with other.cursor() as cursor, pytest.raises(Exception, match="locked"):
                cursor.execute("BEGIN IMMEDIATE")
        finally:
            other.close()


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "'2026-01-02 03:04:05'"),  # noqa: DTZ001 - as Django stores it
        (datetime.date(2026, 1, 2), "'2026-01-02'"),
        (Decimal("1.50"), "'1.50'"),
        ("it's", "'it''s'"),
        (b"\x01\xff", "X'01ff'"),
        (None, "NULL"),
    ],
)
def test_a_default_in_a_migration_becomes_a_literal(
    databases: ConnectionHandler, value: object, literal: str
) -> None:
    assert base.SchemaEditor(databases["default"]).quote_value(value) == literal


@pytest.mark.plain(reason="the choice among drivers that do not encrypt")
def test_the_standard_library_and_djangos_backend_stay_as_they_are() -> None:
    program = (
        "import sys\n"
        "{first}\n"
        "import storage.sqlite.base as ours\n"
        "import django.db.backends.sqlite3.base as djangos, sqlite3\n"
        "assert sqlite3.__name__ == 'sqlite3' and djangos.Database.__name__ == 'sqlite3.dbapi2'\n"
        "assert ours._backend is not djangos and not issubclass(ours.DatabaseWrapper, djangos.DatabaseWrapper)\n"
        "print(ours._backend.Database.__name__)\n"
    )
    for first in ("", "import sqlite3", "import django.db.backends.sqlite3.base"):
        command = [sys.executable, "-c", program.format(first=first)]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.stdout.strip() == f"{driver.MODULES[DRIVER.name]}.dbapi2"


def library(name: str, *, extensions: bool, version: tuple[int, int, int] = (3, 50, 0)) -> ModuleType:
    module = ModuleType(name)
    members = {"enable_load_extension": None} if extensions else {}
    vars(module).update(
        Connection=type("Connection", (), members),
        sqlite_version_info=version,
        sqlite_version=".".join(map(str, version)),
    )
    return module


@pytest.mark.parametrize(
    ("present", "chosen"),
    [
        ({"pysqlite3": True, "sqlite3": True, "sqlean": True}, "pysqlite3"),
        ({"sqlite3": True, "sqlean": True}, "stdlib"),
        ({"sqlite3": False, "sqlean": True}, "sqlean"),
        ({"sqlite3": False}, "none"),
    ],
)
def test_the_first_library_that_loads_extensions_is_chosen(
    monkeypatch: pytest.MonkeyPatch, present: dict[str, bool], chosen: str
) -> None:
    for name in driver.MODULES.values():
        module = library(name, extensions=present[name]) if name in present else None
        monkeypatch.setitem(sys.modules, name, module)  # None: importing it fails
    assert choose_driver().name == chosen


def test_an_old_standard_library_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlite3", library("sqlite3", extensions=True, version=(3, 40, 1)))
    found = choose_driver("stdlib")
    assert found.module is None
    assert "stdlib: SQLite 3.40.1 is older than 3.44" in found.problem


def test_a_library_can_be_forced_and_a_wrong_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlean", library("sqlean", extensions=True))
    assert choose_driver("sqlean").name == "sqlean"
    wrong = choose_driver("oracle")
    assert wrong.problem == "LOCI_SQLITE_DRIVER is 'oracle', allowed is one of pysqlite3, stdlib, sqlean."


def test_where_nothing_works_the_check_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in driver.MODULES.values():
        monkeypatch.setitem(sys.modules, name, None)
    (error,) = sqlite_messages(choose_driver())
    assert error.id == "loci.E001"
    assert error.msg.startswith("No SQLite library here can load extensions (pysqlite3: ")
    assert str(error.hint).startswith("Run `pip install pysqlite3`, or `pip install sqlean.py`")


def test_where_nothing_works_opening_the_database_says_so(
    monkeypatch: pytest.MonkeyPatch, databases: ConnectionHandler
) -> None:
    monkeypatch.setattr(base, "DRIVER", Driver("none", problem="Run this."))
    with pytest.raises(ImproperlyConfigured, match=r"Run this\."):
        one(databases["default"], "SELECT 1")


def test_the_library_here_lacks_nothing() -> None:
    assert sqlite_messages(DRIVER) == []


def test_a_missing_vector_extension_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(probe, "vec0_path", lambda: tmp_path / "vec0")
    (error,) = sqlite_messages(DRIVER)
    assert (error.id, str(error.hint)[:39]) == ("loci.E003", "Run `pip install --force-reinstall sqli")


def test_a_library_without_full_text_search_is_said() -> None:
    real: Any = DRIVER.module

    def connect(_: str) -> Any:
        opened = real.connect(":memory:")
        create_virtual = 29  # SQLITE_CREATE_VTABLE
        opened.set_authorizer(lambda action, *_: 1 if action == create_virtual else 0)
        return opened

    crippled: Any = SimpleNamespace(connect=connect, Error=real.Error, sqlite_version="3.40.1")
    (error,) = sqlite_messages(Driver("stdlib", crippled))
    assert error.id == "loci.E002"
    assert "SQLite 3.40.1 of stdlib has no full-text search with secure delete" in error.msg
