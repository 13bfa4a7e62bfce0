"""The proofs "hostile", "hostile-reads" and "encryption" in small: real processes, a short load, and a full disk where one may be mounted."""

import math
import zipfile
from pathlib import Path

import pytest

from bench.proof.hostile import load, reads
from bench.proof.hostile.disk import prove_disk
from bench.proof.hostile.stolen_disk import Search, Sentence, Ways, prove_encryption
from bench.proof.proof import Workshop

pytestmark = [
    pytest.mark.model,
    pytest.mark.server,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("prepared_home"),
]


def test_recalls_are_answered_while_others_store_texts_of_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever else works on the machine makes recalls slow: only the proof judges times and megabytes.
    monkeypatch.setattr(load, "LIMIT_RECALL", math.inf)
    monkeypatch.setattr(load, "LIMIT_MEMORY", math.inf)
    finding = load.prove_load(Workshop(tmp_path, is_quick=True))
    assert finding.faults == ()
    assert finding.numbers["recalls beside the loop"] >= 4
    assert finding.numbers["stores accepted"] >= 3


def test_recalls_are_answered_while_another_person_asks_for_hostile_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "LIMIT_RECALL", math.inf)  # as above
    finding = reads.prove_reads(Workshop(tmp_path, is_quick=True))
    assert finding.faults == ()
    assert finding.numbers["readers' answers"] >= 2


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
