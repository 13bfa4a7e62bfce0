"""The stored neighbours of a new text: searched before the transaction, brought up to date inside it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from numpy.typing import NDArray

from access.visibility import Visibility
from memories.draft import Draft
from memories.language.contradictions import ConflictKind, Contradiction, find_contradiction
from memories.language.same_fact import Comparison, Sameness, compare, share_words
from memories.models import LinkKind, Memory, Piece
from memories.queries.versions import has_lapsed
from memories.search.base import search_index
from memories.search.rows import Vector, read_memories
from memories.store.pieces import as_vector
from memories.types import WITHDRAWN_TRUSTS, Scope, State, Trust, Type
from storage.bulk import batches
from storage.compiled_queries import CompiledQuery

_PROBE_LIMIT = 16
_NEAR_COSINE: Final = 0.92  # from here on two memories are neighbours
_SAME_COSINE: Final = 0.97  # from here on two memories may state the same fact
# Texts that share nearly all words of one of them are linked as possible duplicates from here on, and checked for a
# contradiction. Measured on 300 paraphrases and 1,080 pairs of two facts each: bench/proof/duplicates/prove.py.
_LINK_COSINE: Final = 0.84
CONFLICT_COSINE: Final = 0.55
_NEWEST = CompiledQuery(lambda: Memory.objects.order_by("-key").values_list("key")[:1], 0)
_LATER = CompiledQuery(
    lambda since, group, type_: (
        Memory.objects.filter(
            Q(group=group) | Q(scope=Scope.GLOBAL), key__gt=since, type=type_, state=State.LIVE
        )
        .select_related("group", "thread")
        .order_by()
    ),
    3,
)
# Rejected memories are found among the withdrawn texts instead.
_PROBED_TRUSTS = frozenset(Trust.values) - {Trust.REJECTED}


class NextStep(StrEnum):
    """What to do about a neighbour if the stored text is right."""

    SUPERSEDE = "supersede"  # it was true: store the text again with its id as supersedes
    RETRACT = "retract"  # the text denies it: it was wrong
    NOTHING = "nothing"


_NEXT_STEPS: Final = {
    ConflictKind.OBJECT: NextStep.SUPERSEDE,
    ConflictKind.VALUE: NextStep.SUPERSEDE,
    ConflictKind.PREFERENCE: NextStep.SUPERSEDE,
    ConflictKind.POLARITY: NextStep.RETRACT,
    ConflictKind.JUDGED: NextStep.NOTHING,
}
# An older and a newer text, and the cosine of their vectors → what they disagree about.
Contradicts = Callable[[str, str, float], Contradiction | None]


@dataclass(frozen=True)
class ComparedText:
    """A text to compare with stored memories, with its type, scope and valid time; `contradicts` finds their contradictions."""

    content: str
    type: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    scope: str = ""
    contradicts: Contradicts = find_contradiction

    @classmethod
    def of(cls, draft: Draft) -> "ComparedText":
        """A draft as a text to compare."""
        return cls(draft.content, draft.type, draft.valid_from, draft.valid_to, draft.scope)


@dataclass(frozen=True)
class Neighbour:
    """A memory near a new text: its cosine, whether it states the same fact, and whether it contradicts it."""

    memory: Memory
    cosine: float
    comparison: Comparison
    contradiction: Contradiction | None = None

    @property
    def id(self) -> UUID:
        """The memory's public id."""
        return self.memory.id

    @property
    def is_same(self) -> bool:
        """True if both state the same fact."""
        return self.comparison.sameness is Sameness.SAME

    @property
    def restates(self) -> bool:
        """True if storing the text reinforces this memory, by the rule of storage.dedup.

        `overwrite` treats an uncertain near match as a restatement unless a guard objects.
        """
        if self.contradiction is not None:
            return False
        is_unsure = self.comparison.sameness is Sameness.UNSURE and not self.comparison.is_guarded
        return self.is_same or (is_overwriting() and self.is_near and is_unsure)

    @property
    def is_withdrawn(self) -> bool:
        """True if the memory was retracted or rejected."""
        return bool(self.withdrawal)

    @property
    def withdrawal(self) -> str:
        """What was done to a withdrawn memory, "retracted" or "rejected"; else empty."""
        if self.memory.state == State.RETRACTED:
            return State.RETRACTED.value
        return Trust.REJECTED.value if self.memory.trust == Trust.REJECTED else ""

    @property
    def is_near(self) -> bool:
        """True if the vectors alone make it near; else its words made it a candidate."""
        return self.cosine >= _NEAR_COSINE

    @property
    def why(self) -> str:
        """The reason for the contradiction or comparison, in words."""
        return self.contradiction.why if self.contradiction else self.comparison.why

    @property
    def link_kind(self) -> LinkKind | None:
        """The kind of link that a person should see between the two; None if they may coexist."""
        if self.contradiction is not None:
            return LinkKind.CONFLICT
        if self.comparison.sameness is Sameness.DIFFERENT:
            return None
        return LinkKind.CONFLICT if self.is_withdrawn else LinkKind.DUPLICATE

    @property
    def next_step(self) -> NextStep:
        """What to do about the memory, which may be nothing: both can be true, or a person decides."""
        if self.contradiction is None or self.memory.state != State.LIVE:
            return NextStep.NOTHING
        return _NEXT_STEPS[self.contradiction.kind]

    @property
    def evidence(self) -> dict[str, str]:
        """The evidence that a link stores."""
        return self.contradiction.evidence if self.contradiction else {}


