"""How much a group may hold: live memories, and bytes of their text.

Triggers count both in the table group_use (memories/migrations/sql), so that every write counts, and every undo, purge and
withdrawal makes room. What adds to a group is refused: stores, imports, captures, moves, edits, restores and undos. What
jobs write, and what a withdrawal puts back, is not. A group without a limit costs no query. They hold the group's lock, so
two writers cannot take the same room.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final

from django.conf import settings

from access.actor import Actor
from access.errors import GroupFull, InvalidInput, NotPermitted
from access.models import Group
from storage.compiled_queries import fetch

MOST: Final = 1_000_000_000_000
_USE: Final = "SELECT live, bytes FROM group_use WHERE group_id = %s"


@dataclass(frozen=True)
class _GroupUse:
    """The live memories of a group, the bytes of their text, and its limits; 0: no limit."""

    memories: int
    bytes: int
    max_memories: int
    max_bytes: int

    @property
    def share(self) -> float:
        """The used share of the limit that is reached first; 0 without a limit."""
        pairs = ((self.memories, self.max_memories), (self.bytes, self.max_bytes))
        return max((used / limit for used, limit in pairs if limit), default=0.0)

    def as_json(self) -> dict[str, float]:
        return asdict(self) | {"share": round(self.share, 4)}


def use_of(group: Group) -> _GroupUse:
    """What the group holds, and its limits."""
    found = fetch(_USE, [group.key], is_repeated=True)
    memories, size = found[0] if found else (0, 0)
    return _GroupUse(memories, size, *_limits_of(group))


def _limits_of(group: Group) -> tuple[int, int]:
    access = settings.LOCI.access
    return group.max_memories or access.group_memories, group.max_bytes or access.group_bytes


class GroupRoom:
    """The room in groups during one transaction, which holds them: a group with a limit is read once."""

    def __init__(self) -> None:
        self._used: dict[int, tuple[int, int]] = {}

    def take(
        self, group: Group, gained: Iterable[str], lost: Iterable[str] = (), *, is_written: bool = False
    ) -> None:
        """Take room for the texts of new live memories, and get back that of the ones that they replace.

        `is_written`: the triggers have counted them already.

        Raises:
            GroupFull: the group has less room; nothing is taken.
        """
        limits = _limits_of(group)
        if not any(limits):
            return
        came, went = [len(text.encode()) for text in gained], [len(text.encode()) for text in lost]
        more = len(came) - len(went), sum(came) - sum(went)
        if group.key not in self._used:
            use = use_of(group)
            seen = more if is_written else (0, 0)
            self._used[group.key] = use.memories - seen[0], use.bytes - seen[1]
        names = (("memories", "--max-memories"), ("bytes of text", "--max-bytes"))
        for used, new, limit, (noun, option) in zip(self._used[group.key], more, limits, names, strict=True):
            if limit and new > 0 and used + new > limit:
                raise GroupFull(
                    f"The group '{group.slug}' holds {used:,} of at most {limit:,} {noun}, and this would add {new:,}.",
                    hint="Retract, forget or purge memories to make room. An admin of all groups can change the limit:"
                    f" loci group update {group.slug} {option} N.",
                    field="group",
                )
        memories, size = self._used[group.key]
        self._used[group.key] = memories + more[0], size + more[1]


def check_may_limit(actor: Actor, **limits: int | None) -> None:
    """Raise NotPermitted or InvalidInput unless the actor may set these limits of a group."""
    for name, value in limits.items():
        if value is None:
            continue
        if not actor.is_admin_of_all:
            raise NotPermitted(
                "Only an admin of all groups can change how much a group may hold.",
                hint="Ask a superuser.",
                field=name,
            )
        if not 0 <= value <= MOST:
            raise InvalidInput(
                f"{name} must be between 0 and {MOST:,}; 0 is the instance's limit.", field=name
            )
