"""What a memory must pass to count again: its text is not withdrawn or live elsewhere, and the guard looks once more."""

from copy import copy
from typing import Any

from access.actor import CURATE, Actor
from access.errors import SensitiveText
from access.models import Group
from memories.draft.guarding import guard_draft, held_for_person, stored_door
from memories.lifecycle.edit import as_draft
from memories.lifecycle.target import check_no_live_copy, check_not_barred, check_not_withdrawn, check_scope
from memories.models import FindingStatus, Memory, MemoryFinding
from memories.types import WITHDRAWN_TRUSTS, State, Trust


def admit_again(
    actor: Actor, memory: Memory, new: dict[str, Any], *, takes_back: bool = False
) -> dict[str, Any]:
    """Check that a memory may count again with these columns; return the columns that come out differently.

    A text that the guard would hold today goes to quarantine, unless a curator lets it in or a person has kept it. An end that passed meanwhile
    has passed: recall asks for the time. `takes_back`: see check_not_barred().

    Raises:
        Conflict: its text was withdrawn, or is live elsewhere; a later version counts; its group became private.
    """
    as_new = with_values(memory, new)
    check_scope(as_new)
    if memory.state == State.SUPERSEDED:  # whatever became of a later version
        check_not_barred(actor, as_new, takes_back=takes_back)
    else:
        check_not_withdrawn(actor, as_new, takes_back=takes_back)
    if new.get("state", memory.state) == State.LIVE:
        check_no_live_copy(as_new)
    trust = new.get("trust", memory.trust)
    is_decided = actor.is_person and actor.may(CURATE, as_new.group_id)
    if is_decided or trust in WITHDRAWN_TRUSTS or _was_kept(memory):
        return {}
    return {"trust": Trust.QUARANTINED} if _is_held(as_new, as_new.group) else {}


def with_values(memory: Memory, new: dict[str, Any]) -> Memory:
    """A copy of the memory with other values of some columns, not saved."""
    as_new = copy(memory)
    as_new._state = copy(memory._state)
    as_new._state.fields_cache = {}
    for name, value in new.items():
        setattr(as_new, name, value)
    return as_new


def _was_kept(memory: Memory) -> bool:
    """True if a person decided that what the guard found in it may stay."""
    return MemoryFinding.objects.filter(memory=memory, status=FindingStatus.KEPT).exists()


def _is_held(memory: Memory, group: Group) -> bool:
    """True if the guard would hold the memory's text for a person today."""
    try:
        return bool(held_for_person(guard_draft(as_draft(memory), group, stored_door(memory))))
    except SensitiveText:
        return True
