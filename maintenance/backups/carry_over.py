"""Carry over into an older backup what was withdrawn or became stricter since, so that restoring it brings none of it back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import LociError
from access.models import AuditEntry, Group
from maintenance.backups.open_copy import memory_ids
from maintenance.backups.purge import purged_ids
from maintenance.backups.stricter import PresentRights, keep_stricter, read_rights
from memories.lifecycle.purge import purge_from_copy
from memories.lifecycle.retract import HISTORY_STATES
from memories.lifecycle.verbs import move, quarantine, reject, retract
from memories.models import Memory, Tombstone, TombstoneKind
from memories.store.withdrawn.tombstones import find_tombstones
from memories.types import WITHDRAWN_TRUSTS, State, Trust
from storage.bulk import batches

REASON = "withdrawn after the backup was made"


@dataclass(frozen=True)
class Withdrawals:
    """Withdrawals and rights known to the present store, read before it is replaced; None if it cannot be read."""

    tombstones: tuple[Tombstone, ...] = ()
    purged: frozenset[UUID] = frozenset()
    quarantined: frozenset[UUID] = frozenset()
    moved: Mapping[str, tuple[UUID, Group]] = field(default_factory=dict)  # into private groups, by the log
    rights: PresentRights | None = None


@dataclass(frozen=True)
class CarriedOver:
    """What was withdrawn again in the restored store, and what stays as strict as it was; counts."""

    tombstones: int = 0  # set or lifted since the backup
    retracted: int = 0
    purged: int = 0
    moved: int = 0  # memories that stay in the private group into which they were moved
    stricter: Mapping[str, int] = field(default_factory=dict)  # by the names of stricter.WORDS
    left: tuple[str, ...] = ()  # what could not be withdrawn again, and why


def read_withdrawals() -> Withdrawals:
    """Read the withdrawals and rights of the opened store."""
    tombstones = Tombstone.objects.select_related("group").order_by("key")
    quarantined = Memory.objects.filter(trust=Trust.QUARANTINED).values_list("id", flat=True)
    return Withdrawals(tuple(tombstones), purged_ids(), frozenset(quarantined), _read_moved(), read_rights())


def _read_moved() -> dict[str, tuple[UUID, Group]]:
    """The memories that were moved and are in a private group, each with that group, by the hash of the move's row in the log."""
    moves = AuditEntry.objects.filter(origin=audit.OWN, operation=Operation.MOVE)
    logged = dict(moves.values_list("hash", "memory_id"))
    private = Memory.objects.filter(id__in=moves.values("memory_id"), group__private=True)
    groups = {row.id: row.group for row in private.select_related("group").only("id", "group")}
    return {hash_: (id_, groups[id_]) for hash_, id_ in logged.items() if id_ in groups}


def carry_over(actor: Actor, withdrawals: Withdrawals) -> CarriedOver:
    """Copy newer tombstones into the opened copy, withdraw the memories they bar, keep stricter rights; one transaction."""
    left = list[str]()

    def again(verb: Callable[..., object], id_: UUID, *args: str) -> bool:
        try:
            verb(actor, id_, *args, reason=REASON)
        except LociError as refusal:
            left.append(f"{id_}: {refusal}")
            return False
        return True

    with transaction.atomic():
        # First, since a group does not take in a text that it withdrew.
        moved = sum(again(move, id_, group.slug) for id_, group in _moved_since(withdrawals.moved))
        changed = [mark for kept in withdrawals.tombstones if (mark := _carry_tombstone(kept)) is not None]
        barred = find_barred(changed)
        purged = {id_ for id_, mark in barred.items() if mark.kind == TombstoneKind.PURGED}
        ids = sorted((withdrawals.purged & memory_ids()) | purged)
        gone = purge_from_copy(actor, ids, reason=REASON) if ids else 0
        retracted = sum(
            again(_verb_of(mark, id_, withdrawals), id_) for id_, mark in barred.items() if id_ not in purged
        )
        kept, warnings = keep_stricter(actor, withdrawals.rights) if withdrawals.rights else ({}, [])
    return CarriedOver(len(changed), retracted, gone, moved, kept, (*left, *warnings))


def _verb_of(mark: Tombstone, id_: UUID, withdrawals: Withdrawals) -> Callable[..., object]:
    """The verb that withdraws a memory as the present store did: a quarantine leaves the mark of a rejection."""
    if mark.kind != TombstoneKind.REJECTED:
        return retract
    return reject if withdrawals.quarantined.isdisjoint({id_, mark.memory_id}) else quarantine


def _moved_since(moved: Mapping[str, tuple[UUID, Group]]) -> list[tuple[UUID, Group]]:
    """The memories of the copy whose move its log does not know, each with its private group in the copy."""
    known = set(AuditEntry.objects.filter(operation=Operation.MOVE).values_list("hash", flat=True))
    since = dict(place for hash_, place in moved.items() if hash_ not in known)
    heads = Memory.objects.filter(superseded_by=None).select_related("group")  # the others go along
    rows = [row for part in batches(since) for row in heads.filter(id__in=part).order_by("key")]
    there = [(row, _group_in_copy(since[row.id])) for row in rows]
    return [(row.id, group) for row, group in there if row.group != group]


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


def find_barred(marks: list[Tombstone]) -> dict[UUID, Tombstone]:
    """Memories of the copy that these tombstones bar, with the tombstone.

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
            found |= {id_: hits[text] for id_, text in part if text in hits and hits[text].pk in active}
    return found


def _withdrawn_versions(marks: list[Tombstone]) -> dict[UUID, Tombstone]:
    """Memories named by the tombstones that are dormant, merged, expired or forgotten in the copy."""
    named = {mark.memory_id: mark for mark in marks if mark.kind != TombstoneKind.REJECTED}
    found = set[UUID]()
    for ids in batches(named):
        rows = Memory.objects.filter(id__in=ids, state__in=HISTORY_STATES)
        found.update(rows.values_list("id", flat=True))
    return {id_: mark for id_, mark in named.items() if id_ in found}
