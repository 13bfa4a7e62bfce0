"""`loci store upgrade --check`: ready, without a backup, with an old one, and before or after another version's store."""

import json
import sys
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from pytest_django import Settings

from access.tokens import operator
from loci_site import __version__
from maintenance.backups import make_backup


@pytest.fixture
def home(settings: Settings, tmp_path: Path, transactional_db: None) -> Path:
    """A home of its own around the test's database."""
    settings.LOCI = replace(django_settings.LOCI, home=tmp_path)
    return tmp_path


def check() -> tuple[int, dict[str, object]]:
    """The exit status and the report."""
    out = StringIO()
    try:
        call_command("store", "upgrade", "--check", "--json", stdout=out)
    except SystemExit as end:
        return int(str(end.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


def test_it_is_ready_after_a_backup_and_not_a_day_later(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, report = check()
    assert (status, report["backup"], report["ready"]) == (1, "none", False)
    assert report["to_do"] == ["There is no backup that can be read: run 'loci backup'."]
    made = make_backup(operator())
    status, report = check()
    assert (status, report["ready"], report["installed"]) == (0, True, __version__)
    assert (report["backup"], report["backup_version"]) == (made.path.name, __version__)
    out = StringIO()
    call_command("store", "upgrade", "--check", stdout=out)
    assert "Schema         complete\n" in out.getvalue()
    assert out.getvalue().endswith("Ready: nothing to do first.\n")
    tomorrow = timezone.now() + timedelta(hours=25)
    monkeypatch.setattr(timezone, "now", lambda: tomorrow)
    assert check()[1]["to_do"] == ["The newest backup is older than a day: run 'loci backup'."]


def test_a_store_of_another_version_is_named(home: Path) -> None:
    make_backup(operator())
    recorder = MigrationRecorder(connection)
    recorder.record_applied("memories", "0999_far_ahead")
    try:
        status, report = check()
    finally:
        recorder.record_unapplied("memories", "0999_far_ahead")
    assert (status, report["unknown"]) == (1, ["memories.0999_far_ahead"])
    [line] = report["to_do"]  # type: ignore[misc]
    assert line.startswith(f"The store was written by a newer Loci than {__version__}")
    recorder.record_unapplied("relations", "0001_schema")
    try:
        status, report = check()
    finally:
        recorder.record_applied("relations", "0001_schema")
    assert (status, report["pending"], report["ready"]) == (0, ["relations.0001_schema"], True)


@pytest.mark.sqlite(reason="the store is a file")
def test_without_a_store_there_is_nothing_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", str(home / "memory.db"))
    status, report = check()
    assert (status, report["ready"], report["backup"]) == (0, True, "none")
    assert not (home / "memory.db").exists()


@pytest.mark.postgresql
def test_without_tables_there_is_nothing_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(connection.introspection, "table_names", list)
        status, report = check()
    assert (status, report["ready"], report["backup"]) == (0, True, "none")


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/root/.local/share/pipx/venvs/loci-team-memory", "pipx upgrade loci-team-memory"),
        ("/root/.cache/uv/archive-v0/Xy1", "uvx loci-team-memory@latest --version"),
    ],
)
def test_the_steps_are_those_of_the_installation(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path, prefix: str, command: str
) -> None:
    settings.ROOT = tmp_path
    monkeypatch.setattr(sys, "prefix", prefix)
    out = StringIO()
    call_command("store", "upgrade", stdout=out)
    assert out.getvalue().splitlines()[:2] == ["loci backup", command]
