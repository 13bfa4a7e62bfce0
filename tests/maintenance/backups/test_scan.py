"""After a purge, every file of LOCI_HOME is searched for whole sentences of the text, and those that hold one are named."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import settings

from access.tokens import operator
from maintenance.backups import scan
from maintenance.backups.sqlite_copies import database_path
from memories.lifecycle.purge import Certificate
from memories.lifecycle.verbs import purge
from memories.models import Memory
from memories.store import places
from storage.dialect import dialect
from tests.maintenance.folders import empty_folder

Remember = Callable[..., Memory]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
FIRST = "Quokkazebu rides to Xanthippolis with the Vlkodlak manuscript."
SECOND = "The door code of the „Łódź“ archive is 7719-4410."
BACKUPS = "backups"


@pytest.fixture(autouse=True)
def files() -> Iterator[Path]:
    """LOCI_HOME with empty folders."""
    home = Path(settings.LOCI.home)
    for folder in (BACKUPS, *scan.FOLDERS):
        empty_folder(home / folder)
    yield home
    for folder in (BACKUPS, *scan.FOLDERS):
        empty_folder(home / folder)


def purged(memory: Memory) -> Certificate:
    done = purge(operator(), memory.id)
    assert done.certificate is not None
    return done.certificate


def test_a_clean_store_is_certified(remember: Remember) -> None:
    certificate = purged(remember(f"{FIRST} {SECOND}"))
    assert (certificate.scan, certificate.remains) == ("done", dialect().purge_leaves)
    assert certificate.checked[-1].endswith("scanned for its sentences")


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("logs/web.log", f"12:00 said: {SECOND}\n"),
        ("logs/archive/old.log", "x" * (places.CHUNK_BYTES - 20) + FIRST),
        (
            "queue/out/message.json",
            '{"text": "The door code of the \\u201e\\u0141\\u00f3d\\u017a\\u201c archive is 7719-4410."}',
        ),
    ],
)
def test_a_file_that_holds_a_sentence_is_named(
    remember: Remember, files: Path, place: str, content: str
) -> None:
    path = files / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    certificate = purged(remember(f"{FIRST} {SECOND}"))
    assert certificate.remains == (*dialect().purge_leaves, f"{place} contains a sentence of it")
    assert path.read_text(encoding="utf-8") == content


def test_a_short_text_and_a_large_store_are_not_certified(
    remember: Remember, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "logs" / "web.log").write_text("Started.\n")
    short = purged(remember("Code 7719."))
    monkeypatch.setattr(scan, "SCAN_BYTES", 1)
    large = purged(remember(FIRST))
    assert (short.scan, large.scan) == ("left out", "left out")
    assert short.remains[-1].endswith("logs, hooks and backups were not scanned: the text is too short")
    assert "logs, hooks and backups were not scanned: they have " in large.remains[-1]


def test_a_sentence_across_two_chunks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "CHUNK_BYTES", 16)
    needles = scan.needles_of([FIRST])
    for start in range(40):
        stream = BytesIO(b"." * start + FIRST.encode() + b"." * 40)
        assert places.contains_any(stream, needles)
    assert not places.contains_any(BytesIO(FIRST[1:-2].encode() * 3), needles)


# Takes the whole range of bytes that SQLite's readers lock, or fails.
TAKE_ALL = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
"""


@pytest.mark.sqlite(reason="bytes of the database's file and its write-ahead log")
def test_a_scan_leaves_the_locks_of_open_connections(remember: Remember) -> None:
    """Without them another process takes the database for unused, and removes the log that this one writes to."""
    memory = remember(f"{FIRST} {SECOND}")
    take = [sys.executable, "-c", TAKE_ALL, str(database_path())]
    assert subprocess.run(take, capture_output=True, check=False).returncode == 1
    assert purged(memory).scan == "done"
    assert subprocess.run(take, capture_output=True, check=False).returncode == 1


def test_a_file_that_sqlite_has_open_is_read_whole_or_reported(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with pytest.raises(FileNotFoundError), scan.open_in_child(file) as stream:
        stream.read()
    file.write_bytes(b"x" * 3_000_000 + b"end")
    with scan.open_in_child(file) as stream:
        assert stream.read().endswith(b"xend")
    with scan.open_in_child(file) as stream:  # enough was seen
        assert stream.read(3) == b"xxx"
    with pytest.raises(OSError, match="cannot be read"), scan.open_in_child(tmp_path) as stream:
        stream.read()


@pytest.mark.parametrize("name", ["mine.zip", "loci-half.zip.part", "damaged-20260101T000000/memory.db"])
def test_what_somebody_else_put_beside_the_backups_is_named(
    remember: Remember, files: Path, name: str
) -> None:
    memory = remember(f"{FIRST} {SECOND}")
    path = files / BACKUPS / name
    path.parent.mkdir(exist_ok=True)
    if name.endswith(".zip"):
        with ZipFile(path, "w") as archive:
            archive.writestr("memory.db", f"SQLite {FIRST}")
    else:
        path.write_text(f"SQLite {FIRST}", encoding="utf-8")
    certificate = purged(memory)
    assert any(name in line for line in certificate.remains), certificate.remains
