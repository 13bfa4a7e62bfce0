"""What is already remembered near a new text: probed before the transaction, completed inside it."""

from collections.abc import Iterable, Iterator, Sequence
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
from memories.models import LinkKind, Memory, Piece
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
# What these say does not bind: turned down, or held back as unsafe.
_IGNORED_TRUSTS = frozenset({Trust.REJECTED, Trust.QUARANTINED})


@dataclass(frozen=True)
class ComparedText:
    """A text to be compared with what is remembered: its type, and when it is true."""

    content: str
    type: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @classmethod
    def of(cls, draft: Draft) -> "ComparedText":
        """The text of a draft."""
        return cls(draft.content, draft.type, draft.valid_from, draft.valid_to)


@dataclass(frozen=True)
class Neighbour:
    """A memory near a new text: how near (cosine), whether it says the same, and whether it says the contrary."""

    memory: Memory
    cosine: float
    comparison: Comparison
    contradiction: Contradiction | None = None

    @property
    def id(self) -> UUID:
        """The memory's name outside."""
        return self.memory.id

    @property
    def is_same(self) -> bool:
        """True where both say the same."""
        return self.comparison.sameness is Sameness.SAME

    @property
    def restates(self) -> bool:
        """True where storing the text reinforces this memory, by the rule that storage.dedup names.

        `overwrite` takes what is near for a restatement, as long as no guard speaks against it.
        """
        if self.contradiction is not None:
            return False
        is_unsure = self.comparison.sameness is Sameness.UNSURE and not self.comparison.is_guarded
        return self.is_same or (is_overwriting() and self.is_near and is_unsure)

    @property
    def is_retracted(self) -> bool:
        """True where the near one was withdrawn as wrong."""
        return self.memory.state == State.RETRACTED

    @property
    def is_near(self) -> bool:
        """True where the vectors alone hold both for near; else only their words made it a candidate."""
        return self.cosine >= float(settings.LOCI.storage.near_cosine)

    @property
    def why(self) -> str:
        """What told how the two stand to each other."""
        return self.contradiction.why if self.contradiction else self.comparison.why

    @property
    def link_kind(self) -> LinkKind | None:
        """The kind of link that a person should see between the two; None if they merely coexist."""
        if self.contradiction is not None:
            return LinkKind.CONFLICT
        if self.comparison.sameness is Sameness.DIFFERENT:
            return None
        return LinkKind.CONFLICT if self.is_retracted else LinkKind.DUPLICATE

    @property
    def evidence(self) -> dict[str, str]:
        """What a link keeps of the reason."""
        return self.contradiction.evidence if self.contradiction else {}


@dataclass(frozen=True)
class NeighbourProbe:
    """What was found near, and the newest memory's key at that time: rows above it have not been looked at."""

    nears: tuple[Neighbour, ...]
    newest: int


def is_overwriting() -> bool:
    """Whether a near restatement updates the old memory (storage.dedup = "overwrite")."""
    return bool(settings.LOCI.storage.dedup == "overwrite")


