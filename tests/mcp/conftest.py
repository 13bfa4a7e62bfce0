"""Fixtures of the tests of tools."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pytest_django import Settings

from memories.recall.counting import COUNTER
from tests.mcp.people import alice, bob, charlie, groups, users
from tests.model import encoder

__all__ = ["alice", "bob", "charlie", "encoder", "groups", "users"]


@pytest.fixture(autouse=True)
def uncounted(settings: Settings) -> Iterator[None]:
    """Recalls of a test are not written by a timer, which would outlive it, nor by the next test."""
    retrieval = replace(settings.LOCI.retrieval, access_flush_s=0.0)
    settings.LOCI = replace(settings.LOCI, retrieval=retrieval)
    yield
    COUNTER._pending.clear()
