"""Shared steps of every state change: find the memory, authorise the actor, update the row, audit."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext

from access import audit
from access.actor import Actor, Via
from access.additions import additions
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotPermitted
from access.groups import hold_groups
from access.models import Group
from memories.draft import clean_reason
from memories.language.cleaning import first_words
from memories.lifecycle.entering import said_by
from memories.lifecycle.purge import Certificate
from memories.models import Memory, Tombstone, TombstoneKind
from memories.queries.by_text import describe_twin, find_twin
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import (
    check_one_group,
    find_memory,
    head_of,
    parse_short_id,
    path_to_head,
    refuse_unseen,
    versions_of,
)
from memories.store.change import changed_meanwhile
from memories.store.derived import DerivedChanges
from memories.store.for_review import settle_doubts
from memories.store.supersede import (
    follow_withdrawal,
    is_withdrawn,
    is_withdrawn_now,
    put_plan_back,
    rows_called_off,
)
from memories.store.threads import refresh_around
from memories.store.withdrawn.left_out import hiding_marks
from memories.store.withdrawn.marks import (
    find_repeated,
    find_withdrawn,
    refuse_withdrawn_reason,
    repeated_text,
)
from memories.store.withdrawn.tombstones import follow_quarantine
from memories.types import VISIBLE_TRUSTS, WITHDRAWN_TRUSTS, Scope, State

_LIFT_HINT: Final = "A curator can lift the tombstone."
SHOWN_WORDS: Final = 30  # of a text before it is destroyed or merged


@dataclass(frozen=True)
class ChangeResult:
    """The result of a verb: the memory, its state and trust afterwards, the number of changed rows, the consequences.

    `successor` is the memory that took its place, if the verb put one there. `queued` says why the change waits for a
    curator instead, and `proposal` is the id under which it waits.
    """

    verb: str
    id: UUID
    state: str
    trust: str
    changed: int
    consequences: tuple[str, ...] = ()
    dry_run: bool = False
    certificate: Certificate | None = None
    changes: dict[str, list[Any]] = field(default_factory=dict)
    successor: UUID | None = None
    queued: str = ""
    proposal: UUID | None = None


def find_head(actor: Actor, id_: str | UUID, *, right: str) -> Memory:
    """The current version of a memory, found by the id of any version; the actor needs the right in its group."""
    return _find_row_and_head(actor, id_, right=right, field="id")[1]


def _find_row_and_head(actor: Actor, id_: str | UUID, *, right: str, field: str) -> tuple[Memory, Memory]:
    row = find_memory(actor, id_, field=field)
    head = require_right(actor, head_of(row), right=right)
    return row, head


def find_shown(actor: Actor, id_: str | UUID, *, right: str, field: str = "id") -> Memory:
    """find_head() for whoever stands behind a text: the id must be the current version's own.

    Raises:
        Conflict: a later version has another text, which the caller may not have seen.
    """
    row, head = _find_row_and_head(actor, id_, right=right, field=field)
    refuse_stale(id_, row, head, field=field)
    return head


def check_shown(actor: Actor, **ids: str | UUID) -> None:
    """Refuse as stale an id, by the name of its argument, whose text is no longer the current one; empty ones are left out."""
    for name, id_ in ids.items():
        if id_:
            row = find_memory(actor, id_, field=name)
            refuse_stale(row.id, row, head_of(row), field=name)


def refuse_stale(id_: str | UUID, row: Memory, head: Memory, *, field: str = "id") -> None:
    """Raise Conflict about the id of a row whose text is no longer the current one, that of `head`."""
    if head.key != row.key:
        raise Conflict(
            f"{id_} is stale: {head.id} has the current text.",
            hint="Nothing was changed. Look at that version, then decide about it by its own id.",
            field=field,
        )


def find_version(actor: Actor, id_: str | UUID, *, right: str) -> Memory:
    """Exactly the row with this id; the actor needs the right in its group."""
    return require_right(actor, find_memory(actor, id_), right=right)


def require_right(actor: Actor, memory: Memory, *, right: str) -> Memory:
    """Return the memory, or raise NotPermitted if the actor lacks the right in its group, NotFound if it sees neither."""
    if not actor.may(right, memory.group_id):
        refuse_unseen(actor, memory)
        raise NotPermitted(
            f"You may not {right} in the group '{memory.group.slug}'.",
            hint=f"Needs scope '{right}' and a role in the group that allows it.",
        )
    return memory


def require_whole_id(actor: Actor, id_: str | UUID, memory: Memory, *, verb: str, field: str = "id") -> None:
    """Refuse a short id over MCP and REST, showing the text: a mistyped one may name another memory.

    A command asks by itself, and a page shows what it is about.

    Raises:
        InvalidInput: the id is not whole.
    """
    if actor.via in (Via.MCP, Via.REST) and parse_short_id(id_):
        raise InvalidInput(
            f"To {verb} a memory, pass its whole id: {memory.id} is “{first_words(memory.content, SHOWN_WORDS)}”.",
            hint="Short ids are enough for a dry run, and for everything else.",
            field=field,
        )


def require_state(memory: Memory, *states: str, verb: str) -> None:
    """Raise Conflict unless the memory is in one of the states."""
    if memory.state not in states:
        raise Conflict(
            f"{memory.id} is {memory.state}; '{verb}' needs a memory that is {' or '.join(states)}.",
            hint="Nothing was changed.",
        )


def require_person(actor: Actor, action: str) -> None:
    """Raise NotPermitted if the actor is an agent."""
    if not actor.is_person:
        hint = "Do it in the browser or with a command."
        raise NotPermitted(f"Only a person can {action} a memory.", hint=hint)


def check_successor(old: Memory, by: Memory, *, field: str) -> None:
    """Raise Conflict if `by` may not take the place of `old`: recall must find it wherever it found `old`."""
    require_state(by, State.LIVE, verb="take the place of another")
    if old.root_key == by.root_key:
        raise Conflict("Both ids lead to the same memory.", hint="Name another one.", field=field)
    if by.trust not in VISIBLE_TRUSTS:
        raise Conflict(
            f"{by.id} is {by.trust}: recall would find nothing in its place.",
            hint="Approve it first, or name another one.",
            field=field,
        )
    check_one_group(old, by.group, field=field)
    if by.scope == Scope.GROUP and old.scope == Scope.GLOBAL:
        raise Conflict(
            f"{by.id} is visible only in the group '{by.group.slug}', {old.id} is not.",
            hint="Name a successor that is visible wherever this memory is.",
            field=field,
        )


def check_scope(memory: Memory) -> None:
    """Raise Conflict if a global memory would return to a group that has become private."""
    if memory.scope == Scope.GLOBAL and Group.objects.filter(pk=memory.group_id, private=True).exists():
        raise Conflict(
            f"{memory.id} is global, but the group '{memory.group.slug}' is private and holds no global memories.",
            hint="Store its text again; the new memory then belongs to the group.",
        )


def check_no_live_copy(memory: Memory) -> None:
    """Raise Conflict if restoring the memory would make a second row that counts of its text or of its chain."""
    # What counts because this plan was withdrawn is replaced by it again.
    besides = {memory.key, *(row.key for row in rows_called_off(memory))}
    later = next((v for v in versions_of(memory) if v.state == State.LIVE and v.key not in besides), None)
    if later is not None:
        raise Conflict(f"{later.id} is the current version.", hint="There is nothing to restore.")
    twin = find_twin(memory, counts=memory.trust in VISIBLE_TRUSTS)
    if twin is not None:
        raise Conflict(describe_twin(twin), hint="There is nothing to restore.")


def check_not_barred(actor: Actor, memory: Memory, *, takes_back: bool = False) -> None:
    """Raise Conflict if the memory's text was withdrawn; in other dress, a curator decides.

    A memory's own rejection bars nothing: whoever may approve it may take that back. `takes_back`: a person takes a decision
    of the Review back. Then no rejection bars it, since two memories that were rejected together would bar each other;
    recall leaves it out until the other decision is taken back as well.
    """
    decides = actor.decides(memory.group_id)

    def passes(mark: Tombstone) -> bool:
        if takes_back and decides:
            return mark.kind == TombstoneKind.REJECTED and mark.group_id == memory.group_id
        # What an agent brings back is another version than the rejected one, or stays rejected.
        is_alone = not decides and memory.trust not in WITHDRAWN_TRUSTS
        return mark.kind == TombstoneKind.REJECTED and any(
            mark.memory_id == row.id for row in ([memory] if is_alone else versions_of(memory))
        )

    withdrawn = find_withdrawn(memory.group, memory.scope, memory.content)
    if withdrawn is not None and not passes(withdrawn.tombstone):
        if withdrawn.is_refused:
            raise Conflict(capfirst(withdrawn.describe(actor)), hint=_LIFT_HINT)
        if not decides:
            line = f"Nothing was changed: {withdrawn.doubt(actor)}."
            raise Conflict(line, hint="Ask a curator of the group.")
    refuse_withdrawn_labels(actor, memory, passes=passes)
    # Recall would leave it out whatever its trust if its text was withdrawn after it was stored.
    hiding = [mark.key for mark in hiding_marks(memory)]
    for mark in Tombstone.objects.filter(key__in=hiding).order_by("key") if hiding else ():
        if not passes(mark):
            raise Conflict(
                f"Recall would still leave it out: after it was stored, its text was {mark.kind} here in other dress.",
                hint=f"To let it in, lift the tombstone {mark.id} first.",
            )


def refuse_withdrawn_labels(
    actor: Actor, memory: Memory, *, passes: Callable[[Tombstone], bool] = lambda _: False
) -> None:
    """Raise Conflict if the memory's thread, source, tags or metadata repeat a withdrawn text whose tombstone does not pass."""
    [repeated] = find_repeated([(memory.group_id, said_by(memory))])
    if repeated is not None and not passes(repeated[1].tombstone):
        raise repeated_text(actor, repeated[1], path=repeated[0])


