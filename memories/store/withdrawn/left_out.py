"""What recall leaves out in the group that withdrew a text: the same text in whatever dress, whoever holds it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Protocol

from django.utils.translation import gettext, gettext_noop

from access.visibility import Visibility
from memories.language.cleaning import fold
from memories.models import Memory
from memories.queries.conflicts import OpenConflict, coming_after, find_open_conflicts
from memories.store.pieces import one_index_state, read_index_state
from memories.store.withdrawn.marks import Mark, Marks, TextMarks, read_marks, texts_marks

LEFT_OUT_REASON: Final = gettext_noop("its text was withdrawn in this group")


class _Stated(Protocol):
    """A stored text: a memory, or what a relation states."""

    @property
    def key(self) -> int: ...
    @property
    def content(self) -> str: ...
    @property
    def group_id(self) -> int: ...
    @property
    def created_at(self) -> datetime: ...


def find_left_out(rows: Iterable[_Stated], visibility: Visibility) -> set[int]:
    """Keys of the rows that the group of a recall has withdrawn; none for several groups.

    A row of the group itself that was written after the withdrawal counts: a curator let it in. Of what was known at an
    earlier moment, only withdrawals up to then count.
    """
    groups = visibility.groups or frozenset()
    if len(groups) != 1:
        return set()
    [group] = groups
    marks = read_marks(group)
    if not marks.has_own:
        return set()
    read, known_at = list(rows), visibility.known_at
    found = set()
    for row, own in zip(read, texts_marks([row.content for row in read]), strict=True):
        known = (mark for mark in matching(marks, own) if not known_at or mark.at <= known_at)
        if any(mark.group == group and _is_left_out(row, mark) for mark in known):
            found.add(row.key)
    return found


def matching(marks: Marks, own: Sequence[TextMarks]) -> list[Mark]:
    """The marks that match a text, exactly or in other dress."""
    found: list[Mark] = []
    for each in own:
        found += marks.exact.get(each.exact, ())
        found += marks.dressed.get(each.dress, ()) if each.dress else ()
    return found


def hiding_marks(memory: Memory) -> list[Mark]:
    """The marks of a memory's own group because of which recall leaves it out there."""
    marks = read_marks(memory.group_id)
    if not marks.has_own:
        return []
    [own] = texts_marks([memory.content])
    found = {mark.key: mark for mark in matching(marks, own)}
    return [mark for mark in found.values() if mark.group == memory.group_id and _is_left_out(memory, mark)]


def find_left_out_at_home(memories: Iterable[Memory]) -> set[int]:
    """Keys of the memories that a recall in their own group leaves out, whatever groups the answer is about."""
    read = list(memories)
    with one_index_state(read_index_state({row.group_id for row in read})):
        return {row.key for row in read if hiding_marks(row)}


def also_left_out(memories: Sequence[Memory], hidden: Iterable[Memory]) -> tuple[str, ...]:
    """The consequences of withdrawing these texts for what left_out_with() found: recall leaves it out unchanged."""
    folds = {fold(memory.content) for memory in memories}
    return tuple(
        (
            gettext("recall leaves out {id} too: the same text")
            if fold(row.content) in folds
            else gettext("recall leaves out {id} too: the same text in other dress")
        ).format(id=row.id)
        for row in hidden
    )


def _is_left_out(row: _Stated, mark: Mark) -> bool:
    """True if the group that laid the mark does not want the row's text."""
    return row.group_id != mark.group or row.created_at < mark.at


def find_visible_coming(memories: Iterable[Memory], visibility: Visibility) -> dict[int, Memory]:
    """The coming successors of memories by key, without those that the group has withdrawn."""
    coming = coming_after(memories, visibility)
    hidden = find_left_out(coming.values(), visibility) if coming else set()
    return {key: memory for key, memory in coming.items() if memory.key not in hidden}


def find_visible_conflicts(
    memories: Iterable[Memory], visibility: Visibility
) -> dict[int, tuple[OpenConflict, ...]]:
    """find_open_conflicts() without those with memories that the group has withdrawn."""
    return find_open_conflicts(memories, visibility, leave_out=find_left_out)
