"""A file gets a new text only if it still has the one that was read."""

from pathlib import Path

import pytest

from sources.watching import replacing
from sources.watching.replacing import discard_left, discard_old, replace_if_same, sha_of

OLD, NEW, THEIRS = b"old\n", b"new\n", b"theirs\n"


@pytest.fixture(params=["swap", "link"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file; once on a system that swaps names, once on one that cannot."""
    if request.param == "link":
        monkeypatch.setattr(replacing, "exchange", lambda one, other: False)
    file = tmp_path / "note.md"
    file.write_bytes(OLD)
    return file


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_file_has_the_new_text_and_nothing_is_left(path: Path) -> None:
    done = replace_if_same(path, sha_of(OLD), NEW)
    assert done.is_done
    assert done.old is not None
    assert discard_old(done.old)
    assert path.read_bytes() == NEW
    assert names(path.parent) == ["note.md"]


def test_a_file_that_was_changed_stays(path: Path) -> None:
    path.write_bytes(THEIRS)
    assert not replace_if_same(path, sha_of(OLD), NEW).is_done
    assert path.read_bytes() == THEIRS
    assert names(path.parent) == ["note.md"]


def test_what_an_open_editor_writes_into_the_old_file_is_kept(path: Path) -> None:
    with path.open("r+b") as editor:
        done = replace_if_same(path, sha_of(OLD), NEW)
        editor.write(THEIRS)
    assert done.old is not None
    assert not discard_old(done.old)
    assert path.read_bytes() == NEW
    [kept] = [name for name in names(path.parent) if ".kept-" in name]
    assert (path.parent / kept).read_bytes() == THEIRS


def test_a_save_in_between_is_swapped_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(OLD)
    real = replacing.exchange
    saves = iter([THEIRS])

    def late(one: Path, other: Path) -> bool:
        if theirs := next(saves, b""):
            other.write_bytes(theirs)  # an editor saves after the check and before the swap
        return real(one, other)

    monkeypatch.setattr(replacing, "exchange", late)
    assert not replace_if_same(path, sha_of(OLD), NEW).is_done
    assert path.read_bytes() == THEIRS
    assert names(tmp_path) == ["note.md"]


def test_what_a_killed_process_left_is_settled(path: Path) -> None:
    replace_if_same(path, sha_of(OLD), NEW)
    changed = path.with_name(f".other.md.{sha_of(OLD)[:16]}.loci-old")
    changed.write_bytes(THEIRS)
    path.with_name(".note.md.loci-new").write_bytes(NEW)
    discard_left(path.parent)
    left = names(path.parent)
    assert left[0].startswith("note.md"), left
    assert [name for name in left if name.startswith("other.kept-")]
    assert not [name for name in left if name.startswith(".")]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        replace_if_same(tmp_path / "gone.md", sha_of(OLD), NEW)
    assert names(tmp_path) == []
