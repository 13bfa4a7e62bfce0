"""New memories of a synchronised group as files, and what becomes of both."""

from dataclasses import replace
from pathlib import Path

import pytest
from pytest_django import Settings

from access.errors import Conflict, NotPermitted
from access.groups import create_group
from access.models import Group
from access.tokens import operator
from loci_site.config.checks import encryption_messages
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import approve, purge
from memories.models import Memory
from memories.store import store
from memories.store.places import PurgedTexts
from memories.types import State, Trust
from sources.models import WatchedFile, WatchedSection, WatchState
from sources.rooms.copies import FilesOnDisk
from sources.rooms.room import refresh_rooms
from sources.watching.folders import add_folder, is_something_wanted
from tests.guard.samples import secret_samples
from tests.memories.builders import doubters, fresh
from tests.sources.watching.notes import Notes

pytestmark = pytest.mark.django_db
TEXT = "The bell rings at noon."


@pytest.fixture
def synced(tmp_path: Path, ledger: Group) -> Notes:
    """A synchronised folder that has been looked through."""
    remember("The harbour has nine cranes.")  # before: it has no file
    notes = Notes.watched(tmp_path / "notes", ledger, mode="sync")
    notes.write("mine.md", "# Mine\n\nThe kettle is broken.\n")
    notes.look()
    return notes


def remember(text: str, **fields: object) -> Memory:
    memory = store(operator(), Draft(text, group="ledger", **fields)).memory  # type: ignore[arg-type]
    assert memory is not None
    return memory


def files(notes: Notes) -> list[Path]:
    return sorted((notes.root / "loci").glob("*"))


def test_a_new_memory_becomes_a_file_once(synced: Notes) -> None:
    assert files(synced) == []
    memory = remember(TEXT, tags=("harbour",))
    assert synced.look() == {"written": 1}
    [path] = files(synced)
    assert path.name == f"locus-{memory.created_at:%Y%m%d}-the-bell-rings-at-noon.locus"
    assert path.read_text() == (
        f"---\nid: {path.stem}\ncreated: {memory.created_at.isoformat()}\nroom: ledger\ntype: semantic\n"
        f"tags: [harbour]\nloci_id: {memory.id}\nloci_version: 1\n---\n# {TEXT}\n\n{TEXT}\n"
    )
    assert [synced.look() for _ in range(3)] == [{}, {}, {}]
    assert Memory.objects.filter(content=TEXT).count() == 1


def test_edits_go_both_ways(synced: Notes) -> None:
    memory = remember(TEXT)
    synced.look()
    edit(operator(), memory.id, EditDraft("The bell rings at one."))
    assert synced.look() == {"written": 1}
    [path] = files(synced)
    assert "The bell rings at one." in path.read_text()
    assert "loci_version: 2" in path.read_text()
    path.write_text(path.read_text().replace("rings at one.", "rings at two."))
    assert synced.look() == {"changed": 1}
    assert synced.memory("at two").version == 3
    assert synced.look() == {}
    assert files(synced) == [path]


def test_a_file_of_the_same_name_is_never_written_over(synced: Notes) -> None:
    day = f"{remember(TEXT).created_at:%Y%m%d}"
    taken = synced.write(f"loci/locus-{day}-the-bell-rings-at-noon.locus", "Somebody else wrote this.\n")
    assert synced.look() == {"created": 1, "written": 1}
    assert taken.read_text() == "Somebody else wrote this.\n"
    assert [path.stem[-2:] for path in files(synced)] == ["-2", "on"]


def test_a_deleted_file_leaves_its_memory_unconfirmed(synced: Notes) -> None:
    memory = remember(TEXT)
    synced.look()
    files(synced)[0].unlink()
    synced.look()
    assert synced.look() == {"unconfirmed": 1}
    assert (fresh(memory).trust, len(doubters(memory))) == ("active", 1)
    assert files(synced) == []


def test_a_purge_takes_the_file_away_unless_somebody_changed_it(synced: Notes) -> None:
    gone, changed = remember("The safe opens with 4711."), remember("The vault opens with 4712.")
    synced.look()
    for path in files(synced):
        if "4712" in path.read_text():
            path.write_text(path.read_text() + "\nMy own line.\n")
    for memory in (gone, changed):
        purge(operator(), memory.id, reason="secret")
    doomed = PurgedTexts((), (gone.content, changed.content))
    FilesOnDisk().clear(doomed, note="")
    told = FilesOnDisk().find(doomed)
    [left] = files(synced)
    assert "My own line." in left.read_text()
    assert str(left) in " ".join(told)
    assert not WatchedFile.objects.filter(path__contains="the-safe").exists()


def test_secrets_are_masked_and_such_a_file_is_not_taken_for_an_edit(synced: Notes) -> None:
    memory = remember("The token is kept in the vault.")
    secret = secret_samples()["github-token"]
    Memory.objects.filter(id=memory.id).update(content=f"The token is {secret}.")  # from before the guard
    synced.look()
    [path] = files(synced)
    assert secret not in path.read_text()
    assert WatchedSection.objects.get(memory=memory).is_exact is False
    assert synced.look() == {}


def test_what_waits_gets_a_file_when_it_is_approved(synced: Notes) -> None:
    memory = remember(TEXT)
    Memory.objects.filter(id=memory.id).update(trust=Trust.CANDIDATE)
    assert synced.look() == {}
    approve(operator(), memory.id)
    assert synced.look() == {"written": 1}


def test_turns_entities_and_other_groups_have_no_file(synced: Notes) -> None:
    create_group(operator(), "attic")
    remember("Hello there.", type="episodic", thread="monday")
    remember("Heron", type="entity")
    store(operator(), Draft("The attic is dusty.", group="attic"))
    assert synced.look() == {}
    assert files(synced) == []


def test_a_link_in_place_of_the_folder_is_not_followed(synced: Notes, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (synced.root / "loci").symlink_to(outside)
    remember(TEXT)
    assert synced.look() == {"not written": 1}
    assert list(outside.iterdir()) == []


@pytest.mark.sqlite(reason="PostgreSQL's operator encrypts its disk")
def test_an_encrypted_store_has_no_plain_files_unless_the_settings_say_so(
    settings: Settings, tmp_path: Path, ledger: Group, synced: Notes
) -> None:
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
    remember(TEXT)
    assert synced.look() == {}
    assert synced.folder.state == WatchState.PAUSED
    assert "files.beside_encryption" in synced.folder.note
    assert not is_something_wanted()
    refresh_rooms()
    assert not (tmp_path / "rooms").exists()
    assert "loci.W006" in [message.id for message in encryption_messages(settings.LOCI)]
    settings.LOCI = replace(settings.LOCI, files=replace(files, beside_encryption=True))
    assert add_folder(operator(), other, group="ledger").state == WatchState.ACTIVE
    refresh_rooms()
    assert (tmp_path / "rooms" / "ledger" / "context.md").exists()


def test_a_private_group_takes_no_folder_and_stops_one(synced: Notes, tmp_path: Path) -> None:
    Group.objects.filter(slug="ledger").update(private=True)
    remember(TEXT, scope="group")
    assert synced.look() == {}
    assert (files(synced), synced.folder.state) == ([], WatchState.PAUSED)
    with pytest.raises(NotPermitted, match="private"):
        add_folder(operator(), tmp_path, group="ledger")
    assert Memory.objects.filter(state=State.LIVE, content=TEXT).exists()
