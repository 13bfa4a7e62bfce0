"""A store that gives nothing back, which most promises about absence would take for a good one.

`python -m pytest -p tests.acceptance.empty_store tests/acceptance` puts it in the place of the real one: a promise that
still passes there has no positive control.
"""

from importlib import import_module
from typing import Any

import pytest
from django.db.models import Q

READING = ("memories.queries.versions", "memories.sessions.context_pack", "memories.browse.inspection", "memories.browse.listing", "memories.recall",
           "memories.queries.as_of", "sources.exporting")  # fmt: skip


def nothing(visibility: Any) -> Q:
    """Stand for the rows that somebody may see: none."""
    return Q(pk__in=[])


def no_candidates(*args: Any, **kwargs: Any) -> list[Any]:
    """Stand for what a search finds: nothing."""
    return []


@pytest.fixture(autouse=True)
def _empty_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in map(import_module, READING):
        if hasattr(module, "as_q"):
            monkeypatch.setattr(module, "as_q", nothing)
    # Where it is used: a name that was imported is patched there.
    monkeypatch.setattr("memories.recall.pipeline.find_candidates", no_candidates)
