"""What moves together: a memory with all its versions, its other wordings, and what it replaced or sums up."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from django.db.models import Q

from memories.models import Memory
from memories.queries.snapshot import RELATED_ROWS
from memories.types import State

T = TypeVar("T")
KEYS_AT_ONCE = 400  # a database limits the number of parameters
WENT_IN = (State.MERGED, State.SUPERSEDED, State.COMPACTED)


@dataclass
class MovingFamily:
    """A current memory and every row of its group that leads to it."""

    head: Memory
    rows: list[Memory] = field(default_factory=list)

    @property
    def roots(self) -> set[int]:
        """The keys of the chains' roots, which relations, names and links point to."""
        return {row.root_key for row in self.rows}


def chunks(keys: Iterable[T], size: int = KEYS_AT_ONCE) -> Iterator[list[T]]:
    """The keys in lists that fit into one query."""
    found = list(keys)
    return (found[at : at + size] for at in range(0, len(found), size))


def families_of(heads: Sequence[Memory]) -> list[MovingFamily]:
    """The families of current memories of one group, in their order; rows of other groups are left out.

    The number of queries grows with the length of the chains and every 400 memories, not with each.
    """
    families = {head.key: MovingFamily(head, [head]) for head in heads}
    owner = {head.key: head.key for head in heads}
    by_root = {head.root_key: head.key for head in heads}
    fresh: list[Memory] = list(heads)
    while fresh:
        found = [row for row in leading_to(fresh) if row.key not in owner]
        fresh = []
        for row in found:
            head = by_root.get(row.root_key) or owner.get(row.superseded_by_id or 0)
            if head is None or row.key in owner:
                continue
            owner[row.key] = head
            by_root.setdefault(row.root_key, head)
            families[head].rows.append(row)
            fresh.append(row)
    for family in families.values():
        family.rows.sort(key=lambda row: row.key)
    return list(families.values())


def leading_to(rows: Collection[Memory]) -> Iterator[Memory]:
    """The rows of the same group that share a chain with one of these, or that became part of one."""
    group = {row.group_id for row in rows}
    wanted = {(row.key, row.root_key) for row in rows}
    for some in chunks(sorted(wanted), KEYS_AT_ONCE // 2):
        keys, roots = [key for key, _ in some], {root for _, root in some}
        related = Q(superseded_by__in=keys, state__in=WENT_IN) | Q(root__in=roots) | Q(key__in=roots)
        yield from Memory.objects.filter(related, group__in=group).select_related(*RELATED_ROWS)