@dataclass(frozen=True)
class NeighbourProbe:
    """The neighbours found, and the newest memory's key at that time: rows with a higher key were not searched."""

    neighbours: tuple[Neighbour, ...]
    newest: int


def is_overwriting() -> bool:
    """True if a near match updates the old memory (storage.dedup = "overwrite")."""
    return bool(settings.LOCI.storage.dedup == "overwrite")


def probe_neighbours(text: ComparedText, vector: Vector | None, *, groups: frozenset[int]) -> NeighbourProbe:
    """Search the groups' and the global live memories of the same type for neighbours.

    One vector search; contradictions are looked for among its hits. Withdrawn texts are compared when the text is
    written: see memories.store.withdrawn.near.
    """
    newest = max((key for (key,) in _NEWEST.rows()), default=0)
    if vector is None:
        return NeighbourProbe((), newest)
    visibility = Visibility(
        groups=groups,
        include_global=True,
        states=frozenset({State.LIVE}),
        trusts=_PROBED_TRUSTS,
        now=timezone.now(),
        types=frozenset({text.type}),
    )
    return NeighbourProbe(search_neighbours(text, vector, visibility), newest)


def search_neighbours(text: ComparedText, vector: Vector, visibility: Visibility) -> tuple[Neighbour, ...]:
    """The neighbours among the rows of a Visibility, nearest first: possible duplicates, and contradictions."""
    # From the lowest cosine on at which any rule looks at a memory.
    hits = search_index().nearest(vector, visibility, limit=_PROBE_LIMIT, floor=CONFLICT_COSINE)
    found = read_memories(hit.key for hit in hits)
    return compare_all(text, [(found[hit.key], hit.score) for hit in hits if hit.key in found])


def neighbours_since(
    text: ComparedText, vector: Vector | None, *, since: int, group: int, model: str
) -> tuple[Neighbour, ...]:
    """The neighbours written after a probe (key above `since`), for use inside the writing transaction.

    `model` is the model of the vector."""
    if vector is None:
        return ()
    rows = {row.key: row for row in _LATER.rows(since, group, text.type)}
    pairs: dict[int, tuple[Memory, float]] = {}
    for piece in read_pieces([*rows], model):
        cosine = float(np.dot(as_vector(piece.embedding), vector))
        if cosine >= CONFLICT_COSINE and cosine > pairs.get(piece.memory_id, (None, 0.0))[1]:
            pairs[piece.memory_id] = (rows[piece.memory_id], cosine)
    nearest = sorted(pairs.values(), key=lambda pair: -pair[1])[:_PROBE_LIMIT]
    return compare_all(text, nearest)


