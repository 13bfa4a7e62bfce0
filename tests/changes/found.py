"""Faults that histories have found: the smallest history of each, and the kinds that random histories may show until then.

Empty `why` once a fault is mended: its history then holds like any other, and no history may show its kinds.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from tests.changes.histories import History


@dataclass(frozen=True)
class Found:
    """A fault: the history that shows it, its kind, what is wrong today, and patterns of the kinds that it takes elsewhere."""

    history: History
    kind: str
    why: str = ""
    also: tuple[str, ...] = ()


FOUND: Final[dict[str, Found]] = {}


def is_known(kind: str) -> bool:
    """True for a kind of fault that is not mended yet."""
    return any(
        fnmatchcase(kind, pattern)
        for found in FOUND.values()
        if found.why
        for pattern in (found.kind, *found.also)
    )