def probe_neighbours(said: ComparedText, vector: Vector | None, *, groups: frozenset[int]) -> NeighbourProbe:
    """Search the group's memories and the global ones of the same type for near ones, retracted ones included.

    What was retracted is looked for in the other types as well: what is wrong of an entity is no fact either. Events are
    compared with events alone. One vector search; what contradicts is looked for among its hits.
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
        types=frozenset({said.type}),
        retracted_types=frozenset() if said.type == Type.EPISODIC else _FACT_TYPES,
    )
    return NeighbourProbe(search_neighbours(said, vector, visibility), newest)


def search_neighbours(said: ComparedText, vector: Vector, visibility: Visibility) -> tuple[Neighbour, ...]:
    """Give what is near among the rows of a Visibility, nearest first: duplicates, perhaps, and contradictions."""
    floor = min_cosine()
    hits = [
        hit for hit in search_index().nearest(vector, visibility, limit=PROBE_LIMIT) if hit.score >= floor
    ]
    found = read_memories(hit.key for hit in hits)
    return compare_all(said, [(found[hit.key], hit.score) for hit in hits if hit.key in found])


def neighbours_since(
    said: ComparedText, vector: Vector | None, *, since: int, group: int, model: str
) -> tuple[Neighbour, ...]:
    """Compare with what was written after a probe; inside the transaction that writes. `model` made the vector."""
    if vector is None:
        return ()
    rows = {row.key: row for row in _LATER.rows(since, group, said.type)}
    pairs: dict[int, tuple[Memory, float]] = {}
    for piece in read_pieces([*rows], model):
        cosine = float(np.dot(as_vector(piece.embedding), vector))
        if cosine >= min_cosine() and cosine > pairs.get(piece.memory_id, (None, 0.0))[1]:
            pairs[piece.memory_id] = (rows[piece.memory_id], cosine)
    nearest = sorted(pairs.values(), key=lambda pair: -pair[1])[:PROBE_LIMIT]
    return compare_all(said, nearest)


def read_pieces(keys: Sequence[int], model: str) -> Iterator[Piece]:
    # By their memories' keys, not by a join: SQLite would rather read all pieces of the model.
    for at in range(0, len(keys), KEYS_AT_ONCE):
        some = keys[at : at + KEYS_AT_ONCE]
        yield from Piece.objects.filter(memory__in=some, embedding__isnull=False, model=model)


def compare_all(said: ComparedText, pairs: Iterable[tuple[Memory, float]]) -> tuple[Neighbour, ...]:
    """Compare a text with memories at their cosines; give those that are near, nearest first."""
    now = timezone.now()
    counting = [(m, cosine) for m, cosine in pairs if m.state != State.LIVE or not has_lapsed(m, now)]
    nears = [_near(said, memory, cosine) for memory, cosine in counting]
    return tuple(sorted((near for near in nears if near is not None), key=lambda near: -near.cosine))


def _near(said: ComparedText, memory: Memory, cosine: float) -> Neighbour | None:
    """Give how a memory stands to a text; None where a person need not know of it."""
    storage = settings.LOCI.storage
    contradiction = None
    if cosine >= storage.conflict_cosine and can_conflict(said, memory):
        contradiction = find_contradiction(memory.content, said.content, cosine=cosine)
    if contradiction is None and cosine < min(storage.link_cosine, storage.near_cosine):
        return None
    comparison = compare(memory.content, said.content, cosine=cosine, same_cosine=storage.same_cosine)
    near = Neighbour(memory, cosine, comparison, contradiction)
    return near if near.is_near or contradiction or may_be_duplicate(said, near) else None


def can_conflict(said: ComparedText, memory: Memory) -> bool:
    """Say whether two could rule each other out at all: both count, neither is an event, and their times meet."""
    if said.type == Type.EPISODIC or memory.state != State.LIVE or memory.trust in _IGNORED_TRUSTS:
        return False
    ends_before = (
        said.valid_from is not None and memory.valid_to is not None and memory.valid_to <= said.valid_from
    )
    begins_after = (
        said.valid_to is not None and memory.valid_from is not None and memory.valid_from >= said.valid_to
    )
    return not ends_before and not begins_after


def may_be_duplicate(said: ComparedText, near: Neighbour) -> bool:
    """Say whether words make a duplicate likely where the vectors alone do not."""
    counts = near.memory.state == State.LIVE and near.memory.trust not in _IGNORED_TRUSTS
    if not counts or said.type == Type.EPISODIC or near.comparison.sameness is Sameness.DIFFERENT:
        return False
    is_likely = near.cosine >= settings.LOCI.storage.link_cosine
    return is_likely and share_words(near.memory.content, said.content)


def min_cosine() -> float:
    storage = settings.LOCI.storage
    return float(min(storage.near_cosine, storage.link_cosine, storage.conflict_cosine))


def current_neighbours(
    text: ComparedText, vector: Vector | None, found: NeighbourProbe, *, group: int, model: str
) -> tuple[Neighbour, ...]:
    """The neighbours of a text inside the transaction: what the probe found and still is so, and what came since."""
    now = read_memories(neighbour.memory.key for neighbour in found.nears)
    unchanged = tuple(
        replace(neighbour, memory=row)
        for neighbour in found.nears
        if (row := now.get(neighbour.memory.key)) is not None and row.state == neighbour.memory.state
    )
    return unchanged + neighbours_since(text, vector, since=found.newest, group=group, model=model)


class WithdrawnTexts:
    """The retracted memories that a group's new texts may restate, with their vectors in memory.

    For writers of many texts: a text is compared with all of them in one product, and rows retracted meanwhile are read
    at the next refresh(). The rule of types is that of probe().
    """

    def __init__(self, group: int, model: str) -> None:
        self._group, self._model = group, model
        self._vectors: dict[int, list[NDArray[np.float32]]] = {}  # by memory key, a vector for each piece
        self._keys: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # the memory of each row of the matrix
        self._matrix: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

    def refresh(self) -> None:
        """Read what was retracted since, and drop what counts again; two short queries where nothing changed."""
        # By group, since the index of states begins with it; a global row is seen in every group.
        groups = list(Group.objects.values_list("key", flat=True))
        rows = Memory.objects.filter(Q(group=self._group) | Q(scope=Scope.GLOBAL), group__in=groups)
        keys = set(rows.filter(state=State.RETRACTED).order_by().values_list("key", flat=True))
        if keys == self._vectors.keys():
            return
        fresh = sorted(keys - self._vectors.keys())
        self._vectors = {key: vectors for key, vectors in self._vectors.items() if key in keys}
        self._vectors |= {key: [] for key in fresh}
        for piece in read_pieces(fresh, self._model):
            self._vectors[piece.memory_id].append(as_vector(piece.embedding))
        pairs = [(key, vector) for key, vectors in self._vectors.items() for vector in vectors]
        self._keys = np.array([key for key, _ in pairs], dtype=np.int64)
        self._matrix = np.array([vector for _, vector in pairs], dtype=np.float32)

    def neighbours(self, texts: Sequence[tuple[ComparedText, Vector]]) -> list[tuple[Neighbour, ...]]:
        """The retracted neighbours of each text, nearest first; a query only where there are any."""
        if not len(self._keys) or not texts:
            return [()] * len(texts)
        cosines = np.stack([vector for _, vector in texts]) @ self._matrix.T
        hits = [self._hits(row) for row in cosines]
        rows = read_memories({key for found in hits for key in found})
        return [
            compare_all(
                text,
                [(rows[key], cosine) for key, cosine in found.items() if _is_comparable(text, rows.get(key))],
            )
            for (text, _), found in zip(texts, hits, strict=True)
        ]

    def _hits(self, cosines: NDArray[np.float32]) -> dict[int, float]:
        """The nearest memories above the floor, by key, with their best cosine."""
        best: dict[int, float] = {}
        for at in np.flatnonzero(cosines >= min_cosine()):
            key, cosine = int(self._keys[at]), float(cosines[at])
            best[key] = max(best.get(key, cosine), cosine)
        return dict(sorted(best.items(), key=lambda pair: -pair[1])[:PROBE_LIMIT])


def _is_comparable(text: ComparedText, row: Memory | None) -> bool:
    is_event = text.type == Type.EPISODIC
    return row is not None and row.state == State.RETRACTED and (row.type == Type.EPISODIC) is is_event
