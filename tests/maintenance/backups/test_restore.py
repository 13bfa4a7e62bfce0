"""A restore has a preview, checks first, swaps atomically, can be undone, and revives nothing withdrawn."""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from access.actor import READ
from access.audit.verify import is_log_whole
from access.errors import Conflict, InvalidInput, NotPermitted
from access.groups import create_group
from access.models import AuditEntry, Group
from access.tokens import operator
from maintenance.backups import make_backup
from maintenance.backups.archive import MANIFEST, unpack
from maintenance.backups.copies import copies
from maintenance.backups.folder import backups_folder
from maintenance.backups.restore import (
    GroupDifference,
    find_backup,
    preview_restore,
    restore_backup,
    write_key,
)
from maintenance.cycle.compaction import Compact
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import move, purge, quarantine, retract
from memories.models import Memory, Tombstone
from memories.search.base import search_index
from memories.store import store
from storage.encryption import database_key
from storage.encryption.sealing import unseal
from storage.home import GUARD_KEY
from tests.loci_site.server.running import environment
from tests.maintenance.events import TOMATOES, drive, happen, turn_of
from tests.maintenance.state import stored_texts
from tests.settings import REPOSITORY

Remember = Callable[..., Memory]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_backups")]
PORT, QUEUE, LATER = "The port is 8081", "The queue is called ledger-events", "The owner is Dana"


def test_a_preview_tells_what_would_be_lost_and_changes_nothing(remember: Remember) -> None:
    remember(PORT), remember(QUEUE)
    made = make_backup(operator())
    remember(LATER)
    purge(operator(), Memory.objects.get(content=QUEUE).id)
    remember(QUEUE.replace("queue", "topic"))
    seen = preview_restore(operator(), make_backup(operator(), to=backups_folder() / "own.zip").path)
    assert (seen.lost, seen.returned, seen.migrations, seen.present, seen.in_use) == (
        0,
        0,
        (),
        "readable",
        "",
    )
    seen = preview_restore(operator(), made.path)
    # The purge took the queue out of the backup, so nothing but the port is in it.
    assert seen.groups == (GroupDifference("ledger", in_backup=1, now=3, lost=2),)
    assert (seen.lost, seen.returned, seen.purged_again) == (2, 0, 0)
    assert stored_texts() == sorted([PORT, LATER, "The topic is called ledger-events"])


def test_the_store_is_as_it_was_and_the_undo_brings_the_present_back(remember: Remember) -> None:
    remember(PORT)
    made = make_backup(operator())
    remember(LATER)
    done = restore_backup(operator(), made.path)
    assert stored_texts() == [PORT]
    assert search_index().find_errors() == []
    assert is_log_whole()
    assert AuditEntry.objects.get(operation="backup").subject == f"backup:{made.path.name}"
    assert done.before is not None
    assert done.before.name.startswith("before-restore-")
    restore_backup(operator(), done.before)
    assert stored_texts() == [LATER, PORT]


def test_what_was_retracted_since_stays_retracted(remember: Remember) -> None:
    wrong, _ = remember(PORT), remember(QUEUE)
    made = make_backup(operator())
    retract(operator(), wrong.id, reason="it is 9090")
    done = restore_backup(operator(), made.path)
    assert (done.carried.tombstones, done.carried.retracted, done.carried.left) == (1, 1, ())
    assert {m.content: m.state for m in Memory.objects.all()} == {PORT: "retracted", QUEUE: "live"}
    assert Tombstone.objects.get().reason == "it is 9090"
    assert store(operator(), Draft("the PORT is 8081", group="ledger")).outcome == "refused"


def test_what_was_quarantined_since_stays_in_quarantine(remember: Remember) -> None:
    harmful, _ = remember(PORT), remember(QUEUE)
    made = make_backup(operator())
    quarantine(operator(), harmful.id, reason="it harms")
    done = restore_backup(operator(), made.path)
    assert (done.carried.retracted, done.carried.left) == (1, ())
    assert {m.content: m.trust for m in Memory.objects.all()} == {PORT: "quarantined", QUEUE: "active"}