def barred_line(memory: Memory) -> str:
    """The consequence that a withdrawn text is refused, and where."""
    where = gettext("in its group")
    if memory.scope == Scope.GLOBAL:
        where = gettext("in its group and as a global memory of any group")
    return gettext("the same text is refused {where} from now on").format(where=where)


def check_not_withdrawn(actor: Actor, memory: Memory, *, takes_back: bool) -> None:
    """Raise Conflict if the text, or the memory it was merged into, has been withdrawn since; see check_not_barred()."""
    check_not_barred(actor, memory, takes_back=takes_back)
    later = Memory.objects.filter(key__in=path_to_head(memory)).exclude(pk=memory.pk)
    retracted = later.filter(state=State.RETRACTED).order_by("key").first()
    if retracted is not None:
        raise Conflict(
            f"It became part of {retracted.id}, which was retracted.",
            hint="Store it again; a curator decides about it.",
        )


def change_fields(
    actor: Actor,
    memory: Memory,
    operation: Operation,
    new: dict[str, Any],
    consequences: tuple[str, ...],
    *,
    reason: str,
    dry_run: bool,
    follow_up: Callable[[], DerivedChanges | None] | None = None,
    settles: bool = False,
) -> ChangeResult:
    """Update the fields by compare-and-set, refresh the search columns, run `follow_up`, audit. One transaction.

    `settles`: it decides about the memory's open doubts too, and confirms a memory that counts then.

    A plan that is withdrawn before its day no longer ends what it was to replace; one that comes back does. A quarantine
    hides the former versions too.

    Raises:
        Conflict: the memory was changed meanwhile; nothing was done.
    """
    reason = clean_reason(reason)
    refuse_withdrawn_reason(actor, memory.group, reason)
    before = snapshot(memory)
    now = timezone.now()
    values = {**new, "updated_at": now} | ({"state_changed_at": now} if "state" in new else {})
    if settles and new.get("trust", memory.trust) in VISIBLE_TRUSTS:
        values["confirmed_at"] = now
    was_withdrawn = is_withdrawn_now(memory)
    with transaction.atomic():
        hold_groups([memory.group_id])
        if was_withdrawn and not is_withdrawn(new.get("state", memory.state), new.get("trust", memory.trust)):
            put_plan_back(actor, memory)
        seen = {"state": memory.state, "trust": memory.trust, "pinned": memory.pinned}
        if Memory.objects.filter(pk=memory.pk, **seen).update(**values) != 1:
            raise changed_meanwhile(memory)
        memory.refresh_from_db()
        refresh_around([memory])
        if was_withdrawn and not is_withdrawn(memory.state, memory.trust):
            for link in additions("comparisons of what counts anew"):
                link(actor, [memory])
        lines, kept = ((), {}) if was_withdrawn else follow_withdrawal(actor, memory)
        with_it = follow_quarantine(actor, memory) if "trust" in new else 0
        followed = (follow_up() if follow_up is not None else None) or DerivedChanges()
        if settles:
            settle_doubts(actor, memory, operation)
        memory.refresh_from_db()
        differences = changes(before, snapshot(memory))
        payload = {"changes": differences, "reason": reason} | followed.payload | kept
        audit.append(actor, operation, memory_id=memory.id, group=memory.group.id, payload=payload)
        transaction.set_rollback(dry_run)
    return ChangeResult(
        operation.value, memory.id, memory.state, memory.trust, 0 if dry_run else 1 + with_it + followed.changed,
        (*consequences, *lines, *followed.consequences), dry_run, changes=differences,
    )  # fmt: skip
