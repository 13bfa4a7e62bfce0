"""How far a withdrawn text reaches: one table for reject, retract and purge, read by the write path, recall and the docs."""

from enum import Enum
from typing import Final

from memories.models import TombstoneKind
from memories.types import Scope


class Place(Enum):
    """Where a withdrawn text is said again."""

    OWN = "in the group that withdrew it, with either scope"
    ELSEWHERE_GROUP = "in another group, for that group"
    ELSEWHERE_GLOBAL = "in another group, for all groups"


# By the withdrawn text's scope: does it bar the same text there?
BARS: Final[dict[Scope, dict[Place, bool]]] = {
    Scope.GROUP: {Place.OWN: True, Place.ELSEWHERE_GROUP: False, Place.ELSEWHERE_GLOBAL: False},
    Scope.GLOBAL: {Place.OWN: True, Place.ELSEWHERE_GROUP: False, Place.ELSEWHERE_GLOBAL: True},
}


class Likeness(Enum):
    """How a text is like a withdrawn one."""

    EXACT = "the same text, whatever its case, width or white space"
    DRESS = "the same letters and digits in other dress"
    INSIDE = "the same letters and digits as a statement in a longer text, which does not take it back"
    NEAR = "nearly the same meaning, and no word that makes it another fact"


class Effect(Enum):
    """What becomes of a text that a withdrawn one bars."""

    REFUSED = "refused"
    QUEUED = "waits for a curator"
    STORED = "stored"


# By what was done to the withdrawn text. Of a purged text only its marks are left, so nothing can be near it.
EFFECTS: Final[dict[TombstoneKind, dict[Likeness, Effect]]] = {
    TombstoneKind.REJECTED: {
        Likeness.EXACT: Effect.REFUSED, Likeness.DRESS: Effect.QUEUED, Likeness.INSIDE: Effect.QUEUED,
        Likeness.NEAR: Effect.QUEUED,
    },
    TombstoneKind.RETRACTED: {
        Likeness.EXACT: Effect.REFUSED, Likeness.DRESS: Effect.QUEUED, Likeness.INSIDE: Effect.QUEUED,
        Likeness.NEAR: Effect.QUEUED,
    },
    TombstoneKind.PURGED: {
        Likeness.EXACT: Effect.REFUSED, Likeness.DRESS: Effect.QUEUED, Likeness.INSIDE: Effect.QUEUED,
        Likeness.NEAR: Effect.STORED,
    },
}  # fmt: skip


def place_of(*, is_own: bool, scope: str) -> Place:
    """The place of a text: in the withdrawing group (`is_own`), or elsewhere with this scope."""
    if is_own:
        return Place.OWN
    return Place.ELSEWHERE_GLOBAL if scope == Scope.GLOBAL else Place.ELSEWHERE_GROUP


def bars(withdrawn_scope: str, *, is_own: bool, scope: str) -> bool:
    """True if a withdrawn text of this scope bars the same text there."""
    return BARS[Scope(withdrawn_scope)][place_of(is_own=is_own, scope=scope)]
