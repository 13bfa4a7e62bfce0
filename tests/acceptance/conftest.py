"""People with their interfaces, the real model loaded once, an adjustable clock, and empty folders."""

from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from django.contrib.auth.models import User

from maintenance.backups.folder import backups_folder
from memories.embedding import Encoder, get_encoder
from tests.acceptance.house import House
from tests.maintenance.folders import empty_folder
from tests.people import alice, bob, charlie, garden, ledger

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]
Clock = Callable[[datetime], None]


@pytest.fixture(scope="session", autouse=True)
def encoder() -> Encoder:
    """The encoder, once loaded: a promise kept without vectors proves nothing."""
    return get_encoder(timeout_s=60)


@pytest.fixture
def no_backups() -> Iterator[None]:
    """Begin and end without backups."""
    empty_folder(backups_folder())
    yield
    empty_folder(backups_folder())


@pytest.fixture
def house(alice: User, ledger: object, garden: object, bob: object) -> House:
    """Alice, a superuser with a browser and an agent, in a store of two groups."""
    return House.of(alice)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Move Loci's clock to a moment."""

    def move(moment: datetime) -> None:
        monkeypatch.setattr("django.utils.timezone.now", lambda: moment)

    return move
