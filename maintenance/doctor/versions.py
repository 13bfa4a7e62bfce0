"""Faulty version chains: cycles, and wrong roots."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F
from django.utils.translation import gettext

from memories.models import Memory
from memories.queries.versions import IN_TWO_GROUPS


@dataclass(frozen=True)
class ChainFault:
    """A version that breaks its chain, and why."""

    id: UUID
    why: str


def faulty_chains() -> list[ChainFault]:
    """Versions that supersede themselves in a circle, those whose root is not the first of the chain, and those whose root
    or successor is in another group.
    """
    return [*_cycles(), *_wrong_roots(), *_in_two_groups()]


def _cycles() -> Iterator[ChainFault]:
    successors = dict(
        Memory.objects.filter(superseded_by__isnull=False).order_by("key").values_list("key", "superseded_by")
    )
    in_cycle = keys_in_cycles(successors)
    for memory in Memory.objects.filter(key__in=in_cycle).order_by("key").only("id"):
        yield ChainFault(memory.id, gettext("leads back to itself"))


def keys_in_cycles(successors: Mapping[int, int | None]) -> list[int]:
    """Sorted keys that lie on a cycle of successors."""
    found: list[int] = []
    done: set[int] = set()
    for start in successors:
        path: list[int] = []
        on_path: set[int] = set()
        key: int | None = start
        while key is not None and key not in done and key not in on_path:
            path.append(key)
            on_path.add(key)
            key = successors.get(key)
        if key in on_path:
            found += path[path.index(key) :]
        done |= on_path
    return sorted(found)


def _wrong_roots() -> Iterator[ChainFault]:
    rows = Memory.objects.filter(root__isnull=False).order_by("key").only("id")
    for memory in rows.filter(root=F("key")):
        yield ChainFault(memory.id, gettext("names itself as its root"))
    for memory in rows.filter(root__root__isnull=False).exclude(root=F("key")):
        yield ChainFault(memory.id, gettext("has a root that has a root itself"))


def _in_two_groups() -> Iterator[ChainFault]:
    for memory in Memory.objects.filter(IN_TWO_GROUPS).order_by("key").only("id"):
        yield ChainFault(memory.id, gettext("is in another group than its chain"))
