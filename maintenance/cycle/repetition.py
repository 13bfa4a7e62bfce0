"""Events that say the same again and again: the clusters that promotion makes facts of."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from django.db.models import QuerySet

from maintenance.cycle.compaction.buckets import SUMMARY_SOURCE
from maintenance.cycle.step import Turn
from maintenance.cycle.vectors import Matrix, read_vectors, stream_vectors
from memories.embedding import Encoder
from memories.language.same_fact import Sameness, compare
from memories.models import Memory
from memories.types import State, Trust, Type

BLOCK = 2_000  # vectors in memory at a time: 3 MB
NEAREST = 50  # events compared with a new one word by word; a fact needs no more evidence than that

Pair = tuple[int, float]  # a memory's key, and its cosine


@dataclass(frozen=True)
class RepeatedEvents:
    """Events of one scope that say the same; `text` is the one that says it for all, its key among `keys`."""

    text: int
    keys: tuple[int, ...]


def countable(turn: Turn) -> QuerySet[Memory]:
    """Give the group's events that count as evidence: what is live or in a summary, and not doubted; no summaries."""
    return Memory.objects.filter(
        group=turn.group,
        type=Type.EPISODIC,
        state__in=[State.LIVE, State.COMPACTED],
        trust__in=[Trust.ACTIVE, Trust.VERIFIED],
    ).exclude(source=SUMMARY_SOURCE)


def find_repeated(turn: Turn, keys: Sequence[int], *, encoder: Encoder) -> list[RepeatedEvents]:
    """Give the clusters around the new events `keys`, the largest first; no event is in two of them.

    A cluster is what lies within `promote_cosine` of its middle and does not contradict it word by word. It counts
    where its events are of `promote_at_least` occasions. Work grows with the new events times the group's.
    """
    near = _near(turn, keys, encoder=encoder)
    rows = Memory.objects.in_bulk({key for pairs in near.values() for key, _ in pairs} | set(near))
    stars = [_star(rows[key], pairs, rows, turn) for key, pairs in near.items() if key in rows]
    found: list[RepeatedEvents] = []
    used: set[int] = set()
    for star in sorted(stars, key=lambda star: (-len(star), star[0].key)):
        free = [memory for memory in star if memory.key not in used]
        cluster = _spoken_for(free, turn)
        if cluster is not None:
            found.append(cluster)
            used.update(cluster.keys)
    return found


def occasions(memories: Iterable[Memory]) -> int:
    """Count the occasions of events: a text repeated within a thread on one day is no further evidence."""
    return len({_occasion(memory) for memory in memories})


def _occasion(memory: Memory) -> tuple[int | None, date]:
    return memory.thread_id, (memory.valid_from or memory.created_at).date()


def _near(turn: Turn, keys: Sequence[int], *, encoder: Encoder) -> dict[int, list[Pair]]:
    """Give the nearest events of each new one above `promote_cosine`, nearest first; only those that have enough."""
    vectors = read_vectors(keys, encoder=encoder)
    if not vectors:
        return {}
    new = list(vectors)
    matrix = np.stack([vectors[key] for key in new])
    pairs: defaultdict[int, list[Pair]] = defaultdict(list)
    for others, block in stream_vectors(countable(turn), encoder=encoder, rows=BLOCK):
        _collect(pairs, new, matrix, others, block, cosine=turn.limits.promote_cosine)
    enough = turn.limits.promote_at_least - 1
    return {key: pairs[key] for key in new if len(pairs[key]) >= enough}


def _collect(
    pairs: defaultdict[int, list[Pair]],
    new: Sequence[int],
    matrix: Matrix,
    others: Sequence[int],
    block: Matrix,
    *,
    cosine: float,
) -> None:
    """Add the pairs of a block, and keep the NEAREST of each."""
    similar = matrix @ block.T
    rows, columns = np.nonzero(similar > cosine)
    touched = set()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if new[row] != others[column]:
            pairs[new[row]].append((others[column], float(similar[row, column])))
            touched.add(new[row])
    for key in touched:
        pairs[key] = sorted(pairs[key], key=lambda pair: (-pair[1], pair[0]))[:NEAREST]


def _star(middle: Memory, pairs: Sequence[Pair], rows: dict[int, Memory], turn: Turn) -> list[Memory]:
    """Give an event and those near it that are of its scope and do not contradict it."""
    near = [(rows[key], cosine) for key, cosine in pairs if key in rows and rows[key].scope == middle.scope]
    return [middle, *(memory for memory, cosine in near if says_alike(middle, memory, cosine=cosine))]


def says_alike(one: Memory, other: Memory, *, cosine: float) -> bool:
    """Say whether two near events may say the same: no other number, name, unit or negation."""
    verdict = compare(one.content, other.content, cosine=cosine, same_cosine=cosine)
    return verdict.sameness is not Sameness.DIFFERENT


def _spoken_for(memories: Sequence[Memory], turn: Turn) -> RepeatedEvents | None:
    """Choose the event that speaks for the others: most recalled, then surest, then newest; None where too few agree."""
    if len(memories) < turn.limits.promote_at_least:
        return None
    text = max(memories, key=lambda m: (m.access_count, m.confidence, m.valid_from or m.created_at, m.key))
    agreeing = [m for m in memories if m.key == text.key or says_alike(text, m, cosine=1.0)]
    if occasions(agreeing) < turn.limits.promote_at_least:
        return None
    return RepeatedEvents(text.key, tuple(sorted(memory.key for memory in agreeing)))
