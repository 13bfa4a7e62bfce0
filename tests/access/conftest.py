"""People."""

from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures
