"""People, the real model loaded once, and a second store in a home of its own."""

from pathlib import Path

import pytest

from tests.model import encoder  # noqa: F401 - a fixture
from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures
from tests.sources.other_store import OtherStore


@pytest.fixture
def other(tmp_path: Path) -> OtherStore:
    """An empty store in its own home folder, used by separate processes."""
    return OtherStore.made(tmp_path / "other")
