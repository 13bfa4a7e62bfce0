"""Random histories of every verb and every undo keep every promise; `make proof changes` runs ten thousand of them."""

import pytest

from bench.proof.suite import faults_by_kind
from tests.changes.found import is_known
from tests.changes.histories import fewer
from tests.changes.tally import report_path, seeds_to_try, try_seeds
from tests.changes.world import Step

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.mark.timeout(600)
def test_changes_keep_every_promise() -> None:
    if path := report_path():
        path.write_text(try_seeds(seeds_to_try()).as_json(), encoding="utf-8")
        return
    tally = try_seeds(seeds_to_try(), known=is_known)
    assert tally.undone >= tally.histories / 2
    assert {kind: found for kind, found in tally.faults.items() if not is_known(kind)} == {}


def test_a_history_is_made_small() -> None:
    steps: list[Step] = [("agent", "forget", text) for text in "abcdefghij"]
    needed = [steps[2], steps[7]]
    assert fewer(steps, lambda tried: all(step in tried for step in needed)) == needed


def test_the_proof_shows_the_first_history_of_each_kind_of_fault() -> None:
    later, first = (
        {"faults": {"gap": {"count": 2, "seed": seed, "history": str(seed)}}} for seed in (900, 7)
    )
    assert faults_by_kind([later, first]) == {"gap": {"count": 4, "seed": 7, "history": "7"}}
