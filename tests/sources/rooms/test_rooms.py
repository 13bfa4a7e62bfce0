"""Rooms on disk and the daily log."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from access.models import Group
from access.tokens import operator
from memories.draft import Draft
from memories.lifecycle.verbs import purge
from memories.models import Memory, Proposal
from memories.review.decide import ReviewDecision, decide
from memories.store import store
from memories.store.places import PurgedTexts
from sources.rooms.copies import FilesOnDisk
from sources.rooms.room import refresh_rooms
from tests.sources.watching.notes import Notes

pytestmark = pytest.mark.django_db


@pytest.fixture
def room(settings: Settings, tmp_path: Path, ledger: Group) -> Iterator[Path]:
    """The room of the group, which has a daily log."""
    files = replace(
        settings.LOCI.files, rooms_folder=tmp_path / "rooms", rooms=("ledger",), daily_log=("ledger",)
    )
    settings.LOCI = replace(settings.LOCI, files=files)
    refresh_rooms()
    return tmp_path / "rooms" / "ledger"


def remember(text: str, **fields: str) -> Memory:
    memory = store(operator(), Draft(text, group="ledger", **fields)).memory  # type: ignore[arg-type]
    assert memory is not None
    return memory


def daily(room: Path) -> list[str]:
    """The lines of the daily log."""
    return [
        line
        for path in (room / "daily").glob("*.md")
        for line in path.read_text().splitlines()
        if line.startswith("- ")
    ]


def test_the_context_is_what_agents_get_and_is_written_when_it_changes(room: Path) -> None:
    remember("The bell rings at noon.", type="episodic", thread="monday")
    refresh_rooms()
    text = (room / "context.md").read_text()
    assert "The bell rings at noon." in text
    assert "## Recent threads\n\n- monday (1 memory" in text
    before = (room / "context.md").stat().st_mtime_ns
    refresh_rooms()
    assert (room / "context.md").stat().st_mtime_ns == before


def test_what_people_add_to_the_room_stays(room: Path) -> None:
    about = json.loads((room / ".room.json").read_text())
    assert about["name"] == "ledger"
    (room / ".room.json").write_text(
        json.dumps({**about, "name": "The Ledger", "color": "#234", "icon": "book"})
    )
    refresh_rooms()
    kept = json.loads((room / ".room.json").read_text())
    assert (kept["name"], kept["color"], kept["icon"]) == ("The Ledger", "#234", "book")
    (room / ".room.json").write_text("{ broken")
    refresh_rooms()
    assert (room / ".room.json").read_text() == "{ broken"


def approve_instructions() -> Proposal:
    """Approve the one proposal that waits."""
    proposal = Proposal.objects.get(status="waiting")
    decide(operator(), ReviewDecision("approve", proposal=proposal.id))
    return proposal


def test_standing_instructions_wait_for_a_curator_and_are_never_overwritten(room: Path) -> None:
    instructions = room / "CLAUDE.md"
    instructions.write_text("Answer in short sentences.\n")
    refresh_rooms()
    refresh_rooms()
    assert Group.objects.get(slug="ledger").instructions == ""
    approve_instructions()
    refresh_rooms()
    assert Group.objects.get(slug="ledger").instructions == "Answer in short sentences."
    assert "Answer in short sentences." in (room / "context.md").read_text()
    Group.objects.filter(slug="ledger").update(instructions="Answer at length.")
    refresh_rooms()
    assert instructions.read_text() == "Answer at length.\n"
    Group.objects.filter(slug="ledger").update(instructions="Answer in verse.")
    instructions.write_text("Answer in prose.\n")
    refresh_rooms()
    assert instructions.read_text() == "Answer in prose.\n"
    assert Group.objects.get(slug="ledger").instructions == "Answer in verse."
    approve_instructions()
    assert Group.objects.get(slug="ledger").instructions == "Answer in prose."


def test_a_file_of_instructions_that_was_declined_is_not_proposed_again(room: Path) -> None:
    (room / "CLAUDE.md").write_text("Answer in short sentences.\n")
    refresh_rooms()
    decide(operator(), ReviewDecision("reject", proposal=Proposal.objects.get().id))
    refresh_rooms()
    assert Proposal.objects.count() == 1
    assert (room / "CLAUDE.md").read_text() == "Answer in short sentences.\n"


def test_each_new_memory_has_one_line_and_files_have_none(room: Path, tmp_path: Path) -> None:
    memory = remember("The bell " + "rings " * 60 + "at noon.", source="mcp:claude")
    remember("The bell " + "rings " * 60 + "at noon.", source="mcp:claude")  # a restatement
    notes = Notes.watched(tmp_path / "notes", memory.group)
    notes.write("a.md", "# A\n\nFrom a file.\n")
    notes.look()
    refresh_rooms()
    refresh_rooms()
    [line] = daily(room)
    assert line.startswith(f"- {memory.created_at:%H:%M} semantic, mcp:claude: The bell rings")
    assert line.endswith(f"… <!-- {memory.id} -->")
    assert len(line) < 300


def test_a_watched_room_gives_its_notes_alone(room: Path) -> None:
    remember("The bell rings at noon.")
    (room / "CLAUDE.md").write_text("Answer in short sentences.\n")
    refresh_rooms()
    notes = Notes.watched(room, Group.objects.get(slug="ledger"))
    notes.write("loci/a.locus", "The harbour has nine cranes.\n")
    assert notes.look() == {"created": 1}
    assert len(notes.live()) == 2


def test_a_purge_takes_the_line_out(room: Path) -> None:
    gone, stays = remember("The safe opens with 4711."), remember("The bell rings at noon.")
    refresh_rooms()
    assert len(daily(room)) == 2
    purge(operator(), gone.id, reason="secret")
    told = FilesOnDisk().clear(PurgedTexts((gone.key,), (gone.content,), (gone.id,)), note="")
    assert told.checked == (
        "daily logs: 1 line taken out",
        "contexts of rooms: 1 deleted, to be written anew",
    )
    refresh_rooms()
    assert [str(stays.id) in line for line in daily(room)] == [True]
    assert "4711" not in (room / "context.md").read_text()


def test_a_private_group_has_no_room(room: Path) -> None:
    Group.objects.filter(slug="ledger").update(private=True)
    remember("The safe opens with 4711.", scope="group")
    refresh_rooms()
    assert "4711" not in (room / "context.md").read_text()
    assert daily(room) == []
    assert django_settings.LOCI.files.rooms == ("ledger",)


def test_a_purge_reaches_the_instructions_on_disk(room: Path) -> None:
    gone = remember("The safe opens with 4711.")
    (room / "CLAUDE.md").write_text("Be brief. The safe opens with 4711.\n")
    told = FilesOnDisk().clear(PurgedTexts((gone.key,), (gone.content,), (gone.id,)), note="")
    assert "instructions of rooms: 1 without the text now" in told.checked
    assert (room / "CLAUDE.md").read_text() == "Be brief. [purged]\n"


def test_a_purge_passes_files_that_are_no_text(room: Path, tmp_path: Path) -> None:
    gone = remember("The safe opens with 4711.")
    refresh_rooms()
    [day] = (room / "daily").glob("*.md")
    day.write_bytes(day.read_bytes() + b"caf\xe9\n")
    notes = Notes.watched(tmp_path / "notes", gone.group)
    note = notes.write("a.md", "# A\n\nFrom a file.\n")
    notes.look()
    note.unlink()
    os.mkfifo(note)  # reading it would never end
    told = FilesOnDisk().clear(PurgedTexts((gone.key,), (gone.content,), (gone.id,)), note="")
    assert "daily logs: 1 line taken out" in told.checked
    assert (b"4711" in day.read_bytes(), day.read_bytes().endswith(b"caf\xe9\n")) == (False, True)


def test_a_file_that_is_no_text_stops_no_other_room(room: Path, settings: Settings, garden: Group) -> None:
    both = replace(settings.LOCI.files, rooms=("ledger", "garden"))
    settings.LOCI = replace(settings.LOCI, files=both)
    (room / "CLAUDE.md").write_bytes(b"caf\xe9")
    refresh_rooms()
    assert (room.parent / "garden" / "context.md").is_file()
    assert (room / "CLAUDE.md").read_bytes() == b"caf\xe9"
