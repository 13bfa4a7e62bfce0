"""What the small forms of the proofs begin with."""

import pytest

from bench.proof.home import make_home
from tests.fresh_homes import made_once


@pytest.fixture
def prepared_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each home of a proof is a copy of one that is made once."""
    monkeypatch.setenv("LOCI_TEST_PROOF_HOME", str(made_once("proof-home", make_home)))
