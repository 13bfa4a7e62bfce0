"""The stored neighbours of a new text: searched before the transaction, brought up to date inside it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from numpy.typing import NDArray

from access.models import Group
from access.visibility import Visibility
from memories.draft import Draft
from memories.language.contradictions import Contradiction, find_contradiction
from memories.language.same_fact import Comparison, Sameness, compare, share_words
from memories.models import IndexChange, LinkKind, Memory, Piece
from memories.queries.by_key import read_memories
from memories.queries.versions import KEYS_AT_ONCE, has_lapsed
from memories.search.base import Vector, search_index
from memories.store.pieces import as_vector
from memories.types import Scope, State, Trust, Type
from storage.compiled_queries import CompiledQuery

PROBE_LIMIT = 16
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
_FACT_TYPES = frozenset(Type.values) - {Type.EPISODIC}
# Rejected and quarantined memories are ignored here.
_IGNORED_TRUSTS = frozenset({Trust.REJECTED, Trust.QUARANTINED})


@dataclass(frozen=True)
class ComparedText:
    """A text to compare with stored memories, with its type and valid time."""

    content: str
    type: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @classmethod
    def of(cls, draft: Draft) -> "ComparedText":
        """A draft as a text to compare."""
        return cls(draft.content, draft.type, draft.valid_from, draft.valid_to)


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
    def is_retracted(self) -> bool:
        """True if the memory was retracted."""
        return self.memory.state == State.RETRACTED

    @property
    def is_near(self) -> bool:
        """True if the vectors alone make it near; else its words made it a candidate."""
        return self.cosine >= float(settings.LOCI.storage.near_cosine)

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
        return LinkKind.CONFLICT if self.is_retracted else LinkKind.DUPLICATE

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
    """Search the groups' and the global memories of the same type for neighbours, retracted ones included.

    Retracted memories of other types count too: what is wrong about an entity is wrong as a fact. Events are compared
    with events only. One vector search; contradictions are looked for among its hits.
    """
    newest = max((key for (key,) in _NEWEST.rows()), default=0)
    if vector is None:
        return NeighbourProbe((), newest)
    visibility = Visibility(
        groups=groups,
        include_global=True,
        states=frozenset({State.LIVE, State.RETRACTED}),
        trusts=frozenset(Trust.values),
        now=timezone.now(),
        types=frozenset({text.type}),
        retracted_types=frozenset() if text.type == Type.EPISODIC else _FACT_TYPES,
    )
    return NeighbourProbe(search_neighbours(text, vector, visibility), newest)


def search_neighbours(text: ComparedText, vector: Vector, visibility: Visibility) -> tuple[Neighbour, ...]:
    """The neighbours among the rows of a Visibility, nearest first: possible duplicates, and contradictions."""
    floor = min_cosine()
    hits = [
        hit for hit in search_index().nearest(vector, visibility, limit=PROBE_LIMIT) if hit.score >= floor
    ]
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
        if cosine >= min_cosine() and cosine > pairs.get(piece.memory_id, (None, 0.0))[1]:
            pairs[piece.memory_id] = (rows[piece.memory_id], cosine)
    nearest = sorted(pairs.values(), key=lambda pair: -pair[1])[:PROBE_LIMIT]
    return compare_all(text, nearest)


def read_pieces(keys: Sequence[int], model: str) -> Iterator[Piece]:
    """The embedded pieces of memories, by the memories' keys; vectors of other models are left out."""
    # Selected by keys, not by a join: with a join SQLite reads all pieces of the model.
    for at in range(0, len(keys), KEYS_AT_ONCE):
        some = keys[at : at + KEYS_AT_ONCE]
        yield from Piece.objects.filter(memory__in=some, embedding__isnull=False, model=model)


def compare_all(text: ComparedText, pairs: Iterable[tuple[Memory, float]]) -> tuple[Neighbour, ...]:
    """Compare a text with memories at their cosines; the neighbours among them, nearest first."""
    now = timezone.now()
    current = [(m, cosine) for m, cosine in pairs if m.state != State.LIVE or not has_lapsed(m, now)]
    found = [compare_memory(text, memory, cosine) for memory, cosine in current]
    return tuple(sorted(filter(None, found), key=lambda neighbour: -neighbour.cosine))


def compare_memory(text: ComparedText, memory: Memory, cosine: float) -> Neighbour | None:
    """Compare a memory with a text; None if it is not worth showing to a person."""
    storage = settings.LOCI.storage
    contradiction = None
    if cosine >= storage.conflict_cosine and can_conflict(text, memory):
        contradiction = find_contradiction(memory.content, text.content, cosine=cosine)
    if contradiction is None and cosine < min(storage.link_cosine, storage.near_cosine):
        return None
    comparison = compare(memory.content, text.content, cosine=cosine, same_cosine=storage.same_cosine)
    neighbour = Neighbour(memory, cosine, comparison, contradiction)
    is_relevant = neighbour.is_near or contradiction or may_be_duplicate(text, neighbour)
    return neighbour if is_relevant else None


def can_conflict(text: ComparedText, memory: Memory) -> bool:
    """True if the two could contradict: the memory counts, neither is an event, and their times overlap."""
    if text.type == Type.EPISODIC or memory.state != State.LIVE or memory.trust in _IGNORED_TRUSTS:
        return False
    ends_before = (
        text.valid_from is not None and memory.valid_to is not None and memory.valid_to <= text.valid_from
    )
    begins_after = (
        text.valid_to is not None and memory.valid_from is not None and memory.valid_from >= text.valid_to
    )
    return not ends_before and not begins_after


