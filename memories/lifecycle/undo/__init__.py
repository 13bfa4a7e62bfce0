"""Undo of a single write: its answer carries an undo id, with which the same token takes it back for 24 hours.

The id names the change to the server, and tells others nothing: it is one block of AES, as the cursors of lists are,
of the number of the change; the log says whose change it is.
"""

from base64 import b32decode, b32encode
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext

from access import audit
from access.actor import Actor
from access.answers import Answer
from access.audit import Work, one_change
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound
from access.models import AuditEntry, RowChange
from memories.lifecycle.undo.reverse import Terms, held_error, reverse
from memories.lifecycle.undo.rows import rows_of
from memories.models import Memory
from memories.queries.versions import refuse_unseen
from memories.store.policy import Change, held_back
from storage.compiled_queries import CompiledQuery
from storage.encryption.pages import BLOCK_BYTES, decrypt_block, encrypt_block

__all__ = ["UNDO_HOURS", "UndoneWrite", "undo_id_of", "undo_write"]

UNDO: Final = "undo"  # the argument that errors name
UNDO_HOURS: Final = 24
PURPOSE: Final = "undo id"
_ID_CHARS: Final = 26  # a block in base 32
REASON: Final = "the write was undone"
# Which row of a write says what it was, the most telling first, and the change of the trust table that it was.
TELLING: Final[dict[Operation, Change | None]] = {
    Operation.RELATE: None,
    Operation.CHECKPOINT: None,
    Operation.PROPOSE: None,
    Operation.MOVE: None,
    Operation.MERGE: None,
    Operation.RETRACT: Change.RETRACT,
    Operation.RESTORE: Change.RESTORE,
    Operation.EDIT: Change.LABEL,
    Operation.FORGET: Change.FORGET,
    Operation.DISPUTE: Change.DISPUTE,
    Operation.PIN: None,
    Operation.UNPIN: Change.PIN,  # its undo pins, which is for people
    Operation.STORE: Change.STORE,
    Operation.REINFORCE: None,
    Operation.TRUST: None,
    Operation.SUPERSEDE: Change.SUPERSEDE,
}
# A purge destroyed the values; a whole conversation is moved, or brought back, as a whole.
NEVER: Final = frozenset({Operation.PURGE, Operation.THREAD})
_ONE_ROW_OF = CompiledQuery(
    lambda change: RowChange.objects.filter(change=change).order_by("key").values_list("key")[:1]
)


@dataclass(frozen=True)
class UndoneWrite(Answer):
    """What was undone: the operation of the write, the memories that it wrote, the consequences in words."""

    undone: str
    ids: tuple[UUID, ...]
    consequences: tuple[str, ...]


def undo_id_of(actor: Actor, work: Work) -> str:
    """The undo id of a write; empty if it cannot be undone, such as a purge, or changed nothing."""
    operations = {row.operation for row in work.rows}
    if not operations or operations & NEVER or not operations & TELLING.keys():
        return ""
    if Operation.UNPIN in operations and not actor.is_person:
        return ""
    if Operation.STORE not in operations and _ONE_ROW_OF.first(work.change) is None:
        return ""  # what is stored is a new row, without a look
    encrypted = encrypt_block(PURPOSE, work.change.to_bytes(BLOCK_BYTES, "big"))
    return b32encode(encrypted).decode().rstrip("=").lower()


def _read_undo_id(text: str) -> int:
    """The change of an id; made-up ones have some too. Raises InvalidInput if it cannot be an id."""
    try:
        encrypted = b32decode(text.strip().upper() + "======") if len(text.strip()) == _ID_CHARS else b""
    except ValueError:
        encrypted = b""
    if len(encrypted) != BLOCK_BYTES:
        raise InvalidInput(
            "This is not an undo id.", hint="Pass 'undo' of the answer to your write.", field=UNDO
        )
    # A made-up id may have any number; those that the database cannot hold name nothing.
    return int.from_bytes(decrypt_block(PURPOSE, encrypted), "big") & (2**63 - 1)


@one_change
def undo_write(actor: Actor, undo_id: str) -> UndoneWrite:
    """Undo a write of the same token, less than 24 hours old. One transaction: all of it or nothing.

    Raises:
        InvalidInput, NotFound: the id names no write of this token.
        Conflict: it is too old, was built on since, or a policy, verification or pin stands against it.
        NotPermitted: the actor may no longer write there.
    """
    change = _read_undo_id(undo_id)
    entries = _find_write(actor, change)
    operation = next(each for each in TELLING if each in {entry.operation for entry in entries})
    _refuse_held(actor, TELLING[operation], [each for each in entries if each.operation == operation])
    rows = rows_of([change])
    if not rows:
        raise Conflict("It was undone already.", hint="Nothing was changed.", field=UNDO)
    done = reverse(actor, rows, Terms(REASON, field=UNDO))
    stays = [
        gettext("the group '{partition}' stays").format(partition=entry.subject.partition(":")[2])
        for entry in entries
        if entry.operation == Operation.GROUP and entry.payload.get("action") == "create"
    ]
    ids = dict.fromkeys(entry.memory_id for entry in entries if entry.memory_id is not None)
    return UndoneWrite(operation.value, tuple(ids), tuple(dict.fromkeys((*done.lines, *stays))))


def _find_write(actor: Actor, change: int) -> list[AuditEntry]:
    """The log rows of the write that an undo id names.

    Raises:
        NotFound: it is not a write of this token.
        Conflict: it is older than UNDO_HOURS, or its text was purged.
    """
    mine = {"origin": audit.OWN, "change": change, "actor": actor.name, "token": actor.token_id}
    found = list(AuditEntry.objects.filter(**mine).order_by("key").select_related("payload_row"))
    if not found:
        raise NotFound(
            "No write of this token has that undo id.",
            hint="Pass 'undo' of the answer to your own write.",
            field=UNDO,
        )
    if found[0].at <= timezone.now() - timedelta(hours=UNDO_HOURS):
        raise Conflict(
            f"An undo id is good for {UNDO_HOURS} hours.", hint="Use a verb, or ask a curator.", field=UNDO
        )
    if not all(hasattr(entry, "payload_row") for entry in found):
        raise Conflict("This write cannot be undone any more: its text was purged.", field=UNDO)
    return found


def _refuse_held(actor: Actor, change: Change | None, entries: list[AuditEntry]) -> None:
    """Raise Conflict with the reason if the write itself would wait for a curator today."""
    if change is None:
        return
    ids = {entry.memory_id for entry in entries if entry.memory_id is not None}
    for memory in Memory.objects.filter(id__in=ids).select_related("group"):
        refuse_unseen(actor, memory)  # it was moved since
        if why := held_back(actor, change, memory):
            raise held_error(why, field=UNDO)
