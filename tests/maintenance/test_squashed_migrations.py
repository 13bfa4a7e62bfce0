"""A store of version 0.1.0 opens: rows, words, vectors, log and chain as before."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from storage.encryption import database_key
from storage.sqlite.base import connect_to_copy
from storage.sqlite.reencrypt import copy_with_key, ignore_progress
from tests.fixtures.kept_store import restored
from tests.fresh_homes import DATABASE
from tests.loci_site.server.running import free_port
from tests.settings import MODELS, REPOSITORY
from tests.shell import Shell, shell

STORE = (
    REPOSITORY / "tests" / "fixtures" / "store-0.1.0.zip"
)  # a backup: 30 memories of two groups, made by 0.1.0
pytestmark = pytest.mark.model


@pytest.fixture
def old_home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with ZipFile(STORE) as archive:
        archive.extractall(home)
    if key := database_key():
        plain = (home / DATABASE).rename(home / "plain.db")
        copy_with_key(plain, home / DATABASE, old=None, new=key, progress=ignore_progress)
        plain.unlink()
    (home / "keys").chmod(0o700)
    (home / "models").symlink_to(MODELS)
    return home


@pytest.fixture
def loci(old_home: Path) -> Iterator[Shell]:
    with shell(old_home) as commands:
        yield commands


def chains_of(loci: Shell) -> list[list[str]]:
    """The lines of `audit verify`, without its head and what to keep."""
    return [line.split() for line in loci("audit", "verify").stdout.splitlines()[1:-1]]


def migrations_of_memories(home: Path, change: str = "") -> set[str]:
    database = connect_to_copy(home / "memory.db")
    try:
        if change:
            database.execute(change)
            database.commit()
        return {
            name for (name,) in database.execute("SELECT name FROM django_migrations WHERE app = 'memories'")
        }
    finally:
        database.close()


def test_a_store_of_the_old_migrations_opens_with_all_that_is_in_it(old_home: Path, loci: Shell) -> None:
    migrated = loci("migrate")
    assert (migrated.returncode, migrated.stderr) == (0, "")
    lines = migrated.stdout.splitlines()
    assert "  Added a mark to 1 tombstone, so that the text is recognised in other dress." in lines
    assert [line for line in lines if "1 tombstone of purged texts cannot get that mark" in line]
    # The old names leave the table of migrations.
    assert migrations_of_memories(old_home) == {
        path.stem for path in Path("memories/migrations").glob("[0-9]*.py")
    }
    examined = loci("doctor")
    assert (examined.returncode, examined.stdout.splitlines()[-1]) == (0, "All is well.")
    assert chains_of(loci) == [["legacy", "41", "1", "-", "41", "unbroken"]]
    assert loci("remember", "The door is blue.", "--group", "ledger").returncode == 0
    assert chains_of(loci) == [
        ["legacy", "41", "1", "-", "-", "unbroken"],
        ["ledger", "1", "0", "-", "1", "unbroken"],
        ["heads", "1", "0", "-", "-", "unbroken"],
    ]
    stats = json.loads(loci("stats", "--group", "ledger", "--json").stdout)
    assert (stats["memories"], stats["live"], stats["pieces"], stats["pieces_owed"]) == (23, 19, 25, 0)
    found = json.loads(loci("recall", "how long are backups kept", "--group", "ledger", "--json").stdout)
    assert found["results"][0]["content"] == "Backups are kept for 30 days."


@pytest.mark.parametrize(("look", "status"), [("--plan", 0), ("--check", 1)])
def test_a_look_at_the_migrations_adopts_nothing(old_home: Path, loci: Shell, look: str, status: int) -> None:
    """Migrations after the squashed ones are pending in such a store, which --check reports."""
    before = migrations_of_memories(old_home)
    looked = loci("migrate", look)
    assert (looked.returncode, looked.stderr) == (status, "")
    assert migrations_of_memories(old_home) == before


def test_two_processes_at_once_adopt_a_store_once(old_home: Path, loci: Shell) -> None:
    """The other process adopts it just before this one gets the write lock."""
    program = """
import subprocess, sys
import django
django.setup()
from django.db import connection
from maintenance.squashed_migrations import adopt_squashed

def let_another_go_first(execute, sql, params, many, context):
    if sql.startswith("BEGIN"):
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], check=True)
    return execute(sql, params, many, context)

with connection.execute_wrapper(let_another_go_first):
    print(adopt_squashed())
"""
    environment = {**os.environ, "LOCI_HOME": str(old_home), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
    adopted = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (adopted.stdout, adopted.stderr) == ("False\n", "")
    database = connect_to_copy(old_home / "memory.db")
    [(recorded,)] = database.execute("SELECT count(*) FROM django_migrations WHERE name = '0001_schema'")
    database.close()
    assert recorded == 5  # one per app


def test_a_store_of_an_earlier_version_is_refused_and_left_as_it_is(old_home: Path, loci: Shell) -> None:
    left = migrations_of_memories(old_home, "DELETE FROM django_migrations WHERE name = '0006_fewer_indexes'")
    assert len(left) == 5
    for command in (["migrate"], ["up", "--port", str(free_port())]):
        refused = loci(*command)
        assert refused.returncode != 0
        assert "lacks the migration memories.0006_fewer_indexes" in refused.stderr
        assert "Open it once with Loci 0.1.0" in refused.stderr
    assert migrations_of_memories(old_home) == left


def test_a_backup_of_the_old_migrations_is_restored(tmp_path: Path) -> None:
    with restored(tmp_path / "new", STORE) as loci:
        assert loci("doctor").returncode == 0
        found = json.loads(loci("recall", "which port", "--group", "ledger", "--json").stdout)
    assert found["results"][0]["content"] == "The port is 9001 🦉."
