"""What backups and restores on PostgreSQL do beyond those on SQLite: tools, other connections, kills, several databases."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from access.audit.verify import is_log_whole
from access.errors import Conflict, InvalidInput, Unavailable
from access.tokens import operator
from maintenance.backups import make_backup
from maintenance.backups.copies import connected_to, copies
from maintenance.backups.folder import backups_folder
from maintenance.backups.postgresql_copies import ExportedSnapshot, copy_names
from maintenance.backups.restore import preview_restore, restore_backup
from maintenance.backups.server_tools import create_database, drop_databases, libpq_params, load
from memories.models import Memory
from memories.search.base import search_index
from storage.compiled_queries import fetch
from tests.loci_site.server.running import environment
from tests.maintenance.state import stored_texts
from tests.postgres import database_url
from tests.settings import REPOSITORY

Remember = Callable[..., Memory]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql,
    pytest.mark.usefixtures("no_backups"),
]
PORT, LATER = "The port is 8081", "The owner is Dana"


def test_a_backup_leaves_no_database_behind(remember: Remember) -> None:
    remember(PORT)
    made = make_backup(operator())
    assert preview_restore(operator(), made.path).present == "readable"
    assert copy_names() == []


def test_what_a_killed_backup_left_on_the_server_is_gone_after_the_next(
    remember: Remember, tmp_path: Path
) -> None:
    with copies().use(tmp_path / "memory.dump"):
        pass
    assert len(copy_names()) == 1
    make_backup(operator())
    assert copy_names() == []


def test_a_copy_that_lacks_a_row_is_refused(remember: Remember, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(PORT)
    copy_to = ExportedSnapshot.copy_to

    def losing(self: ExportedSnapshot, target: Path, **more: Any) -> None:
        copy_to(self, target, **more)
        with copies().use(target):
            Memory.objects.all().delete()

    monkeypatch.setattr(ExportedSnapshot, "copy_to", losing)
    with pytest.raises(Unavailable, match="memories_memory has 0 rows instead of 1"):
        make_backup(operator())
    assert [path.name for path in backups_folder().iterdir()] == [".lock"]


def test_without_the_tools_nothing_is_written_and_the_error_says_what_to_install(
    remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="There is no pg_dump here") as refused:
        make_backup(operator())
    assert "client programs, version" in refused.value.hint


def test_older_tools_are_refused(remember: Remember, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = tmp_path / "pg_dump"
    older.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 14.2'\n")
    older.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Unavailable, match=r"pg_dump is of version 14\.2, older than the server"):
        make_backup(operator())


@pytest.fixture
def in_template1(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """New connections are of a role that may create databases and no more; an administrator's statement in template1."""
    role, params = f"ordinary_{connection.settings_dict['NAME']}", libpq_params("template1")

    def run(statement: str) -> None:
        # Nobody may be connected to a database while it is copied.
        with psycopg.connect("", **params, autocommit=True) as administrator:
            administrator.execute(statement)

    run(f"CREATE ROLE {role} LOGIN CREATEDB IN ROLE pg_read_all_data")
    monkeypatch.setitem(connection.settings_dict, "USER", role)
    yield run
    run("DROP EXTENSION IF EXISTS vector")
    run(f"DROP ROLE {role}")


def test_an_ordinary_role_gets_the_extension_with_template1(
    remember: Remember, in_template1: Callable[[str], None]
) -> None:
    remember(PORT)
    with pytest.raises(Unavailable, match="may not create the extension vector") as refused:
        make_backup(operator())
    assert "psql template1 -c 'CREATE EXTENSION vector'" in refused.value.hint
    assert copy_names() == []
    in_template1("CREATE EXTENSION vector")
    made = make_backup(operator())
    assert preview_restore(operator(), made.path).present == "readable"
    assert copy_names() == []


def test_a_backup_of_sqlite_is_refused(remember: Remember) -> None:
    with pytest.raises(InvalidInput, match="made on another database"):
        preview_restore(operator(), REPOSITORY / "tests" / "fixtures" / "store-0.3.0.zip")


def test_while_another_process_uses_the_store_nothing_is_restored(remember: Remember) -> None:
    remember(PORT)
    made = make_backup(operator())
    remember(LATER)
    params = libpq_params(str(connection.settings_dict["NAME"]))
    with psycopg.connect("", **params):
        assert "is open in another process" in preview_restore(operator(), made.path).in_use
        with pytest.raises(Conflict, match="open in another process"):
            restore_backup(operator(), made.path)
        with pytest.raises(CommandError, match="Stop Loci"):
            call_command("restore", made.path.name, "--yes")
    assert stored_texts() == [LATER, PORT]


def test_what_is_written_during_a_restore_is_not_lost(
    remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(PORT)
    made = make_backup(operator())

    def write_at_the_end(step: str, done: int, total: int) -> None:
        if step == "swapping":
            remember(LATER)

    with pytest.raises(Conflict, match="store was written to meanwhile"):
        restore_backup(operator(), made.path, progress=write_at_the_end)
    assert stored_texts() == [LATER, PORT]


KILLS = {
    "unpack": [LATER, PORT],
    "write_backup": [LATER, PORT],
    "carry_over": [LATER, PORT],
    "add_keys": [LATER, PORT],
    "rename:1": [LATER, PORT],
    "rename:2": [LATER, PORT],  # not committed
    "drop_databases:2": [PORT],
}


def test_a_kill_at_any_point_leaves_the_old_store_or_the_new_whole(
    remember: Remember, tmp_path: Path
) -> None:
    remember(PORT)
    made = make_backup(operator(), to=tmp_path / "made.zip").path
    remember(LATER)
    start = tmp_path / "start.dump"
    ExportedSnapshot(str(connection.settings_dict["NAME"]), "").copy_to(start)
    for point in KILLS:
        name, home = f"loci_killed_{point.replace(':', '')}", tmp_path / point.replace(":", "-")
        (home / "backups").mkdir(parents=True)
        drop_databases([name])
        create_database(name)
        load(start, name)
        around = environment(home) | {"DATABASE_URL": database_url(name)}
        command = [sys.executable, "-m", "tests.maintenance.backups.killed_restore", str(made), point]
        assert subprocess.run(command, cwd=REPOSITORY, env=around, check=False).returncode == 9, point
        with connected_to(name):
            assert stored_texts() == KILLS[point], point
            assert is_log_whole()
            assert search_index().find_errors() == []
            restore_backup(operator(), made)  # nothing that was left is in the way
            assert stored_texts() == [PORT], point
            assert copy_names() == []
        drop_databases(
            name
            for (name,) in fetch("SELECT datname FROM pg_database WHERE datname LIKE 'loci\\_killed%%'", [])
        )
    shutil.rmtree(tmp_path / "unpack")
