"""What a row says where it enters a group, by a move, an undo or an import, and the withdrawn texts that bar it there."""

from collections.abc import Sequence
from functools import cache, reduce
from typing import Any, Final, cast

from django.db.models import Model

from access.models import Group
from memories.entities.lines import statement_of
from memories.models import Memory, TombstoneKind
from memories.queries.versions import head_of
from memories.store.places import all_places
from memories.store.withdrawn.marks import LABELS, Withdrawn, find_all_withdrawn, find_repeated
from memories.types import WITHDRAWN_TRUSTS, State
from relations.models import Relation

CONTENT: Final = "content"


def said_by(row: Model) -> dict[str, Any]:
    """The texts of a row by name, but for a memory's own; a relation's predicate with both ends, as a statement."""
    if isinstance(row, Memory):
        labels = {name: getattr(row, name) for name in LABELS if name != "thread"}
        return {"thread": row.thread.name if row.thread is not None else "", **labels}
    said = {name: getattr(row, name) for name in _columns_of(type(row))}
    if isinstance(row, Relation):
        statement = statement_of(head_of(row.subject), row.predicate, head_of(row.object))
        said["predicate"] = [row.predicate, statement]
    return said


@cache
def _columns_of(model: type[Model]) -> tuple[str, ...]:
    """The columns of a table that a purge asks, if its rows belong to groups."""
    places = [place for place in all_places().values() if place.model is model and place.group]
    return tuple(dict.fromkeys(name for place in places for name in place.columns))


def group_of(row: Model) -> Group:
    """The group that a row's texts are read in."""
    place = next(place for place in all_places().values() if place.model is type(row) and place.group)
    return cast(Group, reduce(getattr, place.group.split("__")[:-1], row))


def bars_memory(match: Withdrawn, memory: Memory) -> bool:
    """True if a memory may not enter with a text: a purged one in any state, others only where it counts."""
    counts = memory.state == State.LIVE and memory.trust not in WITHDRAWN_TRUSTS
    return match.tombstone.kind == TombstoneKind.PURGED or counts


def find_barred(group: Group, rows: Sequence[Model]) -> list[tuple[str, Withdrawn] | None]:
    """Of each row, the first text that bars it from a group, with the path of the value.

    A memory's text bars it in other dress or inside it too while it is live, since no person would be asked about it.
    """
    memories = [row for row in rows if isinstance(row, Memory)]
    texts = find_all_withdrawn((group.key, row.scope, row.content) for row in memories)
    contents = {
        row.pk: (CONTENT, match)
        for row, match in zip(memories, texts, strict=True)
        if match and (row.state == State.LIVE or (match.is_refused and bars_memory(match, row)))
    }
    found = find_repeated([(group.key, said_by(row)) for row in rows])
    return [
        each
        if not isinstance(row, Memory)
        else contents.get(row.pk) or (each if each and bars_memory(each[1], row) else None)
        for row, each in zip(rows, found, strict=True)
    ]