def test_what_was_quarantined_after_an_edit_is_too(remember: Remember) -> None:
    first = remember(PORT)
    later = edit(operator(), first.id, EditDraft(content="The port is 8081, and the host is old")).memory
    made = make_backup(operator())
    quarantine(operator(), later.id)
    restore_backup(operator(), made.path)
    assert set(Memory.objects.values_list("trust", flat=True)) == {"quarantined"}


@pytest.mark.parametrize("is_new", [False, True])
def test_what_was_moved_into_a_private_group_since_stays_there(remember: Remember, is_new: bool) -> None:
    first, _, other = remember(PORT), remember(QUEUE), remember(LATER)
    edit(operator(), first.id, EditDraft(content="The port is 9090"))
    if not is_new:
        create_group(operator(), "vault", private=True)
    create_group(operator(), "garden")
    move(operator(), other.id, "garden")
    move(operator(), other.id, "ledger")
    made = make_backup(operator())
    if is_new:
        create_group(operator(), "vault", private=True)
    move(operator(), first.id, "vault")
    move(operator(), other.id, "garden")
    done = restore_backup(operator(), made.path)
    assert (done.carried.moved, done.carried.left) == (1, ())
    groups = dict(Memory.objects.values_list("content", "group__slug"))
    assert groups == {PORT: "vault", "The port is 9090": "vault", QUEUE: "ledger", LATER: "ledger"}
    assert Group.objects.get(slug="vault").private
    assert done.before is not None
    assert restore_backup(operator(), done.before).carried.moved == 0


@pytest.mark.model
def test_what_was_retracted_since_is_out_of_its_summary_too(ledger: Group) -> None:
    events = happen(TOMATOES)
    drive(Compact(), turn_of(ledger))
    summary = Memory.objects.get(source="loci:compact")
    made = make_backup(operator())
    retract(operator(), events[0].id)
    done = restore_backup(operator(), made.path)
    states = dict(Memory.objects.values_list("id", "state"))
    assert (states[events[0].id], states[summary.id], states[events[1].id]) == (
        "retracted",
        "retracted",
        "live",
    )
    assert done.carried.retracted == 1


def test_what_was_purged_since_is_destroyed_again(remember: Remember, tmp_path: Path) -> None:
    secret = remember("Quokkazebu rides to Xanthippolis")
    remember(PORT)
    own = make_backup(operator(), to=tmp_path / "own.zip")  # no purge reaches it
    purge(operator(), secret.id, reason="asked for")
    done = restore_backup(operator(), own.path)
    assert done.carried.purged == 1
    assert stored_texts() == [PORT]
    assert store(operator(), Draft("Quokkazebu rides to Xanthippolis", group="ledger")).outcome == "refused"
    if connection.vendor != "sqlite":
        return
    connection.close()
    file = Path(str(connection.settings_dict["NAME"]))
    assert b"quokkazebu" not in file.read_bytes().lower()
    assert not file.with_name(f"{file.name}-wal").exists()


def test_a_lifted_tombstone_stays_lifted(remember: Remember) -> None:
    wrong = remember(PORT)
    retract(operator(), wrong.id)
    made = make_backup(operator())
    Tombstone.objects.update(lifted_at=timezone.now(), lifted_by="alice")
    done = restore_backup(operator(), made.path)
    assert (done.carried.tombstones, done.carried.retracted) == (1, 0)
    assert Tombstone.objects.get().lifted_by == "alice"


@pytest.mark.parametrize("where", [0.3, 0.9])
def test_a_damaged_backup_is_refused_before_anything_is_touched(remember: Remember, where: float) -> None:
    remember(PORT)
    made = make_backup(operator())
    remember(LATER)
    data = bytearray(made.path.read_bytes())
    data[int(len(data) * where)] ^= 0xFF
    made.path.write_bytes(data)
    with pytest.raises(InvalidInput, match=r"damaged|cut off"):
        restore_backup(operator(), made.path)
    assert stored_texts() == [LATER, PORT]
    assert [path for path in backups_folder().iterdir() if path.name.startswith("before")] == []


