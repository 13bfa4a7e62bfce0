"""The withdrawn memories that new texts may restate, with their vectors in memory.

What each process holds is true as long as the stamp of the withdrawn texts is the one it read (marks.py). A purged text
has no memory left, so only its marks recognise it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final
from uuid import UUID

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from access.actor import READ, Actor
from access.models import Group
from memories.draft import Draft
from memories.language.dress import has_letters_or_digits, undressed_whole
from memories.language.other_fact import find_other_fact
from memories.language.same_fact import MAX_COMPARED_CHARS, Comparison, Sameness
from memories.models import Memory
from memories.search.rows import Vector, read_memories
from memories.store.neighbours import ComparedText, Neighbour, compare_all, nearest_keys, read_pieces
from memories.store.pieces import as_vector
from memories.store.withdrawn.marks import (
    MAX_CACHED_GROUPS,
    OF_ALL_GROUPS,
    WITHDRAWN_ELSEWHERE,
    Withdrawn,
    read_stamp,
)
from memories.store.withdrawn.tombstones import Likeness, bars
from memories.types import Scope, State

_INSIDE: Final = Comparison(Sameness.UNSURE, "its text is part of this one", is_guarded=True)
UNPROBED: Final = "it waits until it has been compared with the texts that were withdrawn here"
_SAME_DRESS: Final = Comparison(
    Sameness.UNSURE, "the same letters and digits in other dress", is_guarded=True
)


@dataclass(frozen=True)
class _WithdrawnRow:
    """A withdrawn memory: its id, the group that withdrew it, and its scope."""

    id: UUID
    group: int
    scope: str


@dataclass(frozen=True)
class _WithdrawnRows:
    """Retracted and rejected memories that a group's texts may restate, by key."""

    stamp: str = ""
    group: int = OF_ALL_GROUPS
    rows: Mapping[int, _WithdrawnRow] = field(default_factory=dict)

    @cached_property
    def keys_by_place(self) -> dict[tuple[int, str], frozenset[int]]:
        """The memories by the group that withdrew them and their scope: every store asks, and there may be thousands."""
        found = defaultdict[tuple[int, str], set[int]](set)
        for key, row in self.rows.items():
            found[row.group, row.scope].add(key)
        return {place: frozenset(keys) for place, keys in found.items()}

    def keys_in_reach(self, group: int, scope: str = "") -> frozenset[int]:
        """The memories that a text of the group with this scope may restate; without a scope, with either."""
        reached = (
            keys
            for (withdrawn_in, withdrawn), keys in self.keys_by_place.items()
            if _bars_either(withdrawn, is_own=withdrawn_in == group, scope=scope)
        )
        return frozenset().union(*reached)


_NOTHING_WITHDRAWN = _WithdrawnRows()
_rows: dict[int, _WithdrawnRows] = {}
# By group, model and memory id: a content never changes, and neither does its vector.
_vectors: dict[tuple[int, str], dict[UUID, list[NDArray[np.float32]]]] = {}


# As in the indexes memory_withdrawn and memory_withdrawn_global: with values next to the text SQLite would not take them.
_WITHDRAWN = "(state = 'retracted' OR trust = 'rejected')"
_GLOBAL = "scope = 'global'"


def read_withdrawn(group: int) -> _WithdrawnRows:
    """A group's retracted and rejected memories and all groups' global ones; nothing but the stamp is read unless it changed."""
    stamp, known = read_stamp(group), _rows.get(group)
    if known is not None and stamp == known.stamp:
        return known
    if not stamp:
        return _NOTHING_WITHDRAWN
    if group == OF_ALL_GROUPS:
        rows = _withdrawn_rows(Memory.objects.extra(where=[_GLOBAL, _WITHDRAWN]))  # noqa: S610 - constants alone
    else:
        own = Memory.objects.filter(group=group).extra(where=[_WITHDRAWN])  # noqa: S610 - constants alone
        rows = {**read_withdrawn(OF_ALL_GROUPS).rows, **_withdrawn_rows(own)}
    if len(_rows) >= MAX_CACHED_GROUPS:
        _rows.clear()
    _rows[group] = _WithdrawnRows(stamp, group, rows)
    return _rows[group]


