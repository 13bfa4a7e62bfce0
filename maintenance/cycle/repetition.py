"""Clusters of events that repeat the same statement; promotion turns them into facts."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from django.db.models import Q, QuerySet

from maintenance.cycle.step import Turn
from maintenance.cycle.vectors import read_vectors, stream_vectors
from memories.embedding import Encoder
from memories.language.same_fact import Sameness, compare
from memories.models import Memory
from memories.queries.labels import is_doubted
from memories.recall.scoring import speaker_of
from memories.store.derived import PROMOTE_AT_LEAST
from memories.types import SUMMARY_SOURCES, State, Trust, Type

_SAME_FACT_COSINE = 0.88  # from here on events state the same fact
BLOCK = 2_000  # vectors in memory at a time: 3 MB
_NEAREST = 50  # events compared with a new one word by word; a fact needs no more evidence than that

_LETTER = re.compile(r"\b[^\W\d_]\b")
_Neighbours = dict[
    int, list[tuple[int, float]]
]  # by key: keys and cosines of the nearest events, nearest first


class RepeatedEvents(NamedTuple):
    """Events of one scope that state the same; `representative` is the key of the best wording, one of `keys`."""

    representative: int
    keys: Sequence[int]


def countable_events(turn: Turn) -> QuerySet[Memory]:
    """The group's events that count as evidence: live and not in doubt; no summaries."""
    return Memory.objects.filter(
        group=turn.group,
        type=Type.EPISODIC,
        state=State.LIVE,
        trust__in=[Trust.ACTIVE, Trust.VERIFIED],
    ).exclude(is_doubted() | Q(source__in=SUMMARY_SOURCES))


def find_repeated(turn: Turn, keys: Sequence[int], *, encoder: Encoder) -> list[RepeatedEvents]:
    """The clusters around the new events `keys`, largest first; no event is in two of them.

    A cluster holds what lies within _SAME_FACT_COSINE of its centre, has the same scope and does not contradict it word
    by word. It counts if its events span PROMOTE_AT_LEAST occasions. Work grows with the new events times the group's.
    """
    neighbours = find_neighbours(turn, keys, encoder=encoder)
    rows = Memory.objects.in_bulk(
        {key for pairs in neighbours.values() for key, _ in pairs} | set(neighbours)
    )
    stars = [_build_star(rows[key], pairs, rows) for key, pairs in neighbours.items() if key in rows]
    found: list[RepeatedEvents] = []
    used: set[int] = set()
    for star in sorted(stars, key=lambda star: (-len(star), star[0].key)):
        free = [memory for memory in star if memory.key not in used]
        cluster = _find_agreeing(free, turn)
        if cluster is not None:
            found.append(cluster)
            used.update(cluster.keys)
    return found


def count_occasions(memories: Iterable[Memory]) -> int:
    """The number of distinct occasions: repeating a text within a thread on one day is not further evidence."""
    return len({(m.thread_id, m.moment.date()) for m in memories})


def find_neighbours(turn: Turn, keys: Sequence[int], *, encoder: Encoder) -> _Neighbours:
    """The _NEAREST events of each new one above _SAME_FACT_COSINE; new events with too few of them are left out."""
    vectors = read_vectors(keys, encoder=encoder)
    if not vectors:
        return {}
    new = list(vectors)
    matrix = np.stack([vectors[key] for key in new])
    pairs: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for others, block in stream_vectors(countable_events(turn), encoder=encoder, rows=BLOCK):
        similar = matrix @ block.T
        rows, columns = np.nonzero(similar > _SAME_FACT_COSINE)
        touched = set()
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            if new[row] != others[column]:
                pairs[new[row]].append((others[column], float(similar[row, column])))
                touched.add(new[row])
        for key in touched:
            pairs[key] = sorted(pairs[key], key=lambda pair: (-pair[1], pair[0]))[:_NEAREST]
    enough = PROMOTE_AT_LEAST - 1
    return {key: pairs[key] for key in new if len(pairs[key]) >= enough}


def _build_star(
    centre: Memory, pairs: Sequence[tuple[int, float]], rows: Mapping[int, Memory]
) -> list[Memory]:
    """An event and its neighbours of the same scope that may state the same."""
    in_scope = [
        (rows[key], cosine) for key, cosine in pairs if key in rows and rows[key].scope == centre.scope
    ]
    return [centre, *(memory for memory, cosine in in_scope if _may_agree(centre, memory, cosine=cosine))]


def _may_agree(one: Memory, other: Memory, *, cosine: float) -> bool:
    """True if two similar events may state the same: no different number, name, unit, negation or single letter."""
    one_letters, other_letters = (
        set(_LETTER.findall(one.content.lower())),
        set(_LETTER.findall(other.content.lower())),
    )
    if one_letters - other_letters and other_letters - one_letters:  # "worker a", "worker e"
        return False
    verdict = compare(one.content, other.content, cosine=cosine, same_cosine=cosine)
    return verdict.sameness is not Sameness.DIFFERENT


def _find_agreeing(memories: Sequence[Memory], turn: Turn) -> RepeatedEvents | None:
    """Choose the representative, and keep the events that agree with it; None if they are too few occasions.

    The representative is the most recalled event, then the most confident, then the newest.
    """
    if len(memories) < PROMOTE_AT_LEAST:
        return None
    text = max(memories, key=lambda m: (m.access_count, m.confidence, m.moment, m.key))
    # All that a year of chat repeats is "See you, Nate!" in other words.
    if text.thread_id is not None and speaker_of(text.content):
        return None
    agreeing = [m for m in memories if m.key == text.key or _may_agree(text, m, cosine=1.0)]
    if count_occasions(agreeing) < PROMOTE_AT_LEAST:
        return None
    return RepeatedEvents(text.key, tuple(sorted(memory.key for memory in agreeing)))
