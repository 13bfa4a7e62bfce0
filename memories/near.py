"""What is already remembered near a new text: probed before the transaction, completed inside it."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import Max, Q
from django.utils import timezone

from access.visibility import Visibility
from memories.chains import has_lapsed
from memories.dedup import Comparison, Sameness, compare
from memories.index.base import Vector, search_index
from memories.models import Memory, Piece
from memories.pieces import as_vector, indexed_model
from memories.types import State, Trust

PROBE_LIMIT = 16


@dataclass(frozen=True)
class Near:
    """A memory near a new text: how near (cosine), and whether it says the same."""

    memory: Memory
    cosine: float
    comparison: Comparison

    @property
    def id(self) -> UUID:
        """The memory's name outside."""
        return self.memory.id

    @property
    def is_same(self) -> bool:
        """True where both say the same."""
        return self.comparison.sameness is Sameness.SAME

    @property
    def is_retracted(self) -> bool:
        """True where the near one was withdrawn as wrong."""
        return self.memory.state == State.RETRACTED


@dataclass(frozen=True)
class Probe:
    """What was found near, and the newest memory's key at that time: rows above it have not been looked at."""

    nears: tuple[Near, ...]
    newest: int


def probe(content: str, vector: Vector | None, *, groups: frozenset[int], type_: str) -> Probe:
    """Search the group's memories and the global ones of the same type for near ones, retracted ones included."""
    newest = Memory.objects.aggregate(newest=Max("key"))["newest"] or 0
    if vector is None:
        return Probe((), newest)
    visibility = Visibility(
        groups=groups,
        include_global=True,
        states=frozenset({State.LIVE, State.RETRACTED}),
        trusts=frozenset(Trust.values),
        now=timezone.now(),
        types=frozenset({type_}),
    )
    hits = [
        hit for hit in search_index().nearest(vector, visibility, limit=PROBE_LIMIT) if _is_near(hit.score)
    ]
    found = Memory.objects.select_related("group").in_bulk([hit.key for hit in hits])
    pairs = [(found[hit.key], hit.score) for hit in hits if hit.key in found]
    return Probe(_compared(content, pairs), newest)


def later_nears(
    content: str, vector: Vector | None, *, since: int, group: int, type_: str
) -> tuple[Near, ...]:
    """Compare with what was written after a probe; inside the transaction that writes."""
    if vector is None:
        return ()
    pieces = Piece.objects.filter(
        Q(memory__group=group) | Q(memory__scope="global"),
        memory__key__gt=since,
        memory__type=type_,
        memory__state=State.LIVE,
        embedding__isnull=False,
        model=indexed_model(),
    ).select_related("memory__group")
    pairs: dict[int, tuple[Memory, float]] = {}
    for piece in pieces:
        cosine = float(np.dot(as_vector(piece.embedding), vector))
        if _is_near(cosine) and cosine > pairs.get(piece.memory_id, (None, 0.0))[1]:
            pairs[piece.memory_id] = (piece.memory, cosine)
    return _compared(content, pairs.values())


def _compared(content: str, pairs: Iterable[tuple[Memory, float]]) -> tuple[Near, ...]:
    same = settings.LOCI.storage.same_cosine
    now = timezone.now()
    counting = [(m, cosine) for m, cosine in pairs if m.state != State.LIVE or not has_lapsed(m, now)]
    nears = [Near(m, c, compare(m.content, content, cosine=c, same_cosine=same)) for m, c in counting]
    return tuple(sorted(nears, key=lambda near: -near.cosine))


def _is_near(cosine: float) -> bool:
    return cosine >= float(settings.LOCI.storage.near_cosine)
