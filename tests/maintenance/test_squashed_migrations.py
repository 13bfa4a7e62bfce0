"""The first migrations replace those of 0.3.0: such a store opens with the tables of a new one, an earlier one is refused."""

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from storage.encryption import database_key
from storage.sqlite.base import connect_to_copy
from storage.sqlite.reencrypt import copy_with_key
from tests.fixtures.kept_store import FIXTURES, STORE
from tests.fresh_homes import DATABASE, with_tables
from tests.loci_site.server.running import free_port
from tests.shell import Shell, shell

EARLY = FIXTURES / "store-0.1.0.zip"  # a backup made by 0.1.0
EXPORT_IT = "Open it with Loci 0.3.0, export it there with 'loci export'"


def unpack(backup: Path, home: Path) -> Path:
    """The home that a backup was made of."""
    home.mkdir(mode=0o700)
    with ZipFile(backup) as archive:
        archive.extractall(home)
    if key := database_key():
        plain = (home / DATABASE).rename(home / "plain.db")
        copy_with_key(plain, home / DATABASE, old=None, new=key)
        plain.unlink()
    (home / "keys").chmod(0o700)
    return home


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Commands on a store of 0.1.0, which they may not change."""
    with shell(unpack(EARLY, tmp_path_factory.mktemp("early") / "home")) as loci:
        yield loci


def rows(home: Path, statement: str) -> list[tuple[str, ...]]:
    """The rows of a statement on the store of a home, sorted; a change is kept."""
    database = connect_to_copy(home / DATABASE)
    try:
        found = database.execute(statement).fetchall()
        database.commit()
    finally:
        database.close()
    return sorted(found)


def migrations_of(home: Path) -> list[tuple[str, ...]]:
    return rows(home, "SELECT app, name FROM django_migrations")


def test_a_store_of_0_3_0_gets_the_tables_of_a_new_one(tmp_path: Path) -> None:
    home = unpack(STORE, tmp_path / "home")
    assert not [name for _, name in migrations_of(home) if name == "0001_release_0_3_0"]
    with shell(home) as loci:
        planned = loci("migrate", "--check")
        migrated = loci("migrate")
        assert (planned.returncode, migrated.returncode) == (1, 0)
        [kept] = (home / "backups").glob("before-upgrade-*.zip")
        assert migrated.stderr == f"Backed up the store as it was: {kept}\n"
        assert "memories.0019_doubt" in migrated.stdout
        assert "0001_release_0_3_0" not in migrated.stdout
        assert loci("migrate", "--check").returncode == 0
        loci("migrate")
        assert len(list((home / "backups").glob("*.zip"))) == 1  # nothing was lacking this time
        told = loci("restore", kept.name, "--dry-run")
        assert told.returncode == 0
        assert "0 memories are newer than the backup" in told.stdout
    tables = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master"
    new = with_tables(tmp_path / "new")
    assert rows(home, tables) == rows(new, tables)
    assert migrations_of(home) == migrations_of(new)


@pytest.mark.parametrize(
    "command", [["migrate"], ["migrate", "--plan"], ["store", "upgrade", "--check"], ["up", "--port", "0"]]
)
def test_a_store_of_an_earlier_version_is_refused_and_left_as_it_is(early: Shell, command: list[str]) -> None:
    before = migrations_of(early.home)
    words = [word if word != "0" else str(free_port()) for word in command]
    refused = early.alone(*words) if "up" in words else early(*words)
    assert refused.returncode != 0
    assert "This store is of a version of Loci before 0.3.0: it lacks the migration access." in refused.stderr
    assert EXPORT_IT in refused.stderr
    assert migrations_of(early.home) == before


def test_a_store_that_lacks_one_migration_of_0_3_0_is_refused(tmp_path: Path) -> None:
    home = unpack(STORE, tmp_path / "home")
    rows(home, "DELETE FROM django_migrations WHERE name = '0018_former_treatment'")
    with shell(home) as loci:
        refused, examined = loci("migrate"), loci("doctor")
    assert (refused.returncode, examined.returncode) == (1, 1)
    assert "lacks the migration memories.0018_former_treatment. " + EXPORT_IT in refused.stderr
    assert "lacks the migration memories.0018_former_treatment" in examined.stdout


def test_a_backup_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    with shell(with_tables(tmp_path / "new")) as loci:
        refused = loci("restore", str(EARLY), "--yes")
    assert refused.returncode == 1
    assert "store-0.1.0.zip is of a version of Loci before 0.3.0" in refused.stderr
    assert EXPORT_IT in refused.stderr
