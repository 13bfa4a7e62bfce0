"""What the small forms of the proofs begin with."""

import pytest

from bench.proof.home import make_home
from tests.fresh_homes import made_once


@pytest.fixture
def prepared_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each home of a proof is a copy of one that is made once."""
    copied_homes(monkeypatch)


def copied_homes(patch: pytest.MonkeyPatch) -> None:
    """Let make_home() copy one home instead of migrating each."""
    patch.setenv("LOCI_TEST_PROOF_HOME", str(made_once("proof-home", make_home)))