def _withdrawn_rows(memories: QuerySet[Memory]) -> dict[int, _WithdrawnRow]:
    """The rows that restatements are compared with, by key: retracted ones, and rejected ones without a successor."""
    rows = memories.filter(state__in=[State.RETRACTED, State.LIVE]).order_by()
    return {
        key: _WithdrawnRow(id_, group, scope)
        for key, id_, group, scope in rows.values_list("key", "id", "group", "scope")
    }


def read_vectors(
    withdrawn: _WithdrawnRows, keys: Collection[int], model: str
) -> dict[int, list[NDArray[np.float32]]]:
    """The vectors of these withdrawn memories' pieces by key; those that this process has not read are read now."""
    place = withdrawn.group, model
    cached = _vectors.get(place, {})
    missing = [key for key in keys if withdrawn.rows[key].id not in cached]
    if missing:
        fresh = defaultdict[UUID, list[NDArray[np.float32]]](list)
        for piece in read_pieces(sorted(missing), model):
            fresh[withdrawn.rows[piece.memory_id].id].append(as_vector(piece.embedding))
        current = {row.id for row in withdrawn.rows.values()}
        cached = {id_: vectors for id_, vectors in cached.items() if id_ in current} | fresh
        if len(_vectors) >= MAX_CACHED_GROUPS:
            _vectors.clear()
        _vectors[place] = cached  # replaced as a whole, so that readers see one state
    ids = {key: withdrawn.rows[key].id for key in keys}
    return {key: cached[id_] for key, id_ in ids.items() if id_ in cached}


def is_probed(group: int, scope: str, model: str) -> bool:
    """True if a text with a vector of this model can be compared with all withdrawn memories in its reach.

    False for a text without a vector (`model` empty), unless nothing was withdrawn there.
    """
    withdrawn = read_withdrawn(group)
    keys = withdrawn.keys_in_reach(group, scope)
    return not keys or (bool(model) and len(read_vectors(withdrawn, keys, model)) == len(keys))


