"""People, the real model loaded once, and a second store in a home of its own."""

from pathlib import Path

import pytest

from memories.embedding import Encoder, ModelUnavailable, get_encoder
from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures
from tests.sources.other_store import OtherStore


@pytest.fixture(scope="session", autouse=True)
def encoder() -> Encoder | None:
    """Give the encoder once it is loaded; None where there is none."""
    try:
        return get_encoder(timeout_s=60)
    except ModelUnavailable:
        return None


@pytest.fixture
def other(tmp_path: Path) -> OtherStore:
    """Give an empty store in a home folder of its own, worked on by processes of its own."""
    return OtherStore.made(tmp_path / "other")
