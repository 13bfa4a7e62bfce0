"""The proofs "hostile" and "poison" in small: real processes, a short load, and a full disk where one may be mounted."""

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.proof.home import make_home
from bench.proof.hostile import load, reads
from bench.proof.hostile.disk import prove_disk
from bench.proof.hostile.poison.prove import prove_poison
from bench.proof.hostile.stolen_disk import Search, Sentence, Ways, prove_encryption
from bench.proof.proof import Workshop
from tests.loci_site.server.conftest import copied_homes

pytestmark = [
    pytest.mark.model,
    pytest.mark.server,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("prepared_home"),
]


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[load.Asker]:
    """One person's client on a running `up`, for both loads."""
    folder = tmp_path_factory.mktemp("asked")
    with pytest.MonkeyPatch.context() as patch:
        copied_homes(patch)
        home = make_home(folder / "home")
    with load.asking(home, folder / "up.log", load.QUICK_S, load.LIMITS) as asker:
        yield asker


# Whoever else works on the machine makes recalls slow: only the proof judges times and megabytes.
def test_recalls_are_answered_while_others_store_texts_of_marks(asker: load.Asker) -> None:
    numbers = load.measure(asker, is_quick=True)
    assert numbers["recalls beside the loop"] >= 4
    assert numbers["stores accepted"] >= 3
    assert numbers["stores answered otherwise"] == 0


def test_recalls_are_answered_while_another_person_asks_for_hostile_texts(
    asker: load.Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "LIMIT_RECALL", math.inf)
    reads.store_shape(asker.client, "short texts", 1)  # which makes the group
    finding = reads.judge(
        {shape: reads.measure(asker, shape, is_quick=True) for shape in [*reads.SHAPES][:2]}
    )
    assert finding.faults == ()
    assert finding.numbers["readers' answers"] >= 2


def test_no_lie_of_an_agent_stands_before_a_verified_fact(tmp_path: Path) -> None:
    finding = prove_poison(Workshop(tmp_path, is_quick=True))
    assert finding.faults == ()
    assert finding.numbers["questions"] >= 24 * 4
    assert finding.numbers["true facts beside verified ones: first for their own question"] >= 3


def test_a_full_disk_and_damaged_pages_are_named(tmp_path: Path) -> None:
    finding = prove_disk(Workshop(tmp_path, is_quick=True))
    assert finding.faults == ()
    assert finding.numbers["damaged databases"] == 1


@pytest.mark.sqlite(reason="PostgreSQL's operator encrypts its disk")
@pytest.mark.plain(reason="it encrypts a plain store")
def test_no_file_of_an_encrypted_store_shows_a_sentence_in_use_or_after_a_kill(tmp_path: Path) -> None:
    finding = prove_encryption(Workshop(tmp_path, is_quick=True))
    assert finding.faults == ()
    assert finding.numbers["files within backups"] == 4  # database, ids, manifest and the key of masks
    assert finding.numbers["sentences found in the decrypted files"] == 30


def test_the_search_finds_a_name_in_any_file_and_within_archives(tmp_path: Path) -> None:
    key_file = tmp_path / "db.key"
    key_file.write_text("5E" * 32)
    folder = tmp_path / "home"
    folder.mkdir()
    sentence = Sentence("Brafen keeps the seal of Qualov.", ("brafen", "qualov"))
    ways = Ways([sentence], [], [], [], [], [])
    (folder / "clean").write_text("Nothing of it.")
    assert Search.of(folder, ways, key_file).shown == []
    (folder / "index").write_bytes(b"\x00qualov\x00")
    (folder / "wide").write_bytes("BRAFEN".encode("utf-16-le"))
    (folder / "settings").write_text(f"key = {'5e' * 32}")
    with zipfile.ZipFile(folder / "backup.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("memory.db", sentence.text * 9)
    found = Search.of(folder, ways, key_file)
    assert [line.split(" shows ")[0] for line in found.shown] == [
        "backup.zip!memory.db",
        "index",
        "settings",
        "wide",
    ]
    assert (found.files, found.in_backups) == (6, 1)
