"""What the small forms of the proofs begin with."""

import pytest

from tests.fresh_homes import migrated


@pytest.fixture
def empty_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy migrated tables into each home of a proof, which saves running the migrations."""
    monkeypatch.setenv("LOCI_TEST_TABLES", str(migrated()))
