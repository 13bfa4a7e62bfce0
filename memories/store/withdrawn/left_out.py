"""What recall leaves out in the group that withdrew a text: the same text in whatever dress, whoever holds it."""

from collections.abc import Iterable
from typing import Final

from access.visibility import Visibility
from memories.models import Memory
from memories.queries.coming import coming_after
from memories.store.withdrawn.marks import Mark, read_marks, texts_marks

LEFT_OUT_REASON: Final = "its text was withdrawn in this group"


def find_left_out(rows: Iterable[Memory], visibility: Visibility) -> set[int]:
    """Keys of the rows that the group of a recall has withdrawn; none for several groups and for the past.

    A row of the group itself that was written after the withdrawal counts: a curator let it in.
    """
    groups = visibility.groups or frozenset()
    if len(groups) != 1 or visibility.is_history:
        return set()
    [group] = groups
    marks = read_marks()
    if group not in marks.groups:
        return set()
    read = list(rows)
    found = set()
    for row, own in zip(read, texts_marks([row.content for row in read]), strict=True):
        matches: list[Mark] = []
        for each in own:
            matches += marks.exact.get(each.exact, ())
            matches += marks.dressed.get(each.dress, ()) if each.dress else ()
        if any(mark.group == group and is_left_out(row, mark) for mark in matches):
            found.add(row.key)
    return found


def is_left_out(row: Memory, mark: Mark) -> bool:
    """True if the group that laid the mark does not want the row's text."""
    return row.group_id != mark.group or row.created_at < mark.at


def find_visible_coming(memories: Iterable[Memory], visibility: Visibility) -> dict[int, Memory]:
    """The coming successors of memories by key, without those that the group has withdrawn."""
    coming = coming_after(memories, visibility)
    hidden = find_left_out(coming.values(), visibility) if coming else set()
    return {key: memory for key, memory in coming.items() if memory.key not in hidden}
