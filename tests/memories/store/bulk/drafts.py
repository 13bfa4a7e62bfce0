"""Drafts as read from files, and their outcomes."""

from typing import Any

from memories.draft import Draft
from memories.store.bulk import BatchResult


def fact(text: str, ref: str = "", /, **fields: Any) -> Draft:
    """A fact from the file "wiki"."""
    return Draft(text, **{"scope": "group", "source": "wiki", "source_ref": ref} | fields)


def counts(result: BatchResult) -> tuple[int, int, int, int, int]:
    """How many were created, reinforced, unchanged, queued, refused."""
    return result.created, result.reinforced, result.unchanged, result.queued, len(result.refused)
