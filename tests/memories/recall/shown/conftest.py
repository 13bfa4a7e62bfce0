"""People and the model, as in tests/memories."""

from tests.memories.conftest import encoder  # noqa: F401 - a fixture
from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures
