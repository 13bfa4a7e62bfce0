"""What becomes of a folder's notes when they are written, changed, moved and deleted."""

import shutil
from pathlib import Path

import pytest

from access.models import Group
from access.tokens import operator
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import dispute, purge, retract
from memories.models import Doubt, Memory, Proposal
from memories.queries.versions import versions_of
from memories.review.decide import ReviewDecision, decide
from memories.store.places import PurgedTexts
from memories.types import State, Trust
from sources.models import WatchedFile, WatchedSection, WatchState
from sources.rooms.copies import FilesOnDisk
from sources.watching.disk import MARKER
from sources.watching.folders import accept_gone, resume_folder
from sources.watching.scan import scan_folder
from tests.memories.builders import doubters
from tests.sources.watching.notes import Notes

pytestmark = pytest.mark.django_db

PORTS = "# Ports\n\nThe ledger listens on 8081.\n\n## Backup\n\nIt runs at two in the morning.\n"


@pytest.fixture
def notes(tmp_path: Path, ledger: Group) -> Notes:
    """A folder that is watched and read."""
    return Notes.watched(tmp_path / "notes", ledger)


def change(memory: Memory, text: str) -> Memory:
    """A person's new text for a memory."""
    return edit(operator(), memory.id, EditDraft(text)).memory


