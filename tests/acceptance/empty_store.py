"""A store that gives nothing back, which most promises about absence would take for a good one.

`python -m pytest -p tests.acceptance.empty_store tests/acceptance` puts it in the place of the real one: a promise that
still passes there has no positive control.
"""

import sys
from typing import Any

import pytest
from django.db.models import Q

READING = ("memories.chains", "memories.context_pack", "memories.inspect", "memories.listing", "memories.recall",
           "memories.past", "sources.exporting")  # fmt: skip


def nothing(visibility: Any) -> Q:
    """Stand for the rows that somebody may see: none."""
    return Q(pk__in=[])


def no_candidates(*args: Any, **kwargs: Any) -> list[Any]:
    """Stand for what a search finds: nothing."""
    return []


@pytest.fixture(autouse=True)
def _empty_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in READING:
        if hasattr(sys.modules[name], "as_q"):
            monkeypatch.setattr(f"{name}.as_q", nothing)
    monkeypatch.setattr("memories.recall.find_candidates", no_candidates)
