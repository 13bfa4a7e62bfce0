"""What the small forms of the proofs begin with."""

import pytest

from tests.fresh_homes import migrated


@pytest.fixture
def empty_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each home of a proof the migrated tables, instead of letting it run the migrations once more."""
    monkeypatch.setenv("LOCI_TEST_TABLES", str(migrated()))
