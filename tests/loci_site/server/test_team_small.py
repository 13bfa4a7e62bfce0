"""The proof `team` in small: a curator triages a whole queue over HTTP; it notices what is slow or grows."""

from pathlib import Path

import pytest

from bench.proof.proof import Workshop
from bench.proof.team.prove import _grown, _slow, prove_team

# Whoever else works on the machine may make this slow, not wrong.
pytestmark = [
    pytest.mark.model,
    pytest.mark.server,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("prepared_home"),
]


def test_a_deck_is_triaged_and_the_last_decisions_taken_back(tmp_path: Path) -> None:
    found = prove_team(Workshop(tmp_path, is_quick=True))
    assert found.faults == ()
    assert found.numbers["cards decided"] == 20
    assert "undo (20 times)" in found.numbers


def test_what_is_slow_is_named() -> None:
    took = {
        "card": [10.0] * 200,
        "decide: approve": [10.0] * 50 + [130.0] * 50,
        "list": [190.0] * 9,
        "review": [250.0],
    }
    assert _slow(took) == [
        "decide: approve: the slowest in a hundred took 130 ms, more than 100",
        "review: the slowest in a hundred took 250 ms, more than 200",
    ]


def test_a_page_whose_queries_grow_is_named() -> None:
    counts = {"small": {"list": 5, "memory": 14}, "large": {"list": 5, "memory": 40}}
    assert _grown(counts) == ["memory: 14 queries in the small store, 40 in the large one"]
