"""A backup is whole, verified, made while others write, and rotated; a broken copy never becomes one."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from access.actor import READ
from access.errors import InvalidInput, NotPermitted, Unavailable
from access.models import AuditEntry
from access.tokens import operator
from maintenance.backups import backup_job, list_backups, make_backup
from maintenance.backups.archive import read_ids, read_manifest, unpack
from maintenance.backups.copies import copies
from maintenance.backups.folder import backups_folder
from maintenance.jobs import job_actor
from maintenance.schedule import JOBS
from memories.lifecycle.verbs import retract
from memories.models import Memory
from tests.maintenance.state import stored_texts

Remember = Callable[..., Memory]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_backups")]


def contents_of(archive: Path, folder: Path) -> list[str]:
    folder.mkdir()
    unpack(archive, folder)
    with copies().use(folder / copies().part):
        return stored_texts()


def test_a_backup_holds_the_store_the_keys_and_what_they_are(remember: Remember, tmp_path: Path) -> None:
    first, second = remember("The port is 8081"), remember("The queue is called ledger-events")
    retract(operator(), second.id, reason="it was renamed")
    made = make_backup(operator())
    assert contents_of(made.path, tmp_path / "out") == [
        "The port is 8081",
        "The queue is called ledger-events",
    ]
    manifest = read_manifest(made.path)
    assert manifest.groups == {"ledger": 2}
    assert (manifest.counts["memories_memory"], manifest.counts["memories_tombstone"]) == (2, 1)
    link = AuditEntry.objects.get(chain="heads")
    assert (manifest.audit_seq, manifest.audit_hash) == (link.seq, link.hash)
    assert read_ids(made.path) == {first.id, second.id}
    guard, tombstones = sorted((tmp_path / "out" / "keys").iterdir())
    assert (guard.name, tombstones.name[:10]) == ("guard.key", "tombstone-")
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert backups_folder().stat().st_mode & 0o777 == 0o700
    entry = AuditEntry.objects.get(operation="backup")
    assert (entry.subject, entry.actor) == (f"backup:{made.path.name}", "operator")


def test_writers_go_on_and_the_copy_is_of_one_moment(remember: Remember, tmp_path: Path) -> None:
    remember("The port is 8081")
    written: list[str] = []

    def write_meanwhile(step: str, done: int, total: int) -> None:
        if step == "copying" and not written:
            thread = threading.Thread(target=lambda: (remember("Written meanwhile"), connection.close()))
            thread.start()
            thread.join(10)
            assert not thread.is_alive()
            written.append("Written meanwhile")

    made = make_backup(operator(), progress=write_meanwhile)
    assert written
    assert sorted(Memory.objects.values_list("content", flat=True)) == [
        "The port is 8081",
        "Written meanwhile",
    ]
    assert contents_of(made.path, tmp_path / "out") == ["The port is 8081"]


def test_only_so_many_are_kept_and_the_oldest_go(settings: Settings) -> None:
    settings.LOCI = replace(settings.LOCI, maintenance=replace(settings.LOCI.maintenance, backups_kept=2))
    names = []
    for day in (1, 2, 3):
        made = make_backup(operator())
        names.append(made.path.name)
        # As if made on that day: the name tells the time.
        made.path.rename(backups_folder() / f"loci-202605{day:02}T120000Z-aaaa.zip")
    kept = [backup.name for backup in list_backups(operator())]
    assert kept == ["loci-20260503T120000Z-aaaa.zip", "loci-20260502T120000Z-aaaa.zip"]


def test_what_a_killed_backup_left_is_gone_after_the_next(remember: Remember) -> None:
    folder = backups_folder()
    (folder / ".work-dead").mkdir()
    (folder / ".work-dead" / "memory.db").write_text("half")
    (folder / ".loci-20260501T120000Z-aaaa.zip.1234.part").write_text("half")
    assert list_backups(operator()) == []
    made = make_backup(operator())
    assert {path.name for path in folder.iterdir()} == {made.path.name, ".lock"}


@pytest.mark.sqlite(reason="SQLite's online backup")
def test_a_copy_that_lacks_a_row_is_refused(remember: Remember, monkeypatch: pytest.MonkeyPatch) -> None:
    remember("The port is 8081")
    engine = type(connection._connections[connection._alias])  # type: ignore[attr-defined]
    copy_to = engine.copy_to

    def losing(self: object, target: Path, **more: object) -> None:
        copy_to(self, target, **more)
        with copies().use(target):
            Memory.objects.all().delete()

    monkeypatch.setattr(engine, "copy_to", losing)
    with pytest.raises(Unavailable, match="memories_memory has 0 rows instead of 1"):
        make_backup(operator())
    assert [path.name for path in backups_folder().iterdir()] == [".lock"]


def test_a_cut_off_file_is_listed_as_such(remember: Remember) -> None:
    made = make_backup(operator())
    made.path.write_bytes(made.path.read_bytes()[:200])
    (listed,) = list_backups(operator())
    assert listed.manifest is None
    assert "is not a Loci backup, or is truncated" in listed.fault


def test_a_file_of_ones_own_is_written_once_and_not_managed(remember: Remember, tmp_path: Path) -> None:
    made = make_backup(operator(), to=tmp_path / "mine.zip")
    assert made.path == tmp_path / "mine.zip"
    assert list_backups(operator()) == []
    with pytest.raises(InvalidInput, match="already exists"):
        make_backup(operator(), to=tmp_path / "mine.zip")
    with pytest.raises(InvalidInput, match="is a folder, or its folder does not exist"):
        make_backup(operator(), to=tmp_path / "nowhere" / "mine.zip")


def test_only_an_admin_of_everything_may() -> None:
    for act in (make_backup, list_backups):
        with pytest.raises(NotPermitted):
            act(replace(operator(), scopes=frozenset({READ})))


def test_the_schedule_makes_one_every_so_many_days(settings: Settings) -> None:
    (job,) = [job for job in JOBS if job.name == "backup"]
    assert job.every.days == settings.LOCI.maintenance.backup_days == 7
    name = backup_job(job_actor("backup"))
    assert [backup.name for backup in list_backups(operator())] == [name]


def test_the_command_makes_and_lists(remember: Remember) -> None:
    out = StringIO()
    call_command("backup", "--list", stdout=out)
    assert out.getvalue() == "There are no backups yet. 'loci backup' makes one.\n"
    remember("The port is 8081")
    call_command("backup", stdout=(out := StringIO()))
    assert out.getvalue().startswith("Backed up 1 memory to ")
    call_command("backup", "--list", "--json", stdout=(out := StringIO()))
    (listed,) = json.loads(out.getvalue())["backups"]
    assert (listed["fault"], listed["manifest"]["counts"]["memories_memory"]) == ("", 1)