def read_pieces(keys: Sequence[int], model: str) -> Iterator[Piece]:
    """The embedded pieces of memories, by the memories' keys; vectors of other models are left out."""
    # Selected by keys, not by a join: with a join SQLite reads all pieces of the model.
    for some in batches(keys):
        yield from Piece.objects.filter(memory__in=some, embedding__isnull=False, model=model)


def compare_all(text: ComparedText, pairs: Iterable[tuple[Memory, float]]) -> tuple[Neighbour, ...]:
    """Compare a text with memories at their cosines; the neighbours among them, nearest first."""
    now = timezone.now()
    current = [(m, cosine) for m, cosine in pairs if m.state != State.LIVE or not has_lapsed(m, now)]
    found = [_compare_memory(text, memory, cosine) for memory, cosine in current]
    return tuple(sorted(filter(None, found), key=lambda neighbour: -neighbour.cosine))


def _compare_memory(text: ComparedText, memory: Memory, cosine: float) -> Neighbour | None:
    """Compare a memory with a text; None if it is not worth showing to a person."""
    contradiction = None
    if cosine >= CONFLICT_COSINE and _can_conflict(text, memory):
        contradiction = text.contradicts(memory.content, text.content, cosine)
    if contradiction is None and cosine < _LINK_COSINE:
        return None
    comparison = compare(memory.content, text.content, cosine=cosine, same_cosine=_SAME_COSINE)
    neighbour = Neighbour(memory, cosine, comparison, contradiction)
    is_relevant = neighbour.is_near or contradiction or _may_be_duplicate(text, neighbour)
    return neighbour if is_relevant else None


def _can_conflict(text: ComparedText, memory: Memory) -> bool:
    """True if the two could contradict: the memory counts, neither is an event, and their times overlap."""
    if text.type == Type.EPISODIC or memory.state != State.LIVE or memory.trust in WITHDRAWN_TRUSTS:
        return False
    ends_before = (
        text.valid_from is not None and memory.valid_to is not None and memory.valid_to <= text.valid_from
    )
    begins_after = (
        text.valid_to is not None and memory.valid_from is not None and memory.valid_from >= text.valid_to
    )
    return not ends_before and not begins_after


def _may_be_duplicate(text: ComparedText, neighbour: Neighbour) -> bool:
    """True if shared words make a duplicate likely at a cosine that alone does not."""
    memory = neighbour.memory
    if memory.state != State.LIVE or memory.trust in WITHDRAWN_TRUSTS or text.type == Type.EPISODIC:
        return False
    if neighbour.comparison.sameness is Sameness.DIFFERENT:
        return False
    is_likely = neighbour.cosine >= _LINK_COSINE
    return is_likely and share_words(memory.content, text.content)


def current_neighbours(
    text: ComparedText, vector: Vector | None, found: NeighbourProbe, *, group: int, model: str
) -> tuple[Neighbour, ...]:
    """The live neighbours of a text inside the transaction: those of the probe that still count, and newer ones."""
    now = read_memories(neighbour.memory.key for neighbour in found.neighbours)
    unchanged = tuple(
        replace(neighbour, memory=row)
        for neighbour in found.neighbours
        if (row := now.get(neighbour.memory.key)) is not None and row.state == State.LIVE
    )
    newer = neighbours_since(text, vector, since=found.newest, group=group, model=model)
    return tuple(neighbour for neighbour in unchanged + newer if not neighbour.is_withdrawn)


def nearest_keys(keys: NDArray[np.int64], cosines: NDArray[np.float32]) -> dict[int, float]:
    """The nearest memories above the floor, by key, with their best cosine."""
    best: dict[int, float] = {}
    for at in np.flatnonzero(cosines >= CONFLICT_COSINE):
        key, cosine = int(keys[at]), float(cosines[at])
        best[key] = max(best.get(key, cosine), cosine)
    return dict(sorted(best.items(), key=lambda pair: -pair[1])[:_PROBE_LIMIT])