def test_wherever_a_byte_is_wrong_it_is_refused_in_words(remember: Remember, tmp_path: Path) -> None:
    remember(PORT)
    whole = make_backup(operator()).path.read_bytes()
    damaged, said = tmp_path / "damaged.zip", list[str]()
    for part in range(120):
        data = bytearray(whole)
        data[len(data) * part // 120] ^= 0xFF
        damaged.write_bytes(data)
        folder = tmp_path / str(part)
        folder.mkdir()
        try:
            unpack(damaged, folder)
        except InvalidInput as refusal:
            said.append(str(refusal))
    # What is not refused was read as it was written: some bytes, such as a part's date, say nothing.
    assert len(said) > 100
    assert all("damaged.zip" in each for each in said)


def test_the_key_of_masked_secrets_comes_with_the_backup(remember: Remember, tmp_path: Path) -> None:
    file = Path(settings.LOCI.home) / "keys" / GUARD_KEY
    remember(PORT)
    made, own = make_backup(operator(), to=tmp_path / "with.zip").path, file.read_text()
    write_key(GUARD_KEY, b"0" * 64)
    restore_backup(operator(), made)
    assert (file.read_text(), file.stat().st_mode & 0o777) == (own, 0o600)
    write_key(GUARD_KEY, b"short")
    spoilt = make_backup(
        operator(), to=tmp_path / "spoilt.zip"
    ).path  # the key is known in this process and not read again
    write_key(GUARD_KEY, own.encode())
    with pytest.raises(InvalidInput, match="not a key of 64 hexadecimal digits"):
        restore_backup(operator(), spoilt)
    assert (file.read_text(), Memory.objects.count()) == (own, 1)


def test_a_backup_of_a_later_version_is_refused(remember: Remember, tmp_path: Path) -> None:
    remember(PORT)
    made = make_backup(operator())
    later = tmp_path / "later.zip"
    with zipfile.ZipFile(made.path) as old, zipfile.ZipFile(later, "w") as new:
        for name in old.namelist():
            said = old.read(name)
            if name == MANIFEST:
                body = json.loads(unseal(said, database_key()))
                body["migrations"]["memories"].append("0999_from_the_future")
                said = json.dumps(body).encode()
            new.writestr(name, said)
    with pytest.raises(InvalidInput, match=r"later version of Loci .* memories\.0999_from_the_future"):
        restore_backup(operator(), later)


def test_a_backup_with_older_tables_is_brought_up_to_date(remember: Remember, tmp_path: Path) -> None:
    remember(PORT)
    older = tmp_path / copies().part
    with copies().snapshot() as now:
        now.copy_to(older)
    with copies().use(older):
        call_command("migrate", "admin", "0002", verbosity=0)
        older_backup = make_backup(operator(), to=tmp_path / "older.zip").path
    seen = preview_restore(operator(), older_backup)
    assert seen.migrations == ("admin.0003_logentry_add_action_flag_choices",)
    remember(LATER)
    done = restore_backup(operator(), older_backup)
    assert done.migrated == seen.migrations
    assert stored_texts() == [PORT]
    assert search_index().find_errors() == []


def test_a_file_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a zip")
    for name, said in (("notes.txt", "is not a Loci backup"), ("absent.zip", "There is no file")):
        with pytest.raises(InvalidInput, match=said):
            preview_restore(operator(), tmp_path / name)


def test_only_an_admin_of_everything_may(remember: Remember) -> None:
    made = make_backup(operator())
    with pytest.raises(NotPermitted):
        restore_backup(replace(operator(), scopes=frozenset({READ})), made.path)


def test_a_name_of_the_list_is_found(remember: Remember, tmp_path: Path) -> None:
    made = make_backup(operator())
    assert find_backup(made.path.name) == made.path
    assert find_backup(str(tmp_path / "x.zip")) == tmp_path / "x.zip"


@pytest.mark.sqlite(reason="a damaged file")
@pytest.mark.plain(reason="a damaged file is told from one with another key")
def test_a_store_that_cannot_be_read_is_set_aside(remember: Remember, tmp_path: Path) -> None:
    remember(PORT)
    made = make_backup(operator())
    broken = tmp_path / "memory.db"
    broken.write_bytes(b"SQLite format 3\0" + b"\xff" * 20_000)
    with copies().use(broken):
        done = restore_backup(operator(), made.path)
        assert stored_texts() == [PORT]
    assert done.warning.startswith("the present store cannot be read")
    assert done.before is not None
    assert (done.before / "memory.db").read_bytes().startswith(b"SQLite format 3\0\xff\xff")


def test_where_there_is_no_store_yet_it_is_simply_put_there(remember: Remember, tmp_path: Path) -> None:
    remember(PORT)
    made = make_backup(operator())
    with copies().use(tmp_path / copies().part):
        done = restore_backup(operator(), made.path)
        assert stored_texts() == [PORT]
    assert done.before is None


@pytest.mark.sqlite(reason="locks beside the database's file")
def test_while_another_process_has_the_store_open_nothing_is_restored(remember: Remember) -> None:
    remember(PORT)
    made = make_backup(operator())
    remember(LATER)
    file = connection.settings_dict["NAME"]
    holding = (
        "import sys; from pathlib import Path; from storage.sqlite.dialect import mark_open;"
        f"mark_open(Path({str(file)!r}), timeout_s=1); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holding],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        assert "is open in another process" in preview_restore(operator(), made.path).in_use
        with pytest.raises(Conflict, match="open in another process"):
            restore_backup(operator(), made.path)
        with pytest.raises(CommandError, match="Stop Loci"):
            call_command("restore", made.path.name, "--yes", stdout=StringIO())
        other.communicate("")
    assert stored_texts() == [LATER, PORT]
    restore_backup(operator(), made.path)
    assert stored_texts() == [PORT]


def test_the_command_asks_shows_and_names_the_undo(remember: Remember) -> None:
    remember(PORT)
    made = make_backup(operator())
    remember(LATER)
    call_command("restore", made.path.name, "--dry-run", stdout=(out := StringIO()))
    assert "1 memories are newer than the backup and would be lost" in out.getvalue()
    with pytest.raises(CommandError, match="Add --yes"):
        call_command("restore", made.path.name, "--json", stdout=StringIO())
    assert stored_texts() == [LATER, PORT]
    call_command("restore", made.path.name, "--yes", "--json", stdout=(out := StringIO()))
    said = json.loads(out.getvalue())
    assert said["undo"].startswith("loci restore before-restore-")
    assert stored_texts() == [PORT]


KILLS = {
    "unpack": [LATER, PORT],
    "write_backup": [LATER, PORT],
    "carry_over": [LATER, PORT],
    "add_keys": [LATER, PORT],
    "sync_folder:1": [LATER, PORT],  # no write-ahead log is left, the rename comes next
    "sync_folder:2": [PORT],  # renamed
}


@pytest.mark.sqlite(reason="a file that takes the place of another")
def test_a_kill_at_any_point_leaves_the_old_store_or_the_new_whole(
    remember: Remember, tmp_path: Path
) -> None:
    remember(PORT)
    made = make_backup(operator(), to=tmp_path / "made.zip")
    remember(LATER)
    start = make_backup(operator(), to=tmp_path / "start.zip")
    processes = {}
    for point in KILLS:
        home = tmp_path / point.replace(":", "-")
        (home / "backups").mkdir(parents=True)
        with copies().use(home / "memory.db"):
            restore_backup(operator(), start.path)
        command = [sys.executable, "-m", "tests.maintenance.backups.killed_restore", str(made.path), point]
        processes[point] = subprocess.Popen(command, cwd=REPOSITORY, env=environment(home))
    for point, expected in KILLS.items():
        assert processes[point].wait(60) == 9, point
        home = tmp_path / point.replace(":", "-")
        with copies().use(home / "memory.db"):
            assert copies().faults(is_quick=False) == [], point
            assert stored_texts() == expected, point
            assert is_log_whole()
            restore_backup(operator(), made.path)  # nothing that was left is in the way
            assert stored_texts() == [PORT], point
    shutil.rmtree(tmp_path / "unpack")
