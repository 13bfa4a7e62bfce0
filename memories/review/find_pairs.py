"""Find possible duplicates and conflicts among stored memories; link_near() writes the links too.

The write path compares each text as it comes in. This finds the pairs that it has not compared: imported memories, those
stored without a vector or under other settings, and those that come back or move to what was stored meanwhile.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from access.actor import Actor
from access.visibility import Visibility
from guard.judge import JudgeError, JudgeUse, find_judge
from memories.language.contradictions import ConflictKind, Contradiction, find_contradiction
from memories.models import Link, LinkKind, Memory, Piece
from memories.search.rows import Vector
from memories.store.for_review import link
from memories.store.neighbours import ComparedText, Contradicts, Neighbour, search_neighbours
from memories.store.pieces import as_vector, indexed_model
from memories.types import WITHDRAWN_TRUSTS, State, Trust, Type

_PairKey = tuple[str, int, int]  # kind and the two roots, the lower first

# Rejected and quarantined memories have been decided about.
_DECIDABLE = frozenset(Trust.values) - WITHDRAWN_TRUSTS
MAX_COMPARED: Final = 200  # of one change; each costs a vector search inside its transaction
_JUDGED_S: Final = 60.0  # for the judge in one call, so that a slow one does not end the cycle's step
_SIDE_CHARS: Final = 80  # of each text that a judge compared, as the reason


@dataclass(frozen=True)
class FoundPair:
    """A proposed link between two memories: its kind, their cosine similarity, the reason and the evidence."""

    memory: Memory
    other: Memory
    kind: LinkKind
    score: float
    reason: str
    evidence: dict[str, str]


def find_pairs(
    memories: Sequence[Memory],
    *,
    now: datetime | None = None,
    group: int | None = None,
    is_judged: bool = False,
) -> list[FoundPair]:
    """Possible duplicates and conflicts of live memories, nearest first for each; writes nothing.

    Each is compared with the live memories of its type in its group and with the global ones; one of another group than
    `group`, if that is named, with those of `group` alone. Two roots that already have a link of that kind, in whatever
    status, are not proposed again, and a pair is proposed once per call. A memory without a vector is skipped. One vector search and two small queries per memory, two queries for all.
    `is_judged`: where the rules find no contradiction, the judge of conflicts is asked, which takes long.
    """
    contradicts = _or_judged() if is_judged and settings.LOCI.judges.folders else find_contradiction
    vectors = _first_vectors(memories)
    now = now or timezone.now()
    found: list[FoundPair] = []
    for memory in memories:
        if memory.key in vectors and memory.state == State.LIVE:
            found += _compare_with_neighbours(memory, vectors[memory.key], now, group, contradicts)
    return _without_linked(found)


def _or_judged() -> Contradicts:
    """find_contradiction(), and where it finds nothing the judge of conflicts, for _JUDGED_S in all."""
    until = time.monotonic() + _JUDGED_S

    def contradicts(old: str, new: str, cosine: float) -> Contradiction | None:
        found, left = find_contradiction(old, new, cosine), until - time.monotonic()
        if found is not None or left <= 0:
            return found
        try:
            judge = find_judge(settings.LOCI.judges.folders, JudgeUse.CONFLICTS, left)
            is_one = judge is not None and judge.score([(old, new)], left)[0] >= judge.threshold
        except JudgeError:
            return None
        return Contradiction(ConflictKind.JUDGED, old[:_SIDE_CHARS], new[:_SIDE_CHARS]) if is_one else None

    return contradicts


def _first_vectors(memories: Iterable[Memory]) -> dict[int, Vector]:
    """The vectors of the memories' first pieces, which the write path uses too, by the memory's key."""
    keys = [memory.key for memory in memories]
    rows = Piece.objects.filter(memory__in=keys, ordinal=0, embedding__isnull=False, model=indexed_model())
    return {key: as_vector(blob) for key, blob in rows.values_list("memory_id", "embedding")}


def _compare_with_neighbours(
    memory: Memory, vector: Vector, now: datetime, group: int | None, contradicts: Contradicts
) -> list[FoundPair]:
    """The pairs of one memory with its neighbours, nearest first."""
    visibility = Visibility(
        groups=frozenset({group or memory.group_id}), include_global=group in (None, memory.group_id),
        states=frozenset({State.LIVE}), trusts=_DECIDABLE, now=now, types=frozenset({memory.type}),
    )  # fmt: skip
    compared_text = ComparedText(
        memory.content, memory.type, memory.valid_from, memory.valid_to, contradicts=contradicts
    )
    neighbours = search_neighbours(compared_text, vector, visibility)
    pairs = [pair for neighbour in neighbours if (pair := _pair_with(memory, neighbour)) is not None]
    if group in (None, memory.group_id):
        return pairs
    # A link is of its source's group.
    return [replace(pair, memory=pair.other, other=memory) for pair in pairs]


def _pair_with(memory: Memory, neighbour: Neighbour) -> FoundPair | None:
    """The pair of two chains, if they may be duplicates or conflict; two events of the same text are not duplicates."""
    if neighbour.link_kind is None or neighbour.memory.root_key == memory.root_key:
        return None
    if memory.type == Type.EPISODIC and neighbour.is_same:
        return None
    evidence = neighbour.evidence
    if evidence and neighbour.memory.key > memory.key:  # the neighbour is the newer one
        evidence = evidence | {"old": evidence["new"], "new": evidence["old"]}
    return FoundPair(memory, neighbour.memory, neighbour.link_kind, neighbour.cosine, neighbour.why, evidence)


def _without_linked(pairs: Sequence[FoundPair]) -> list[FoundPair]:
    """The pairs that no link connects yet, each once."""
    roots = {root for pair in pairs for root in (pair.memory.root_key, pair.other.root_key)}
    kinds = (LinkKind.DUPLICATE, LinkKind.CONFLICT)
    links = Link.objects.filter(Q(source__in=roots) & Q(target__in=roots), kind__in=kinds) if roots else ()
    known = {_pair_key(link.kind, link.source_id, link.target_id) for link in links}
    fresh: dict[_PairKey, FoundPair] = {}
    for pair in pairs:
        fresh.setdefault(_pair_key(pair.kind, pair.memory.root_key, pair.other.root_key), pair)
    return [pair for key, pair in fresh.items() if key not in known]


def _pair_key(kind: str, one: int, other: int) -> _PairKey:
    return str(kind), min(one, other), max(one, other)


def link_near(actor: Actor, memories: Sequence[Memory]) -> tuple[str, ...]:
    """Link memories that moved, or count again, to near ones of their group, and say how many.

    The cycle compares new memories only, and these are as old as before.
    """
    lasting = [memory for memory in memories if memory.type != Type.EPISODIC]
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
        line = gettext("{left} of them were not compared with the memories already there")
        lines.append(line.format(left=left))
    return tuple(lines)
