"""What a rejection or a quarantine leaves behind: a tombstone of the text, lifted again when the decision is taken back.

A candidate that repeats a memory which counts is rejected without one: recall would leave out the right memory too.
"""

from collections.abc import Iterable
from typing import Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from access.actor import Actor
from access.visibility import Visibility
from memories.language.dress import undressed
from memories.models import Memory, Piece, TombstoneKind
from memories.models.text_lookup import has_text, newest
from memories.search.base import search_index
from memories.store.pieces import as_vector, indexed_model
from memories.store.withdrawn.left_out import linked_roots
from memories.store.withdrawn.tombstones import find_tombstones, lay_tombstone, lift
from memories.types import WITHDRAWN_TRUSTS, State, Trust

COUNTING: Final = (Trust.ACTIVE, Trust.VERIFIED)
MAX_NEAR: Final = 32  # nearest memories whose texts are compared without their dress


def follow_trust(actor: Actor, memory: Memory, *, reason: str, same: Memory | None = None) -> None:
    """Lay or lift the tombstone of a memory whose trust a person has just set; inside the transaction.

    `same` counts and has the same text: nothing is laid.
    """
    if memory.trust not in WITHDRAWN_TRUSTS:
        lift_rejection(actor, memory)
    elif same is None:
        lay_tombstone(actor, memory, kind=TombstoneKind.REJECTED, reason=reason)


def lift_rejection(actor: Actor, memory: Memory) -> None:
    """Lift the tombstone that a rejection of the memory's text laid; former texts of its chain stay barred."""
    mark = find_tombstones(memory.group, [memory.content]).get(memory.content)
    if mark is not None and mark.kind == TombstoneKind.REJECTED:
        lift(actor, mark)


def find_counting_same(memory: Memory) -> Memory | None:
    """A live, active or verified memory of the same group that has this text, exactly or in other dress."""
    others = Memory.objects.filter(
        group=memory.group_id, state=State.LIVE, trust__in=COUNTING
    ).exclude(key=memory.key)  # fmt: skip
    exact = newest(others.filter(has_text(memory.content_hash, memory.fold_hash)))
    bare = undressed(memory.content)
    if exact is not None or not bare:
        return exact
    return next((row for row in likely_same(memory, others) if undressed(row.content) == bare), None)


def likely_same(memory: Memory, others: QuerySet[Memory]) -> Iterable[Memory]:
    """Those of `others` that a person or the vectors connect with the memory; all of them if it has no vector yet."""
    piece = Piece.objects.filter(memory=memory, embedding__isnull=False, model=indexed_model()).first()
    if piece is None or piece.embedding is None:
        return others.order_by("key").iterator()
    visibility = Visibility(
        groups=frozenset({memory.group_id}), include_global=True, states=frozenset({State.LIVE}),
        trusts=frozenset(COUNTING), now=timezone.now(),
    )  # fmt: skip
    near = [hit.key for hit in search_index().nearest(as_vector(piece.embedding), visibility, limit=MAX_NEAR)]
    ends = linked_roots(memory)
    return others.filter(Q(key__in=[*near, *ends]) | Q(root__in=ends)).order_by("key")
