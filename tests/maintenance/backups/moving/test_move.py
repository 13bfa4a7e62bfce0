"""A store moved from PostgreSQL into a file and back is the same store: rows, search, log, tombstones, new writes."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from inspect import getclosurevars
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from access.audit.verify import is_log_whole
from access.errors import Conflict
from access.models import Group
from access.tokens import operator
from loci_site.config.databases import sqlite_settings
from loci_site.management.commands.store import read_target
from maintenance.backups.copies import connected_to
from maintenance.backups.moving import Target, check_target, move_store, preview_move, tables
from maintenance.backups.moving.tables import TARGET, differing_tables, models, target_of
from maintenance.backups.server_tools import create_database, drop_databases
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import purge, reject, retract
from memories.models import IndexState, Memory
from memories.search.base import search_index
from memories.store import store
from storage.progress import ignore_progress
from tests.loci_site.server.running import environment
from tests.memories.builders import kept
from tests.people import make_token, person
from tests.postgres import database_url
from tests.settings import REPOSITORY

Remember = Callable[..., Memory]

SERVER = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql, pytest.mark.model]
OTHER = "loci_moved"
# What refers to a row that is copied later: checked when the move commits.
CIRCLES = {("RefreshToken", "access_token"), ("Thread", "summary")}


def test_rows_refer_to_rows_that_were_copied_before() -> None:
    order = models()
    assert len({*order}) == len(order)
    assert order[0] is IndexState
    later = {
        (model.__name__, field.name)
        for at, model in enumerate(order)
        for field in model._meta.concrete_fields
        if field.remote_field and field.remote_field.model in order[at + 1 :]
    }
    assert later == CIRCLES


@pytest.fixture
def target() -> Iterator[str]:
    """The address of an empty database on the run's server."""
    drop_databases([OTHER])
    create_database(OTHER)
    yield database_url(OTHER)
    drop_databases([OTHER])


@pytest.fixture
def filled(alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with a bit of everything, and the variable with which other processes open it."""
    rows = [
        kept(person(alice), f"Service {n} listens on port {9000 + n}.", group="ledger") for n in range(12)
    ]
    edit(person(alice), rows[0].id, EditDraft(content="Service 0 listens on port 9100 – since “Monday”."))
    retract(person(alice), rows[1].id, reason="wrong")
    reject(person(alice), rows[2].id)
    purge(person(alice), rows[3].id)
    make_token(alice)
    store(
        person(alice),
        Draft(
            "Talk of the day.", type="episodic", group="ledger", thread="talk", metadata={"b": 1.5, "a": None}
        ),
    )
    monkeypatch.setenv("DATABASE_URL", database_url(str(connection.settings_dict["NAME"])))
    allow_targets(monkeypatch)


def allow_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open connections that the settings do not name, which Django's tests refuse."""
    inside = getclosurevars(BaseDatabaseWrapper.ensure_connection).nonlocals
    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", inside["real_ensure_connection"])


def run(arguments: list[str], variables: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=REPOSITORY, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("filled")
class TestThereAndBack:
    pytestmark = SERVER

    def test_a_store_goes_into_a_file_and_back(
        self, ledger: Group, alice: User, target: str, tmp_path: Path
    ) -> None:
        home = tmp_path / "home"
        home.mkdir(mode=0o700)
        file = home / "memory.db"
        connection.close()  # nobody may use the store
        told = run(["store", "move", "--to", str(file)], environment(Path(settings.LOCI.home)))
        assert "every row is the same" in told
        assert "100% of their memories are the same" in told
        assert f"set LOCI_STORAGE_DATABASE to {file}, and unset DATABASE_URL" in told
        around = environment(home)
        around.pop("DATABASE_URL", None)
        back = json.loads(run(["store", "move", "--to", target, "--json"], around))
        assert back["overlap"] == 1.0
        with connected_to(OTHER):
            assert is_log_whole()
            assert search_index().find_errors() == []
            # New rows get keys after the copied ones, and what was withdrawn stays withdrawn.
            assert store(operator(), Draft("A new fact after the move.", group="ledger")).outcome == "created"
            assert (
                store(operator(), Draft("Service 1 listens on port 9001.", group="ledger")).outcome
                == "refused"
            )
            assert (
                store(operator(), Draft("Service 3 listens on port 9003.", group="ledger")).outcome
                == "refused"
            )

    def test_a_dry_run_changes_nothing(self, target: str) -> None:
        seen = preview_move(operator(), read_target(target))
        assert seen.rows > 100
        with target_of(read_target(target).settings):
            assert connections[TARGET].introspection.table_names() == []

    def test_what_was_ended_begins_again(self, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
        copy_rows = tables._copy_rows

        def ended(model: Any) -> Iterator[int]:
            if model is Memory:
                raise KeyboardInterrupt
            return copy_rows(model)

        with monkeypatch.context() as patch:
            patch.setattr(tables, "_copy_rows", ended)
            with pytest.raises(KeyboardInterrupt):
                move_store(operator(), read_target(target))
        with target_of(read_target(target).settings):
            assert not User.objects.using(TARGET).exists()
        done = move_store(operator(), read_target(target))
        assert done.rows > 100
        with target_of(read_target(target).settings):
            assert differing_tables(ignore_progress) == []

    def test_a_used_database_and_one_that_is_not_there_are_refused(self, target: str) -> None:
        move_store(operator(), read_target(target))
        with pytest.raises(Conflict, match="is not empty"):
            move_store(operator(), read_target(target))
        with pytest.raises(CommandError, match="cannot be opened"):
            call_command("store", "move", "--to", database_url("no_such_database"), stdout=StringIO())
        with pytest.raises(CommandError, match="is not a database that Loci knows"):
            call_command("store", "move", "--to", "mysql://here/loci", stdout=StringIO())


@pytest.mark.django_db
def test_a_move_killed_while_it_made_the_tables_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_targets(monkeypatch)
    file = sqlite_settings(tmp_path / "new.db", storage=settings.LOCI.storage)
    target = Target("new.db", file, {})
    with target_of(file), connections[TARGET].cursor() as cursor:
        cursor.execute("CREATE TABLE django_migrations (id integer)")
        cursor.execute("CREATE TABLE auth_group (id integer)")
        check_target(target)
        cursor.execute("CREATE TABLE somebody_elses (id integer)")
        with pytest.raises(Conflict, match="is not empty"):
            check_target(target)
