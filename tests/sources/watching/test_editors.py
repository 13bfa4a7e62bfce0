"""How editors save, and several of them with an agent on one file."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from access.models import Group
from memories.queries.versions import versions_of
from sources.watching.disk import FolderGone, list_files
from tests.sources.watching.crowd import Crowd
from tests.sources.watching.notes import Notes

pytestmark = pytest.mark.django_db


def in_place(path: Path, text: str) -> None:
    with path.open("r+") as file:
        file.write(text)
        file.truncate()


def temp_and_rename(path: Path, text: str) -> None:
    other = path.with_name(f".{path.name}.swp")
    other.write_text(text)
    other.rename(path)


def backup_and_rename(path: Path, text: str) -> None:
    path.rename(path.with_name(f"{path.name}~"))
    other = path.with_name("4913")
    other.write_text(text)
    other.rename(path)


def truncate_and_write(path: Path, text: str) -> None:
    path.write_text("")
    path.write_text(text[:10])
    path.write_text(text)


def delete_and_create(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


SAVES = [in_place, temp_and_rename, backup_and_rename, truncate_and_write, delete_and_create]


@pytest.mark.parametrize("save", SAVES)
def test_each_way_to_save_is_one_version(
    tmp_path: Path, ledger: Group, save: Callable[[Path, str], None]
) -> None:
    notes = Notes.watched(tmp_path / "notes", ledger)
    path = notes.write("a.md", "# Ports\n\nThe ledger listens on 8081.\n")
    notes.look()
    save(path, "# Ports\n\nThe ledger listens on 9090.\n")
    assert notes.look() == {"changed": 1}
    assert len(versions_of(notes.memory("9090"))) == 2
    assert notes.look() == notes.look() == {}
    assert len(notes.live()) == 1


def test_a_file_that_is_being_written_waits(tmp_path: Path, ledger: Group) -> None:
    notes = Notes.watched(tmp_path / "notes", ledger)
    path = notes.write("a.md", "# Ports\n\nHalf a sen")
    at = path.stat().st_mtime_ns + 60 * 10**9 - 10**8
    os.utime(path, ns=(at, at))  # a tenth of a second before the look
    assert notes.look() == {}
    assert notes.reports[-1].again
    assert notes.live() == []
    path.write_text("# Ports\n\nHalf a sentence, and the rest.\n")
    assert notes.look() == {"created": 1}


def test_a_folder_that_goes_away_in_the_middle_is_no_empty_folder(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    for name in "abcd":
        (root / name).mkdir(parents=True)
        (root / name / "n.md").write_text("text")
    seen = list_files(root)
    next(seen)
    root.rename(tmp_path / "away")
    with pytest.raises(FolderGone):
        list(seen)


@pytest.mark.parametrize("seed", [1, 2])
def test_two_editors_and_an_agent_lose_no_text(tmp_path: Path, ledger: Group, seed: int) -> None:
    """A few moves of each."""
    crowd = Crowd(Notes.watched(tmp_path / "notes", ledger), seed=seed)
    for _ in range(12):
        crowd.move()
    crowd.settle()
    assert crowd.lost() == []
