"""People, and the real model, loaded once for this test process."""

from collections.abc import Iterator

import pytest

from memories.recall.counting import COUNTER
from tests.model import encoder  # noqa: F401 - a fixture
from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures


@pytest.fixture(autouse=True)
def no_waiting_recalls() -> Iterator[None]:
    """Recalls that one test did not write must not be written in the next, whose groups are others."""
    yield
    with COUNTER._lock:
        COUNTER._pending = []
