"""Possible duplicates and conflicts among memories that are stored already; only proposed, written by whoever asks.

The write path looks for them as a text comes in. What came by an import, before its vector, or under other settings has
not been looked at.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from access.visibility import Visibility
from memories.models import Link, LinkKind, Memory, Piece
from memories.search.base import Vector
from memories.store.neighbours import ComparedText, Neighbour, search_nears
from memories.store.pieces import as_vector, indexed_model
from memories.types import State, Trust, Type

Pair = tuple[str, int, int]  # kind and the two roots, the lower first

# What was turned down is nothing to decide about again.
DECIDABLE = frozenset(Trust.values) - {Trust.REJECTED, Trust.QUARANTINED}


@dataclass(frozen=True)
class FoundPair:
    """A link that is not there yet: what ties a memory to another, how near they are, and what told so."""

    memory: Memory
    other: Memory
    kind: LinkKind
    score: float
    reason: str
    evidence: dict[str, str]


def ties_of(memory: Memory, *, now: datetime | None = None) -> list[FoundPair]:
    """Give the ties that find_ties() finds for one memory."""
    return find_ties([memory], now=now)


def find_ties(memories: Sequence[Memory], *, now: datetime | None = None) -> list[FoundPair]:
    """Give the possible duplicates and conflicts of live memories, nearest first for each; writes nothing.

    Each is compared with the live ones of its type in its group and with the global ones. Two roots that a link of
    that kind ties already, in whatever status, are not proposed again, and a pair is proposed once in a call. What has
    no vector has no ties yet. One vector search and two small queries for each memory, two queries for all.
    """
    vectors = _vectors(memories)
    found: list[FoundPair] = []
    for memory in memories:
        if memory.key in vectors and memory.state == State.LIVE:
            found += _ties(memory, vectors[memory.key], now or timezone.now())
    return _unknown(found)


def _vectors(memories: Iterable[Memory]) -> dict[int, Vector]:
    """Give the vectors of the memories' first pieces, as the write path probes with them."""
    rows = Piece.objects.filter(
        memory__in=[memory.key for memory in memories],
        ordinal=0,
        embedding__isnull=False,
        model=indexed_model(),
    )
    return {key: as_vector(blob) for key, blob in rows.values_list("memory_id", "embedding")}


def _ties(memory: Memory, vector: Vector, now: datetime) -> list[FoundPair]:
    visibility = Visibility(
        groups=frozenset({memory.group_id}),
        include_global=True,
        states=frozenset({State.LIVE}),
        trusts=DECIDABLE,
        now=now,
        types=frozenset({memory.type}),
    )
    said = ComparedText(memory.content, memory.type, memory.valid_from, memory.valid_to)
    nears = search_nears(said, vector, visibility)
    return [tie for near in nears if (tie := _tie(memory, near)) is not None]


def _tie(memory: Memory, near: Neighbour) -> FoundPair | None:
    """Give the tie between two chains; events that were both stored on purpose are no duplicates of each other."""
    if near.link_kind is None or near.memory.root_key == memory.root_key:
        return None
    if memory.type == Type.EPISODIC and near.is_same:
        return None
    evidence = near.evidence
    if evidence and near.memory.key > memory.key:  # what was found later is the new one
        evidence = evidence | {"old": evidence["new"], "new": evidence["old"]}
    return FoundPair(memory, near.memory, near.link_kind, near.cosine, near.why, evidence)


def _unknown(ties: Sequence[FoundPair]) -> list[FoundPair]:
    """Leave out what a link ties already, and the second of two that say the same."""
    roots = {root for tie in ties for root in (tie.memory.root_key, tie.other.root_key)}
    kinds = (LinkKind.DUPLICATE, LinkKind.CONFLICT)
    links = Link.objects.filter(Q(source__in=roots) & Q(target__in=roots), kind__in=kinds) if roots else ()
    known = {_pair(link.kind, link.source_id, link.target_id) for link in links}
    fresh: dict[Pair, FoundPair] = {}
    for tie in ties:
        fresh.setdefault(_pair(tie.kind, tie.memory.root_key, tie.other.root_key), tie)
    return [tie for pair, tie in fresh.items() if pair not in known]


def _pair(kind: str, one: int, other: int) -> Pair:
    return str(kind), min(one, other), max(one, other)
