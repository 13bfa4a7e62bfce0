"""A purge reaches the backups that Loci keeps: no byte of the text is left in any of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection

from access.models import Group
from access.tokens import operator
from maintenance.backups import make_backup
from maintenance.backups import purge as backup_purging
from maintenance.backups.archive import read_manifest, unpack
from maintenance.backups.copies import copies
from maintenance.backups.folder import backups_folder
from maintenance.backups.purge import BackupsPurged, is_purge_owed, purge_backups
from memories.lifecycle import purge as purging
from memories.lifecycle.verbs import purge
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from storage.compiled_queries import fetch
from storage.dialect import dialect
from tests.file_bytes import with_plain_pages
from tests.maintenance.folders import empty_folder

Remember = Callable[..., Memory]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
SECRET = "Quokkazebu rides to Xanthippolis with the Vlkodlak manuscript."
TRACES = [b"quokkazebu", b"xanthippoli", b"vlkodlak"]  # stemmed, in lower case


@pytest.fixture(autouse=True)
def no_backups() -> Iterator[None]:
    COUNTER._pending.clear()
    empty_folder(backups_folder())
    yield
    empty_folder(backups_folder())


def bytes_of(archive: Path, folder: Path) -> bytes:
    """All bytes of a backup, unpacked, and of the file itself."""
    folder.mkdir()
    unpack(archive, folder)
    parts = [with_plain_pages(path.read_bytes()) for path in folder.rglob("*") if path.is_file()]
    return b"".join(parts) + archive.read_bytes()


def stored_vectors(memory: Memory) -> list[bytes]:
    """The memory's vectors as a copy of the store has them: bytes, or on PostgreSQL text."""
    if connection.vendor == "postgresql":
        rows = fetch("SELECT embedding::text FROM memories_piece WHERE memory_id = %s", [memory.key])
        return [row[0].encode() for row in rows]
    return [bytes(piece.embedding) for piece in memory.pieces.all()]


def traces_in(data: bytes) -> list[bytes]:
    lower = data.lower()
    return [trace for trace in TRACES if trace in lower]


def test_no_byte_is_left_in_any_backup(remember: Remember, tmp_path: Path) -> None:
    memory = remember(SECRET)
    vectors = stored_vectors(memory)
    remember("The queue holds ten jobs.")
    recall(operator(), RecallRequest(f"is it true that {SECRET}", group="ledger"))
    COUNTER.flush()
    first, second = make_backup(operator()), make_backup(operator())
    before = bytes_of(first.path, tmp_path / "before")
    assert traces_in(before) == TRACES
    assert all(vector in before for vector in vectors)
    done = purge(operator(), memory.id, reason="asked for")
    assert done.certificate is not None
    assert done.certificate.checked[0] == "2 managed backups: 2 held it and were rewritten"
    assert done.certificate.remains == dialect().purge_leaves
    for made in (first, second):
        after = bytes_of(made.path, tmp_path / made.path.stem)
        assert traces_in(after) == []
        assert [vector for vector in vectors if vector in after] == []
        with copies().use(tmp_path / made.path.stem / copies().part):
            assert list(Memory.objects.values_list("content", flat=True)) == ["The queue holds ten jobs."]
        manifest = read_manifest(made.path)
        assert (manifest.made_at, manifest.groups) == (made.manifest.made_at, {"ledger": 1})
        assert manifest.purged_at is not None
    assert not is_purge_owed()


def test_a_backup_of_before_the_memory_loses_what_quotes_it(remember: Remember, tmp_path: Path) -> None:
    remember("The queue holds ten jobs.")
    recall(operator(), RecallRequest(f"is it true that {SECRET}", group="ledger"))
    COUNTER.flush()
    made = make_backup(operator())
    memory = remember(SECRET)
    assert traces_in(bytes_of(made.path, tmp_path / "before")) == TRACES
    purge(operator(), memory.id)
    assert traces_in(bytes_of(made.path, tmp_path / "after")) == []


