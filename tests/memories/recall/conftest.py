"""People, and the model, as the memories room has them."""

from tests.memories.conftest import encoder  # noqa: F401 - a fixture
from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures
