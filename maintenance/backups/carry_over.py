"""What an older backup must not bring back: withdrawn and purged texts, and revoked tokens, are carried over into it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from access.actor import Actor
from access.errors import LociError
from access.models import ApiToken, Group
from maintenance.backups.open_copy import memory_ids
from maintenance.backups.purge import purged_ids
from memories.lifecycle.purge import purge_from_copy
from memories.lifecycle.retract import HISTORY_STATES
from memories.lifecycle.verbs import retract
from memories.models import Memory, Tombstone, TombstoneKind
from memories.store.tombstones import find_tombstones
from memories.types import State

REASON = "withdrawn after the backup was made"
ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class Withdrawals:
    """What the present store knows of what may not come back, read before it makes way."""

    tombstones: tuple[Tombstone, ...] = ()
    purged: frozenset[UUID] = frozenset()
    revoked: tuple[tuple[UUID, datetime], ...] = ()


@dataclass(frozen=True)
class CarriedOver:
    """What was done to the restored store so that nothing withdrawn is back in it; counts."""

    tombstones: int = 0  # laid or lifted since the backup
    retracted: int = 0
    purged: int = 0
    tokens_revoked: int = 0
    left: tuple[str, ...] = ()  # what could not be withdrawn again, and why


def read_kept() -> Withdrawals:
    """Read from the opened store what has to be carried over."""
    revoked = ApiToken.objects.filter(revoked_at__isnull=False).values_list("id", "revoked_at")
    return Withdrawals(
        tuple(Tombstone.objects.select_related("group").order_by("key")),
        purged_ids(),
        tuple((id_, at) for id_, at in revoked if at is not None),
    )


def carry_over(actor: Actor, kept: Withdrawals) -> CarriedOver:
    """Lay in the opened copy what was laid since, and withdraw again what it bars; one transaction."""
    with transaction.atomic():
        changed = [mark for kept_one in kept.tombstones if (mark := _carried(kept_one)) is not None]
        barred = _barred(changed)
        purged = {id_ for id_, kind in barred.items() if kind == TombstoneKind.PURGED}
        again = sorted((kept.purged & memory_ids()) | purged)
        gone = purge_from_copy(actor, again, reason=REASON) if again else 0
        retracted, left = _retract(actor, [id_ for id_ in barred if id_ not in purged])
        revoked = sum(
            ApiToken.objects.filter(id=id_, revoked_at=None).update(revoked_at=at) for id_, at in kept.revoked
        )
    return CarriedOver(len(changed), retracted, gone, revoked, tuple(left))


def _carried(kept: Tombstone) -> Tombstone | None:
    """Give the tombstone as it now stands in the copy; None where it stood there like this already."""
    there = Tombstone.objects.filter(id=kept.id).first()
    if there is not None:
        if (there.kind, there.lifted_at) == (kept.kind, kept.lifted_at):
            return None
        there.kind, there.reason = kept.kind, kept.reason
        there.lifted_at, there.lifted_by = kept.lifted_at, kept.lifted_by
        there.save(update_fields=["kind", "reason", "lifted_at", "lifted_by"])
        return there
    group = _same_group(kept.group)
    same = Tombstone.objects.filter(group=group, hmac=kept.hmac, key_id=kept.key_id, lifted_at=None).first()
    if same is not None and kept.lifted_at is None:
        return None  # another one bars that text there
    values = {
        field.name: getattr(kept, field.attname)
        for field in Tombstone._meta.concrete_fields
        if field.name != "key"
    }
    return Tombstone.objects.create(**values | {"group": group})


def _same_group(kept: Group) -> Group:
    """Give the group in the copy; one that was made since, with what makes it the same, so that it is barred there."""
    found = Group.objects.filter(id=kept.id).first() or Group.objects.filter(slug=kept.slug).first()
    if found is not None:
        return found
    values = {f.name: getattr(kept, f.attname) for f in Group._meta.concrete_fields if f.name != "key"}
    return Group.objects.create(**values)


def _barred(marks: list[Tombstone]) -> dict[UUID, str]:
    """Find what these tombstones bar: live memories of their text, in whatever spelling, and the memories themselves.

    One that was withdrawn may be in a summary of the copy, which goes with it. Gives each one's kind.
    """
    standing = {mark.pk for mark in marks if mark.lifted_at is None}
    groups = {mark.group_id: mark.group for mark in marks if mark.pk in standing}
    found = _withdrawn_history([mark for mark in marks if mark.pk in standing])
    for group in groups.values():
        rows = list(
            Memory.objects.filter(group=group, state=State.LIVE).order_by("key").values_list("id", "content")
        )
        for at in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[at : at + ROWS_AT_ONCE]
            hits = find_tombstones(group, [text for _, text in part])
            found |= {
                id_: hits[text].kind for id_, text in part if text in hits and hits[text].pk in standing
            }
    return found


def _withdrawn_history(marks: list[Tombstone]) -> dict[UUID, str]:
    kinds = {mark.memory_id: mark.kind for mark in marks}
    ids, found = list(kinds), set[UUID]()
    for at in range(0, len(ids), ROWS_AT_ONCE):
        rows = Memory.objects.filter(id__in=ids[at : at + ROWS_AT_ONCE], state__in=HISTORY_STATES)
        found.update(rows.values_list("id", flat=True))
    return {id_: kinds[id_] for id_ in ids if id_ in found}


def _retract(actor: Actor, ids: list[UUID]) -> tuple[int, list[str]]:
    done, left = 0, []
    for id_ in ids:
        try:
            retract(actor, id_, reason=REASON)
            done += 1
        except LociError as refusal:
            left.append(f"{id_}: {refusal}")
    return done, left
