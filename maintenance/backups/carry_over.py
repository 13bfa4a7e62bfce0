"""Carry over into an older backup what was withdrawn or became stricter since, so that restoring it brings none of it back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from access.actor import Actor
from access.errors import LociError
from access.models import Group
from maintenance.backups.open_copy import memory_ids
from maintenance.backups.purge import purged_ids
from maintenance.backups.stricter import PresentRights, keep_stricter, read_rights
from memories.lifecycle.purge import purge_from_copy
from memories.lifecycle.retract import HISTORY_STATES
from memories.lifecycle.verbs import reject, retract
from memories.models import Memory, Tombstone, TombstoneKind
from memories.store.withdrawn.tombstones import find_tombstones
from memories.types import WITHDRAWN_TRUSTS, State
from storage.bulk import batches

REASON = "withdrawn after the backup was made"


@dataclass(frozen=True)
class Withdrawals:
    """Withdrawals and rights known to the present store, read before it is replaced; None if it cannot be read."""

    tombstones: tuple[Tombstone, ...] = ()
    purged: frozenset[UUID] = frozenset()
    rights: PresentRights | None = None


@dataclass(frozen=True)
class CarriedOver:
    """What was withdrawn again in the restored store, and what stays as strict as it was; counts."""

    tombstones: int = 0  # set or lifted since the backup
    retracted: int = 0
    purged: int = 0
    stricter: Mapping[str, int] = field(default_factory=dict)  # by the names of stricter.WORDS
    left: tuple[str, ...] = ()  # what could not be withdrawn again, and why


def read_withdrawals() -> Withdrawals:
    """Read the withdrawals and rights of the opened store."""
    tombstones = Tombstone.objects.select_related("group").order_by("key")
    return Withdrawals(tuple(tombstones), purged_ids(), read_rights())


def carry_over(actor: Actor, withdrawals: Withdrawals) -> CarriedOver:
    """Copy newer tombstones into the opened copy, withdraw the memories they bar, keep stricter rights; one transaction."""
    with transaction.atomic():
        changed = [mark for kept in withdrawals.tombstones if (mark := _carry_tombstone(kept)) is not None]
        barred = find_barred(changed)
        purged = {id_ for id_, kind in barred.items() if kind == TombstoneKind.PURGED}
        again = sorted((withdrawals.purged & memory_ids()) | purged)
        gone = purge_from_copy(actor, again, reason=REASON) if again else 0
        retracted, left = 0, []
        for id_, kind in barred.items():
            if id_ not in purged:
                try:
                    withdraw = reject if kind == TombstoneKind.REJECTED else retract
                    withdraw(actor, id_, reason=REASON)
                    retracted += 1
                except LociError as refusal:
                    left.append(f"{id_}: {refusal}")
        kept, warnings = keep_stricter(actor, withdrawals.rights) if withdrawals.rights else ({}, [])
    return CarriedOver(len(changed), retracted, gone, kept, (*left, *warnings))


def _carry_tombstone(kept: Tombstone) -> Tombstone | None:
    """Create or update a tombstone in the copy; None if the copy already has it, or another one for its text."""
    existing = Tombstone.objects.filter(id=kept.id).first()
    if existing is not None:
        if (existing.kind, existing.lifted_at) == (kept.kind, kept.lifted_at):
            return None
        existing.kind, existing.reason = kept.kind, kept.reason
        existing.lifted_at, existing.lifted_by = kept.lifted_at, kept.lifted_by
        existing.save(update_fields=["kind", "reason", "lifted_at", "lifted_by"])
        return existing
    group = _group_in_copy(kept.group)
    same = Tombstone.objects.filter(group=group, hmac=kept.hmac, key_id=kept.key_id, lifted_at=None).first()
    if same is not None and kept.lifted_at is None:
        return None  # another tombstone already bars that text in the copy
    values = {
        field.name: getattr(kept, field.attname)
        for field in Tombstone._meta.concrete_fields
        if field.name != "key"
    }
    return Tombstone.objects.create(**values | {"group": group})


def _group_in_copy(kept: Group) -> Group:
    """The copy's group with this id or slug; a group made since the backup is created there, so that it can be barred."""
    found = Group.objects.filter(id=kept.id).first() or Group.objects.filter(slug=kept.slug).first()
    if found is not None:
        return found
    values = {f.name: getattr(kept, f.attname) for f in Group._meta.concrete_fields if f.name != "key"}
    return Group.objects.create(**values)


def find_barred(marks: list[Tombstone]) -> dict[UUID, str]:
    """Memories of the copy that these tombstones bar, with the tombstone's kind.

    These are live memories with a barred text, in any spelling, and the withdrawn memories themselves: a summary in the
    copy may contain one, and is withdrawn with it.
    """
    active = {mark.pk for mark in marks if mark.lifted_at is None}
    groups = {mark.group_id: mark.group for mark in marks if mark.pk in active}
    found = _withdrawn_versions([mark for mark in marks if mark.pk in active])
    for group in groups.values():
        rows = list(
            Memory.objects.filter(group=group, state=State.LIVE)
            .exclude(trust__in=WITHDRAWN_TRUSTS)
            .order_by("key")
            .values_list("id", "content")
        )
        for part in batches(rows):
            hits = find_tombstones(group, [text for _, text in part])
            found |= {id_: hits[text].kind for id_, text in part if text in hits and hits[text].pk in active}
    return found


def _withdrawn_versions(marks: list[Tombstone]) -> dict[UUID, str]:
    """Memories named by the tombstones that are compacted, merged, expired or forgotten in the copy."""
    kinds = {mark.memory_id: mark.kind for mark in marks if mark.kind != TombstoneKind.REJECTED}
    found = set[UUID]()
    for ids in batches(kinds):
        rows = Memory.objects.filter(id__in=ids, state__in=HISTORY_STATES)
        found.update(rows.values_list("id", flat=True))
    return {id_: kind for id_, kind in kinds.items() if id_ in found}
