"""A store of version 0.2.0 opens: rows of every state and trust, words, vectors, log and chain as before."""

import json
from pathlib import Path

import pytest

from tests.maintenance.test_squashed_migrations import chains_of, restored
from tests.settings import REPOSITORY

STORE = REPOSITORY / "tests" / "fixtures" / "store-0.2.0.zip"  # made by tests/fixtures/make_store.py
pytestmark = pytest.mark.model


def test_a_store_of_0_2_0_opens_with_all_that_is_in_it(tmp_path: Path) -> None:
    with restored(STORE, tmp_path / "home") as loci:
        examined = loci("doctor")
        assert (examined.returncode, examined.stdout.splitlines()[-1]) == (0, "All is well.")
        chains = {line[0]: line[-1] for line in chains_of(loci)}
        assert chains == {"legacy": "unbroken", "instance": "unbroken"}
        stats = json.loads(loci("stats", "--group", "ledger", "--json").stdout)
        assert (stats["memories"], stats["live"]) == (28, 23)
        for question, answer in (
            ("who owns the invoice service", "Marta owns the invoice service."),
            ("which port", "The port is 9001 🦉."),
        ):
            found = json.loads(loci("recall", question, "--group", "ledger", "--json").stdout)
            assert found["results"][0]["content"] == answer
        refused = loci("remember", "The door code of the lab is 7719.", "--group", "ledger")
        assert refused.returncode != 0
