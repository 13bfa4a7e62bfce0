"""Possible duplicates and conflicts of memories that came to a group by a move, linked for its Review."""

from collections.abc import Sequence
from typing import Final

from django.utils.translation import gettext, ngettext

from access.actor import Actor
from memories.models import Memory
from memories.review.find_pairs import find_pairs
from memories.store.for_review import link
from memories.types import Type

MAX_COMPARED: Final = 200  # of one move; each costs a vector search inside its transaction


def link_moved_pairs(actor: Actor, moved: Sequence[Memory]) -> tuple[str, ...]:
    """Link moved memories to near ones of their new group, and say how many; the same text does not move at all.

    The cycle compares new memories only, and these are as old as before.
    """
    lasting = [memory for memory in moved if memory.type != Type.EPISODIC]
    pairs = find_pairs(lasting[:MAX_COMPARED])
    for pair in pairs:
        link(
            actor, pair.memory, pair.other,
            kind=pair.kind, score=pair.score, reason=pair.reason, evidence=pair.evidence,
        )  # fmt: skip
    left = len(lasting) - MAX_COMPARED
    lines = []
    if pairs:
        line = ngettext(
            "the Review gets {count} link to what is near there",
            "the Review gets {count} links to what is near there",
            len(pairs),
        )
        lines.append(line.format(count=len(pairs)))
    if left > 0:
        lines.append(
            gettext("{left} of them were not compared with the memories already there").format(left=left)
        )
    return tuple(lines)