def test_each_section_becomes_one_memory(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    assert notes.look() == {"created": 2}
    assert notes.live() == [
        "ports › Ports › Backup: It runs at two in the morning.",
        "ports › Ports: The ledger listens on 8081.",
    ]
    assert {m.source for m in Memory.objects.all()} == {"file:notes"}
    assert notes.memory("8081").outside


def test_a_second_look_changes_nothing(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    notes.look()
    assert notes.look() == {}
    notes.write("ports.md", PORTS)  # the same bytes, written again
    assert notes.look() == {}
    assert Memory.objects.count() == 2


def test_a_changed_section_is_a_new_version(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    notes.look()
    notes.write("ports.md", PORTS.replace("8081", "9090"))
    assert notes.look() == {"changed": 1}
    head = notes.memory("9090")
    assert [v.content[-5:-1] for v in versions_of(head)]
    assert head.version == 2
    notes.write("ports.md", PORTS)  # and back
    assert notes.look() == {"changed": 1}
    assert notes.memory("8081").version == 3
    assert notes.memory("two in the morning").version == 1


def test_a_renamed_heading_or_file_keeps_its_memory(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    notes.look()
    first = notes.memory("8081").root_key
    notes.write("ports.md", PORTS.replace("# Ports", "# Network"))
    notes.look()
    assert notes.memory("8081").root_key == first
    assert "Network" in notes.memory("8081").content
    (notes.root / "ports.md").rename(notes.root / "network.md")
    assert notes.look() == {"changed": 2}
    assert notes.memory("8081").root_key == first
    assert notes.look() == notes.look() == {}
    assert len(notes.live()) == 2


def test_a_section_that_goes_to_another_file_keeps_its_memory(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    notes.write("other.md", "# Other\n\nSomething else entirely.\n")
    notes.look()
    first = notes.memory("two in the morning").root_key
    notes.write("ports.md", PORTS.split("## Backup")[0])
    notes.write(
        "other.md", "# Other\n\nSomething else entirely.\n\n## Backup\n\nIt runs at two in the morning.\n"
    )
    notes.look()
    notes.look()
    assert notes.memory("two in the morning").root_key == first
    assert doubters(notes.memory("two in the morning")) == []


def test_a_killed_look_is_done_again(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the texts are stored, or after a version is written: the next look ends what it began."""
    notes.write("ports.md", PORTS)
    for where in ("sources.watching.scan.save_files", "sources.watching.file_to_memory.find_holders"):
        with monkeypatch.context() as patch:
            patch.setattr(where, killed)
            with pytest.raises(KeyboardInterrupt):
                notes.look()
        notes.write("ports.md", PORTS + "\n\n## More\n\nMore of it.\n")
    notes.look()
    assert len(notes.live()) == 3
    assert Memory.objects.count() == 3
    notes.write("ports.md", PORTS.replace("8081", "9090"))
    with monkeypatch.context() as patch:
        patch.setattr("sources.watching.scan.save_files", killed)
        with pytest.raises(KeyboardInterrupt):
            notes.look()
    notes.look()
    assert notes.memory("9090").version == 2
    assert notes.look() == notes.look() == {}


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_files_that_are_being_renamed_are_not_taken_for_gone(notes: Notes) -> None:
    for number in range(10):
        notes.write(f"n{number}.md", f"# Note\n\nRoom {number} has {number + 3} windows.\n")
    notes.look()
    for number in range(5):
        (notes.root / f"n{number}.md").rename(notes.root / f"m{number}.md")
    scan_folder(notes.folder)  # at once: the new names are not quiet yet
    assert notes.folder.state == WatchState.ACTIVE
    notes.look()
    assert notes.look() == {}
    assert len(notes.live()) == 10
    assert not Doubt.objects.exists()


def test_a_section_that_comes_back_in_another_file_is_confirmed_there(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    notes.write("other.md", "# Other\n\nSomething else entirely.\n")
    notes.look()
    notes.write("ports.md", PORTS.split("## Backup")[0])
    notes.look()
    notes.look()
    assert doubters(notes.memory("two in the morning")) == ["file:notes"]
    notes.write("new.md", "# Night\n\nIt runs at two in the morning.\n")
    notes.look()
    assert doubters(notes.memory("two in the morning")) == []
    assert len(notes.live()) == 3


def test_what_is_gone_is_unconfirmed_after_two_looks_and_confirmed_when_it_is_back(notes: Notes) -> None:
    for number in range(10):
        notes.write(f"n{number}.md", f"# Note\n\nRoom {number} has {number + 3} windows.\n")
    notes.look()
    gone = (notes.root / "n4.md").read_bytes()
    (notes.root / "n4.md").unlink()
    assert notes.look() == {}
    assert not Doubt.objects.exists()
    assert notes.look() == {"unconfirmed": 1}
    assert (notes.memory("Room 4").trust, doubters(notes.memory("Room 4"))) == ("active", ["file:notes"])
    dispute(operator(), notes.memory("Room 4").id)
    assert notes.look() == {}
    notes.write("n4.md", gone)
    notes.look()
    assert doubters(notes.memory("Room 4")) == ["operator"], "the file settles its own doubt alone"


def test_much_gone_at_once_stops_and_asks(notes: Notes) -> None:
    for number in range(10):
        notes.write(f"n{number}.md", f"# Note\n\nRoom {number} has {number + 3} windows.\n")
    notes.look()
    for number in range(3):
        (notes.root / f"n{number}.md").unlink()
    notes.write("n9.md", "# Note\n\nRoom 9 is a garden now.\n")
    notes.look()
    assert notes.folder.state == WatchState.ASKING
    assert "3 sections of 10" in notes.folder.note
    assert not Memory.objects.filter(content__contains="garden").exists(), "nothing of that look is applied"
    notes.look()
    assert not Doubt.objects.exists()
    accept_gone(operator(), notes.folder)
    notes.look()
    assert notes.look() == {"unconfirmed": 3}
    assert notes.memory("garden")
    assert not notes.folder.gone_meant


def test_a_folder_that_is_away_loses_nothing(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    notes.look()
    notes.root.rename(notes.root.with_name("away"))
    notes.look()
    notes.root.mkdir()  # a mount point without its drive
    notes.look()
    notes.look()
    assert notes.folder.state == WatchState.MISSING
    assert not Doubt.objects.exists()
    shutil.rmtree(notes.root)
    notes.root.with_name("away").rename(notes.root)
    assert notes.look() == {}
    assert notes.folder.state == WatchState.ACTIVE


def test_a_lost_marker_stops_until_the_folder_is_resumed(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    notes.look()
    (notes.root / MARKER).unlink()
    notes.look()
    assert notes.folder.state == WatchState.MISSING
    resume_folder(operator(), notes.folder)
    notes.look()
    assert notes.folder.state == WatchState.ACTIVE
    assert (notes.root / MARKER).exists()


def test_a_file_is_never_written(notes: Notes) -> None:
    path = notes.write("ports.md", PORTS)
    notes.look()
    change(notes.memory("8081"), "The ledger listens on 9090.")
    assert notes.look() == {}
    assert path.read_text() == PORTS


def test_both_changed_is_a_proposal_and_overwrites_nothing(notes: Notes) -> None:
    path = notes.write("ports.md", PORTS)
    notes.look()
    change(notes.memory("8081"), "ports › Ports: The ledger listens on 7000.")
    notes.write("ports.md", PORTS.replace("8081", "9090"))
    assert notes.look() == {"proposed": 1}
    assert notes.memory("7000")
    assert "9090" in path.read_text()
    assert notes.look() == notes.look() == {}
    [proposal] = Proposal.objects.all()
    change(notes.memory("7000"), "ports › Ports: The ledger listens on 7001.")  # it waits all the same
    notes.look()
    decide(operator(), ReviewDecision("approve", proposal=proposal.id))
    assert notes.memory("9090").version == 4
    assert notes.look() == {}
    notes.write("ports.md", PORTS.replace("8081", "9999"))
    assert notes.look() == {"changed": 1}, "they are in step again"


def test_a_withdrawn_text_is_refused_and_told(notes: Notes) -> None:
    notes.write("ports.md", PORTS)
    notes.look()
    retract(operator(), notes.memory("8081").id, reason="wrong")
    assert notes.look() == {}
    notes.write("ports.md", PORTS + "\nMore.\n")
    notes.look()
    assert not Memory.objects.filter(state=State.LIVE, content__contains="8081").exists()
    notes.write("copy.md", "# Ports\n\nThe ledger listens on 8081.\n")
    notes.look()
    notes.write("ports.md", PORTS.replace("8081", "9090"))
    notes.look()
    assert notes.memory("9090").state == State.LIVE


def test_a_purge_names_the_file_that_still_has_the_text(notes: Notes) -> None:
    path = notes.write("ports.md", PORTS)
    notes.look()
    memory = notes.memory("8081")
    purge(operator(), memory.id, reason="secret")
    told = FilesOnDisk().find(PurgedTexts((), (memory.content,), (memory.id,)))
    assert [line for line in told if str(path) in line]
    notes.write("ports.md", PORTS + "\nMore.\n")
    notes.look()
    assert not Memory.objects.filter(content__contains="8081").exists()
    assert "refused or purged" in WatchedFile.objects.get(path="ports.md").problem


def test_large_binary_hidden_and_linked_files_are_not_read(notes: Notes, tmp_path: Path) -> None:
    notes.write("large.md", "word " * 30_000)
    notes.write("latin.md", "caf\xe9".encode("latin-1"))
    notes.write(".hidden.md", "# Hidden\n\nHidden words.\n")
    notes.write(".git/notes.md", "# Hidden\n\nHidden words.\n")
    notes.write("node_modules/readme.md", "# Hidden\n\nHidden words.\n")
    notes.write("secret.txt", "Hidden words.\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "o.md").write_text("# Outside\n\nOutside words.\n")
    (notes.root / "link.md").symlink_to(outside / "o.md")
    (notes.root / "folder").symlink_to(outside)
    assert notes.look() == {}
    problems = dict(WatchedFile.objects.values_list("path", "problem"))
    assert problems == {
        "large.md": "it is larger than 100 KiB",
        "latin.md": "it is not UTF-8",
    }


def test_a_thousand_files_of_a_checkout_are_one_batch(notes: Notes) -> None:
    for number in range(60):
        notes.write(
            f"d{number % 7}/n{number}.md", f"# Note\n\nShelf {number} holds {number * 7} books on {number}.\n"
        )
    assert notes.look() == {"created": 60}
    runs = set(Memory.objects.values_list("run", flat=True))
    assert len(runs) == 1
    assert WatchedSection.objects.count() == 60


def test_a_policy_holds_back_what_files_say(notes: Notes) -> None:
    Group.objects.filter(pk=notes.group.pk).update(policy="agents")
    notes.write("ports.md", PORTS)
    assert notes.look() == {"queued": 2}
    assert set(Memory.objects.values_list("trust", flat=True)) == {Trust.CANDIDATE}


def test_a_private_group_stops_its_folder(notes: Notes) -> None:
    Group.objects.filter(pk=notes.group.pk).update(private=True)
    notes.write("ports.md", PORTS)
    notes.look()
    assert notes.folder.state == WatchState.PAUSED
    assert not Memory.objects.exists()
