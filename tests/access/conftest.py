"""People, and the data of the matrix, made once for a file."""

import pytest

from tests.access.world import World, make_world
from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures


@pytest.fixture(scope="module")
def world(shared_rows: None) -> World:
    """Two groups with one object of each kind, and a token for each kind of caller."""
    return make_world()
