"""People, and the real model, loaded once for this test process."""

from collections.abc import Iterator

import pytest

from memories.embedding import Encoder, ModelUnavailable, get_encoder
from memories.recall.counting import COUNTER
from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures


@pytest.fixture(scope="session", autouse=True)
def encoder() -> Encoder | None:
    """Give the encoder once it is loaded, so that no store finds it half loaded; None where there is none."""
    try:
        return get_encoder(timeout_s=60)
    except ModelUnavailable:
        return None


@pytest.fixture(autouse=True)
def no_waiting_recalls() -> Iterator[None]:
    """Recalls that one test did not write must not be written in the next, whose groups are others."""
    yield
    with COUNTER._lock:
        COUNTER._pending = []
