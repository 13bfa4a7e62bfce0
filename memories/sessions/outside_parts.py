"""Sections of a context pack that packages above this one add, such as files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from access.additions import additions
from access.models import Group
from memories.sessions.sections import WholePart

# Of the pack's budget, for each.
OUTSIDE_SHARE: Final = 0.2


@dataclass(frozen=True)
class OutsidePart:
    """A part's kind, which has a share in SHARES, its title, and its text for a group, a query and a number of tokens."""

    kind: str
    title: str
    find: Callable[[Group, str, int], str]


def find_outside_parts(group: Group, query: str, budget: int) -> list[WholePart]:
    """The registered parts with text for the query; none without a query."""
    if not query.strip():
        return []
    room = int(budget * OUTSIDE_SHARE)
    return [
        WholePart(part.kind, part.title, part.find(group, query, room))
        for part in additions("parts of a context pack")
    ]
