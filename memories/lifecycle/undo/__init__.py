"""Undo of a single write: its answer carries an undo id, with which the same token takes it back for 24 hours."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from access.actor import Actor
from access.audit.collect import WrittenRow
from access.audit.operations import Operation
from access.audit.retry import retried
from memories.lifecycle.undo.undo_id import make_undo_id
from memories.lifecycle.undo.write import find_write, telling_operation
from memories.lifecycle.undo.write_undo import WRITE_UNDO

__all__ = ["UndoneWrite", "undo_id_of", "undo_write"]


@dataclass(frozen=True)
class UndoneWrite:
    """What was undone: the operation of the write, the memories that it wrote, the consequences in words."""

    undone: str
    ids: tuple[UUID, ...]
    consequences: tuple[str, ...]


def undo_id_of(actor: Actor, rows: Sequence[WrittenRow]) -> str:
    """The undo id of a write that appended these log rows; empty if it cannot be undone, such as a purge."""
    if telling_operation(row.operation for row in rows) is None:
        return ""
    return make_undo_id(actor, [row.key for row in rows])


@retried
def undo_write(actor: Actor, undo_id: str) -> UndoneWrite:
    """Undo a write of the same token, less than 24 hours old. One transaction: all of it or nothing.

    Raises:
        InvalidInput, NotFound: the id names no write of this token.
        Conflict: it is too old, somebody else built on it since, or a policy, verification or pin stands against it.
        NotPermitted: the actor may no longer write there.
    """
    with transaction.atomic():
        write = find_write(actor, undo_id)
        lines = WRITE_UNDO[write.operation](actor, write)
    stays = tuple(
        gettext("the group '{partition}' stays").format(partition=row.subject.partition(":")[2])
        for row in write.of(Operation.GROUP)
        if row.payload.get("action") == "create"
    )
    ids = dict.fromkeys(row.memory_id for row in write.rows if row.memory_id is not None)
    return UndoneWrite(write.operation.value, tuple(ids), tuple(dict.fromkeys((*lines, *stays))))
