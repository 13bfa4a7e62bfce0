"""Which folders are watched: the command, config.toml, the admin page, and who may name a path."""

import json
import threading
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from access.actor import Via
from access.errors import Conflict, NotPermitted
from access.models import Group
from access.tokens import actor_for_user, operator
from loci_site.config.checks import encryption_messages
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.models import Memory
from sources.models import WatchedFolder, WatchState
from sources.rooms.room import refresh_rooms
from sources.watching.disk import MARKER
from sources.watching.folders import add_folder, add_from_config, is_something_wanted, wanted_mark
from sources.watching.loop import PROCESS, WatchLoop
from tests.sources.watching.notes import Notes

LIST = "admin:sources_watchedfolder_changelist"


def run(*words: str) -> str:
    out = StringIO()
    call_command("watch", *words, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_a_folder_is_added_looked_through_paused_and_removed(tmp_path: Path, ledger: Group) -> None:
    (tmp_path / "a.md").write_text("# A\n\nThe bell rings at noon.\n")
    assert "is watched for the group 'ledger'" in run(str(tmp_path), "--group", "ledger")
    assert (tmp_path / MARKER).exists()
    assert wanted_mark().exists(), "the server starts its process"
    time.sleep(0.6)  # until nobody is taken to be writing it
    assert "1 created" in run(str(tmp_path), "--once")
    listed = json.loads(run("--json"))
    assert (listed["folders"][0]["state"], listed["folders"][0]["sections"]) == ("active", 1)
    run(str(tmp_path), "--pause")
    assert not wanted_mark().exists()
    with pytest.raises(SystemExit):
        run(str(tmp_path), "--once")
    run(str(tmp_path), "--resume")
    run(str(tmp_path), "--remove")
    assert not WatchedFolder.objects.exists()
    assert not (tmp_path / MARKER).exists()
    assert Memory.objects.count() == 1
    assert "No folder is watched" in run()


@pytest.mark.django_db
@pytest.mark.parametrize("words", [("--poll",), ("--as-own",)])
def test_adding_it_again_changes_how_it_is_watched(
    tmp_path: Path, ledger: Group, words: tuple[str, ...]
) -> None:
    run(str(tmp_path), "--group", "ledger")
    run(str(tmp_path), "--group", "ledger", *words)
    folder = WatchedFolder.objects.get()
    assert (folder.poll, folder.as_own).count(True) == 1


@pytest.mark.django_db
def test_what_cannot_be_watched_is_refused_in_words(tmp_path: Path, ledger: Group, garden: Group) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    (tmp_path / "in").mkdir()
    add_folder(operator(), tmp_path / "in", group="ledger")
    Group.objects.filter(pk=garden.pk).update(private=True)
    (tmp_path / "garden").mkdir()
    for path, group, words in (
        (tmp_path / "none", "ledger", "No such file"),
        (file, "ledger", "is a file"),
        (tmp_path, "ledger", "overlaps"),
        (tmp_path / "in", "garden", "private"),
        (tmp_path / "garden", "garden", "private"),
        (Path("/"), "ledger", "Loci's own files"),
        (Path(django_settings.LOCI.home), "ledger", "Loci's own files"),
    ):
        with pytest.raises(CommandError, match=words):
            run(str(path), "--group", group)
    assert WatchedFolder.objects.count() == 1


@pytest.mark.django_db
def test_a_folder_that_was_also_written_is_only_read_and_that_is_said_once(
    tmp_path: Path, ledger: Group
) -> None:
    notes = Notes.watched(tmp_path / "notes", ledger)
    path = notes.write("ports.md", "# Ports\n\nThe ledger listens on 8081.\n")
    WatchedFolder.objects.update(mode="sync")  # as 0.3.0 left it
    notes.look()
    edit(operator(), notes.memory("8081").id, EditDraft("The ledger listens on 9090."))
    notes.look()
    assert "8081" in path.read_text()
    assert {each.name for each in notes.root.iterdir()} == {"ports.md", MARKER}
    assert f"{notes.root}: it is only read now" in run()
    assert "only read" not in run()


@pytest.mark.sqlite(reason="PostgreSQL's operator encrypts its disk")
@pytest.mark.django_db
def test_an_encrypted_store_has_no_plain_files_unless_the_settings_say_so(
    settings: Settings, tmp_path: Path, ledger: Group
) -> None:
    notes = Notes.watched(tmp_path / "notes", ledger)
    files = replace(
        settings.LOCI.files, rooms_folder=tmp_path / "rooms", rooms=("ledger",), beside_encryption=False
    )
    encrypted = replace(settings.LOCI.storage, encryption="sqlcipher")
    settings.LOCI = replace(settings.LOCI, storage=encrypted, files=files)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(Conflict, match="encrypted") as refused:
        add_folder(operator(), other, group="ledger")
    assert "files.beside_encryption" in refused.value.hint
    notes.look()
    assert notes.folder.state == WatchState.PAUSED
    assert "files.beside_encryption" in notes.folder.note
    assert not is_something_wanted()
    refresh_rooms()
    assert not (tmp_path / "rooms").exists()
    assert "loci.W006" in [message.id for message in encryption_messages(settings.LOCI)]
    settings.LOCI = replace(settings.LOCI, files=replace(files, beside_encryption=True))
    assert add_folder(operator(), other, group="ledger").state == WatchState.ACTIVE
    refresh_rooms()
    assert (tmp_path / "rooms" / "ledger" / "context.md").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("via", [Via.MCP, Via.REST, Via.ADMIN, Via.APP])
def test_no_client_names_a_path(tmp_path: Path, alice: User, ledger: Group, via: Via) -> None:
    actor = actor_for_user(alice, via=via)
    with pytest.raises(NotPermitted, match="on the machine"):
        add_folder(actor, tmp_path, group="ledger")
    assert not (tmp_path / MARKER).exists()


@pytest.mark.django_db
def test_config_names_folders(tmp_path: Path, ledger: Group, settings: Settings) -> None:
    (tmp_path / "a=b").mkdir()
    entries = (f"{tmp_path / 'a=b'}=ledger:sync", f"{tmp_path / 'none'}=ledger", f"{tmp_path}=ledger:both")
    settings.LOCI = replace(settings.LOCI, files=replace(settings.LOCI.files, watch=entries))
    wrong = add_from_config(PROCESS)
    assert [line.split(":")[0] for line in wrong] == ["files.watch"] * 3
    assert "only read now" in wrong[0], "a setting of 0.3.0 still watches"
    assert WatchedFolder.objects.get().from_config
    settings.LOCI = replace(settings.LOCI, files=replace(settings.LOCI.files, watch=()))
    add_from_config(PROCESS)
    assert WatchedFolder.objects.get().state == WatchState.PAUSED


@pytest.mark.django_db
def test_the_page_shows_pauses_and_removes(tmp_path: Path, alice: User, ledger: Group) -> None:
    notes = Notes.watched(tmp_path / "notes", ledger)
    notes.write("large.md", "x" * 200_000)
    notes.look()
    client = Client()
    client.force_login(alice)
    page = client.get(reverse(LIST)).content.decode()
    assert str(notes.root) in page
    assert "it is larger than" in page
    url = reverse("admin:sources_watchedfolder_press", args=[notes.folder.id, "pause"])
    assert client.get(url).status_code == 405
    assert client.post(url).status_code == 302
    assert notes.folder.state == WatchState.PAUSED
    client.post(url.replace("pause-", "remove-"))
    assert not WatchedFolder.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_process_hears_a_change(tmp_path: Path, alice: User) -> None:
    """With the file system's events, and the debounce of half a second."""
    call_command("group", "create", "ledger", stdout=StringIO())
    notes = Notes.watched(tmp_path / "notes", Group.objects.get(slug="ledger"))
    stop = threading.Event()

    def watch() -> None:
        WatchLoop(stop).run()
        connection.close()  # the thread's own

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        time.sleep(1.0)
        notes.write("a.md", "# A\n\nThe bell rings at noon.\n")
        wait_until(lambda: Memory.objects.filter(content__contains="noon").exists())
    finally:
        stop.set()
        thread.join(10)
        notes.folder.delete()
    assert not thread.is_alive()


def wait_until(is_so: object, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < end, "nothing was heard"
        time.sleep(0.1)
