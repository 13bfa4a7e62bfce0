"""People, memories, and a time without a model."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import override_settings
from pytest_django import Settings

from access.tokens import operator
from maintenance.backups.folder import backups_folder
from memories.draft import Draft
from memories.models import Memory
from memories.store import store
from tests.maintenance.folders import empty_folder
from tests.people import alice, bob, charlie, garden, ledger  # noqa: F401 - fixtures

Remember = Callable[..., Memory]


@pytest.fixture
def remember(ledger: object) -> Remember:  # noqa: F811
    """Store a text in `ledger` as the operator; give the memory."""

    def remembered(content: str, **more: object) -> Memory:
        stored = store(operator(), Draft(content, group="ledger", **more))
        assert stored.memory is not None
        return stored.memory

    return remembered


@pytest.fixture
def no_backups() -> Iterator[None]:
    """The folder of backups is empty before and after."""
    empty_folder(backups_folder())
    yield
    empty_folder(backups_folder())


@pytest.fixture
def no_model(settings: Settings, tmp_path: Path) -> Callable[[], AbstractContextManager[None]]:
    """A stretch of the test in which Loci's home holds no model."""
    empty = replace(settings.LOCI, home=tmp_path)

    @contextmanager
    def without() -> Iterator[None]:
        with override_settings(LOCI=empty):
            yield

    return without
