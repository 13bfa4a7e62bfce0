"""The proof "hostile" in small: real processes, a short load, and a full disk where one may be mounted."""

import math
from pathlib import Path

import pytest

from bench.proof.hostile import load
from bench.proof.hostile.disk import prove_disk
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
    assert finding.numbers["recalls beside the loop"] >= 8
    assert finding.numbers["stores accepted"] >= 16


def test_a_full_disk_and_damaged_pages_are_named(tmp_path: Path) -> None:
    finding = prove_disk(Workshop(tmp_path, is_quick=True))
    assert finding.faults == ()
    assert finding.numbers["damaged databases"] == 1