def test_a_backup_that_has_nothing_of_it_is_left_as_it_is(remember: Remember) -> None:
    remember("The queue holds ten jobs.")
    made = make_backup(operator())
    before = made.path.read_bytes()
    done = purge(operator(), remember(SECRET).id)
    assert made.path.read_bytes() == before
    assert done.certificate is not None
    assert done.certificate.checked[0] == "1 managed backups: 0 held it and were rewritten"


def test_large_backups_are_left_to_the_worker_and_the_certificate_says_so(
    remember: Remember, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = remember(SECRET)
    made = make_backup(operator())
    monkeypatch.setattr(backup_purging, "AT_ONCE_BYTES", 0)
    done = purge(operator(), memory.id)
    assert done.certificate is not None
    said, scanned = done.certificate.remains[len(dialect().purge_leaves) :]
    assert scanned == f"backups/{made.path.name} contains a sentence of it"
    assert said.startswith("1 managed backups still hold it: the worker rewrites them")
    assert is_purge_owed()
    assert purge_backups(operator()) == BackupsPurged(1, (made.path.name,))
    assert not is_purge_owed()
    assert traces_in(bytes_of(made.path, tmp_path / "after")) == []
    assert purge_backups(operator()) == BackupsPurged(1)


def test_a_purge_that_was_killed_before_the_backups_is_made_up(
    remember: Remember, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = remember(SECRET)
    made = make_backup(operator())

    def killed(*args: object) -> None:
        raise SystemExit(9)

    monkeypatch.setattr("memories.lifecycle.purge.clear_outside_copies", killed)
    with pytest.raises(SystemExit):
        purge(operator(), memory.id)
    assert not Memory.objects.exists()
    assert traces_in(bytes_of(made.path, tmp_path / "before")) == TRACES
    assert is_purge_owed()
    purge_backups(operator())
    assert traces_in(bytes_of(made.path, tmp_path / "after")) == []


def test_a_question_that_found_it_is_blanked_in_backups_too(remember: Remember, tmp_path: Path) -> None:
    memory = remember(SECRET)
    assert recall(operator(), RecallRequest("who has the Vlkodlak manuscript", group="ledger")).items
    COUNTER.flush()
    made = make_backup(operator())
    purge(operator(), memory.id)
    assert traces_in(bytes_of(made.path, tmp_path / "after")) == []


def test_two_purges_at_once_each_end_their_own_mark(
    remember: Remember, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one process has committed its purge, another one clears the backups of its own."""
    memory, other = remember(SECRET), remember("The queue holds ten jobs.")
    made = make_backup(operator())
    clear = purging.clear_outside_copies

    def killed(*args: object) -> None:
        monkeypatch.setattr(purging, "clear_outside_copies", clear)
        purge(operator(), other.id)
        raise SystemExit(9)

    monkeypatch.setattr(purging, "clear_outside_copies", killed)
    with pytest.raises(SystemExit):
        purge(operator(), memory.id)
    assert traces_in(bytes_of(made.path, tmp_path / "before")) == TRACES
    assert is_purge_owed()
    purge_backups(operator())
    assert traces_in(bytes_of(made.path, tmp_path / "after")) == []
    assert not is_purge_owed()


def test_a_backup_that_cannot_be_read_is_named(remember: Remember) -> None:
    memory = remember(SECRET)
    made = make_backup(operator())
    made.path.write_bytes(made.path.read_bytes()[:500])
    done = purge(operator(), memory.id)
    assert done.certificate is not None
    assert done.certificate.remains == (
        *dialect().purge_leaves,
        f"the backups {made.path.name} cannot be read and may hold it: delete them",
    )


def test_without_backups_there_is_nothing_to_look_at(remember: Remember, alice: User, ledger: Group) -> None:
    done = purge(operator(), remember(SECRET).id)
    assert done.certificate is not None
    assert done.certificate.checked[0] == "no managed backups"
    assert not is_purge_owed()