def may_be_duplicate(text: ComparedText, neighbour: Neighbour) -> bool:
    """True if shared words make a duplicate likely at a cosine that alone does not."""
    memory = neighbour.memory
    if memory.state != State.LIVE or memory.trust in _IGNORED_TRUSTS or text.type == Type.EPISODIC:
        return False
    if neighbour.comparison.sameness is Sameness.DIFFERENT:
        return False
    is_likely = neighbour.cosine >= settings.LOCI.storage.link_cosine
    return is_likely and share_words(memory.content, text.content)


def min_cosine() -> float:
    """The lowest cosine at which any rule looks at a memory."""
    storage = settings.LOCI.storage
    return float(min(storage.near_cosine, storage.link_cosine, storage.conflict_cosine))


def current_neighbours(
    text: ComparedText, vector: Vector | None, found: NeighbourProbe, *, group: int, model: str
) -> tuple[Neighbour, ...]:
    """The neighbours of a text inside the transaction: those of the probe whose state is unchanged, and newer ones."""
    now = read_memories(neighbour.memory.key for neighbour in found.neighbours)
    unchanged = tuple(
        replace(neighbour, memory=row)
        for neighbour in found.neighbours
        if (row := now.get(neighbour.memory.key)) is not None and row.state == neighbour.memory.state
    )
    return unchanged + neighbours_since(text, vector, since=found.newest, group=group, model=model)


class WithdrawnTexts:
    """The retracted memories that a group's new texts may restate, with their vectors in memory.

    For writers of many texts: each batch is compared with all of them in one matrix product, and refresh() reads later
    retractions. Nothing is read before the first refresh(). Types are matched as in probe_neighbours().
    """

    def __init__(self, group: int, model: str) -> None:
        self._group, self._model = group, model
        self._seen = 0  # the last index change that was read
        self._vectors: dict[int, list[NDArray[np.float32]]] = {}  # by memory key, a vector for each piece
        self._keys: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # the memory of each row of the matrix
        self._matrix: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

    def refresh(self) -> frozenset[int]:
        """Read what was retracted since the last call and drop what was restored; the keys of the former.

        One short query if nothing changed. Inside a transaction, call it before writing: a rollback would take back the
        changes that it has seen.
        """
        newest = IndexChange.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
        if newest and newest == self._seen:
            return frozenset()
        # A change of state is listed for each piece. The list is cut at its old end only.
        if IndexChange.objects.filter(seq=self._seen).exists():
            stale, fresh = self._read_changed()
        else:
            stale, fresh = set(self._vectors), self._read_all()
        self._seen = newest
        if fresh or stale & self._vectors.keys():
            self._vectors = {key: vectors for key, vectors in self._vectors.items() if key not in stale}
            self._vectors |= {key: [] for key in sorted(fresh)}
            for piece in read_pieces(sorted(fresh), self._model):
                self._vectors[piece.memory_id].append(as_vector(piece.embedding))
            pairs = [(key, vector) for key, vectors in self._vectors.items() for vector in vectors]
            self._keys = np.array([key for key, _ in pairs], dtype=np.int64)
            self._matrix = np.array([vector for _, vector in pairs], dtype=np.float32)
        return frozenset(fresh)

    def _read_changed(self) -> tuple[set[int], set[int]]:
        """The memories whose pieces changed since, and the retracted ones among them."""
        pieces = IndexChange.objects.filter(seq__gt=self._seen).values("piece")
        rows = Piece.objects.filter(key__in=pieces).values_list(
            "memory_id", "memory__state", "memory__group", "memory__scope"
        )
        changed, retracted = set(), set()
        for key, state, group, scope in rows:
            changed.add(key)
            if state == State.RETRACTED and (group == self._group or scope == Scope.GLOBAL):
                retracted.add(key)
        return changed, retracted

    def _read_all(self) -> set[int]:
        # Filtered by all groups, since the index of states begins with the group; global rows count in every group.
        groups = list(Group.objects.values_list("key", flat=True))
        rows = Memory.objects.filter(Q(group=self._group) | Q(scope=Scope.GLOBAL), group__in=groups)
        return set(rows.filter(state=State.RETRACTED).order_by().values_list("key", flat=True))

    def neighbours(
        self, texts: Sequence[tuple[ComparedText, Vector]], *, among: Collection[int] | None = None
    ) -> list[tuple[Neighbour, ...]]:
        """The retracted neighbours of each text, nearest first; `among` limits them to these keys.

        No query if there are none.
        """
        keys, matrix = self._keys, self._matrix
        if among is not None:
            chosen = np.isin(keys, list(among))
            keys, matrix = keys[chosen], matrix[chosen]
        if not len(keys) or not texts:
            return [()] * len(texts)
        cosines = np.stack([vector for _, vector in texts]) @ matrix.T
        hits = [nearest_keys(keys, row) for row in cosines]
        rows = read_memories({key for found in hits for key in found})
        return [
            compare_all(
                text,
                [(rows[key], cosine) for key, cosine in found.items() if _is_comparable(text, rows.get(key))],
            )
            for (text, _), found in zip(texts, hits, strict=True)
        ]


def nearest_keys(keys: NDArray[np.int64], cosines: NDArray[np.float32]) -> dict[int, float]:
    """The nearest memories above the floor, by key, with their best cosine."""
    best: dict[int, float] = {}
    for at in np.flatnonzero(cosines >= min_cosine()):
        key, cosine = int(keys[at]), float(cosines[at])
        best[key] = max(best.get(key, cosine), cosine)
    return dict(sorted(best.items(), key=lambda pair: -pair[1])[:PROBE_LIMIT])


def _is_comparable(text: ComparedText, row: Memory | None) -> bool:
    is_event = text.type == Type.EPISODIC
    return row is not None and row.state == State.RETRACTED and (row.type == Type.EPISODIC) is is_event
