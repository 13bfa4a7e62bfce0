"""Twins: the same words stored in one group under another scope or type. A withdrawal of one withdraws them all."""

from django.db.models import Exists, OuterRef, Q

from memories.models import Memory
from memories.models.text_lookup import fold_start, fold_starts_with
from memories.queries.snapshot import TIED
from memories.types import VISIBLE_TRUSTS, State, Type


def live_twins(memory: Memory) -> list[Memory]:
    """Give the other live memories of the group that say the same words, however they are spelt.

    Events are never twins: two that are told alike are two events.
    """
    if memory.type == Type.EPISODIC:
        return []
    alike = Memory.objects.filter(
        fold_starts_with(fold_start(memory.fold_hash)),
        group=memory.group_id, fold_hash=memory.fold_hash, state=State.LIVE,
    )  # fmt: skip
    others = alike.exclude(type=Type.EPISODIC).exclude(Q(key=memory.root_key) | Q(root=memory.root_key))
    rows = others.exclude(key=memory.key).select_related(*TIED)
    # Unordered: sorted by key, SQLite would rather read the whole group.
    return sorted(rows.order_by(), key=lambda row: row.key)


def counting_twins(memory: Memory) -> list[Memory]:
    """Give the twins that recall returns; a candidate cannot be approved once its text is barred."""
    return [twin for twin in live_twins(memory) if twin.trust in VISIBLE_TRUSTS]


def single_twins(memory: Memory) -> list[Memory]:
    """Give the twins that have no other version: a purge may destroy them without destroying another text."""
    keys = [twin.key for twin in live_twins(memory)]
    later = Memory.objects.filter(root=OuterRef("key"))
    alone = Memory.objects.filter(~Exists(later), key__in=keys, root=None)
    return list(alone.select_related(*TIED).order_by("key"))
