"""Fixtures of the tests of tools."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pytest_django import Settings

from memories.embedding import Encoder, ModelUnavailable, get_encoder
from memories.recall.counting import COUNTER
from tests.mcp.people import alice, bob, charlie, groups, users

__all__ = ["alice", "bob", "charlie", "groups", "users"]


@pytest.fixture(autouse=True)
def uncounted(settings: Settings) -> Iterator[None]:
    """Recalls of a test are not written by a timer, which would outlive it, nor by the next test."""
    retrieval = replace(settings.LOCI.retrieval, access_flush_s=0.0)
    settings.LOCI = replace(settings.LOCI, retrieval=retrieval)
    yield
    COUNTER._pending.clear()


@pytest.fixture(scope="session", autouse=True)
def encoder() -> Encoder | None:
    """Give the encoder once it is loaded, so that no call finds it half loaded; None where there is none."""
    try:
        return get_encoder(timeout_s=60)
    except ModelUnavailable:
        return None