class WithdrawnTexts:
    """The withdrawn memories that a group's new texts may restate, as of the last refresh()."""

    def __init__(self, group: int, model: str) -> None:
        self._group, self._model = group, model
        self._all, self._is_complete = _NOTHING_WITHDRAWN, True
        self._keys: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # of each row of the matrix
        self._matrix: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

    def refresh(self) -> frozenset[int]:
        """Read what was withdrawn since the last call and drop what was restored; the keys of the former.

        One short query if nothing changed.
        """
        now = read_withdrawn(self._group)
        if now is self._all and self._is_complete:
            return frozenset()
        before, keys = self._all.keys_in_reach(self._group), now.keys_in_reach(self._group)
        vectors = read_vectors(now, keys, self._model)
        self._all, self._is_complete = now, len(vectors) == len(keys)
        pairs = [(key, vector) for key in sorted(vectors) for vector in vectors[key]]
        self._keys = np.array([key for key, _ in pairs], dtype=np.int64)
        self._matrix = np.array([vector for _, vector in pairs], dtype=np.float32)
        return keys - before

    def is_current(self) -> bool:
        """True if refresh() would change nothing."""
        return self._all is read_withdrawn(self._group) and self._is_complete

    def neighbours(
        self, texts: Sequence[tuple[ComparedText, Vector]], *, among: Collection[int] | None = None
    ) -> list[tuple[Neighbour, ...]]:
        """The withdrawn neighbours of each text in its reach, nearest first; `among` limits them to these keys.

        Of any type: what is wrong about an entity is wrong as a fact. No query if there are none.
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
            tuple(
                guard(neighbour, text.content)
                for neighbour in compare_all(
                    text, [(rows[key], cosine) for key, cosine in found.items() if key in rows]
                )
                if neighbour.is_withdrawn
                and neighbour.is_near
                and _bars_either(
                    neighbour.memory.scope,
                    is_own=neighbour.memory.group_id == self._group,
                    scope=text.scope,
                )
                # All emoji look alike to the model.
                and has_letters_or_digits(neighbour.memory.content)
            )
            for (text, _), found in zip(texts, hits, strict=True)
        ]

    def doubt_about(
        self, draft: Draft, vector: Vector | None, *, among: Collection[int] | None = None
    ) -> str:
        """Why a draft may restate a withdrawn memory, for callers that decide on their own; empty if it does not.

        `among` limits the memories to these keys.
        """
        if vector is None:
            return ""
        [neighbours] = self.neighbours([(ComparedText.of(draft), vector)], among=among)
        return withdrawn_doubt(neighbours)


def _bars_either(withdrawn_scope: str, *, is_own: bool, scope: str) -> bool:
    """bars() for a text with this scope; without one, for either."""
    return any(bars(withdrawn_scope, is_own=is_own, scope=each) for each in ((scope,) if scope else Scope))


def guard(neighbour: Neighbour, text: str) -> Neighbour:
    """The neighbour with what the guards for withdrawn texts say: in the same dress it waits, another fact does not.

    Long texts are left as they are: these guards run inside the write transaction, and the marks know the same dress.
    """
    content = neighbour.memory.content
    if max(len(content), len(text)) > MAX_COMPARED_CHARS:
        return neighbour
    if undressed_whole(content) == undressed_whole(text):
        return replace(neighbour, comparison=_SAME_DRESS)
    why = "" if neighbour.comparison.sameness is Sameness.DIFFERENT else find_other_fact(content, text)
    return replace(neighbour, comparison=Comparison(Sameness.DIFFERENT, why)) if why else neighbour


def withdrawn_neighbours(
    text: ComparedText, vector: Vector | None, *, group: int, model: str
) -> tuple[Neighbour, ...]:
    """The withdrawn memories that a text restates in a group; () for a text without a vector."""
    if vector is None or not read_withdrawn(group).keys_in_reach(group, text.scope):
        return ()
    texts = shared_texts(group, model)
    return texts.neighbours([(text, vector)])[0]


def withdrawn_doubt(
    neighbours: tuple[Neighbour, ...], *, actor: Actor | None = None, group: Group | None = None
) -> str:
    """Why a text may restate a withdrawn memory, so that a curator must decide; empty if it does not.

    With `actor` and `group`, the memory of another group is only named if the actor may read there.
    """
    for neighbour in neighbours:
        if not neighbour.is_withdrawn:
            continue
        if neighbour.comparison.sameness is not Sameness.DIFFERENT:
            of = neighbour.memory.group_id
            if actor is not None and group is not None and of != group.key and not actor.may(READ, of):
                return WITHDRAWN_ELSEWHERE
            return f"it restates {neighbour.id}, which was {neighbour.withdrawal}; a curator decides"
    return ""


def restated_doubt(
    actor: Actor, group: Group, withdrawn: Withdrawn | None, neighbours: tuple[Neighbour, ...]
) -> str:
    """Why a curator must decide about a text that a store or an edit brings; empty if it restates nothing withdrawn.

    `withdrawn` is the text that its marks repeat, `neighbours` what its vector finds.
    """
    if withdrawn is not None:
        return withdrawn.doubt(actor)
    return withdrawn_doubt(neighbours, actor=actor, group=group)


def with_marked(
    found: Sequence[tuple[Neighbour, ...]], withdrawn: Sequence[Withdrawn | None]
) -> list[tuple[Neighbour, ...]]:
    """The texts' neighbours, and first among them the memory of the text that each one's marks repeat, so that it is linked."""
    ids = {each.tombstone.memory_id for each in withdrawn if each is not None and not each.is_refused}
    if not ids:
        return [*found]
    memories = {row.id: row for row in Memory.objects.filter(id__in=ids).select_related("group", "thread")}
    added = list[tuple[Neighbour, ...]]()
    for each, neighbours in zip(withdrawn, found, strict=True):
        memory = memories.get(each.tombstone.memory_id) if each is not None else None
        known = {neighbour.memory.root_key for neighbour in neighbours if neighbour.is_withdrawn}
        if each is not None and memory is not None and memory.root_key not in known:
            comparison = _INSIDE if each.likeness is Likeness.INSIDE else _SAME_DRESS
            added.append((Neighbour(memory, 1.0, comparison), *neighbours))
        else:
            added.append(neighbours)
    return added


_shared: dict[tuple[int, str], WithdrawnTexts] = {}


def shared_texts(group: int, model: str) -> WithdrawnTexts:
    """This process's withdrawn texts of a group, refreshed."""
    known = _shared.get((group, model))
    if known is None or not known.is_current():
        known = WithdrawnTexts(group, model)  # a new one: other threads may be reading the old one
        known.refresh()
        if len(_shared) >= MAX_CACHED_GROUPS:
            _shared.clear()
        _shared[group, model] = known
    return known
