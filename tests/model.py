"""The real model, loaded once for a test process."""

import pytest

from memories.embedding import Encoder, ModelUnavailable, get_encoder


@pytest.fixture(scope="session", autouse=True)
def encoder() -> Encoder | None:
    """The encoder, once loaded, so that no store finds it half loaded; None if there is none."""
    try:
        return get_encoder(timeout_s=60)
    except ModelUnavailable:
        return None
