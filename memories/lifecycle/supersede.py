"""Superseding one memory by another: the old one was true until now and stays as history."""

from dataclasses import replace
from functools import partial
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext

from access.actor import WRITE, Actor
from access.audit.collect import one_change
from access.audit.operations import Operation
from access.errors import Conflict
from memories.lifecycle.approve import move_references
from memories.lifecycle.propose import change_or_propose
from memories.lifecycle.target import (
    ChangeResult,
    change_fields,
    check_successor,
    find_shown,
    require_right,
    require_state,
)
from memories.models import Memory
from memories.queries.versions import find_head_to_replace, find_memory
from memories.queries.visibility import has_begun
from memories.store.derived import DerivedChanges, withdraw_replaced
from memories.store.policy import Change
from memories.store.supersede import bring_plan_forward, valid_time_end
from memories.types import State, Type


@one_change
def supersede(
    actor: Actor, old_id: str | UUID, by_id: str | UUID, *, reason: str = "", dry_run: bool = False
) -> ChangeResult:
    """Replace one live memory by another: the old one was true until now and stays as history.

    An entity passes on its relations, names and links. Each memory keeps its own chain of versions. The change waits as
    a proposal where memories.store.policy says so.

    Raises:
        Conflict: one of the two is not live, both are the same or in two groups, or the successor is visible to fewer people.
        NotFound, NotPermitted: the actor may not see, or may not write, one of the two.
    """
    old = require_right(actor, find_head_to_replace(find_memory(actor, old_id)), right=WRITE)
    by = find_shown(actor, by_id, right=WRITE, field="by")
    require_state(old, State.LIVE, verb="supersede")
    check_successor(old, by, field="by")
    if (old.type == Type.ENTITY) != (by.type == Type.ENTITY):
        raise Conflict(f"One is {old.type}, the other {by.type}.", hint="Nothing was changed.", field="by")
    run = partial(carry_out_supersede, actor, old, by, reason=reason)
    return change_or_propose(
        actor, Change.SUPERSEDE, old, run, reason=reason, dry_run=dry_run, arguments={"by": str(by.id)},
        confidence=by.confidence,
    )  # fmt: skip


def carry_out_supersede(actor: Actor, old: Memory, by: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    """Retire `old` in favour of `by`; both have been checked."""
    now = timezone.now()
    new = {"state": State.SUPERSEDED, "superseded_by": by} | valid_time_end(old, by, now)

    def follow_up() -> DerivedChanges:
        moved = move_references(old.root_key, by.root_key) if old.type == Type.ENTITY else 0
        gone = withdraw_replaced(actor, old)
        bring_plan_forward(actor, old, by, now)
        return DerivedChanges(gone, payload={"by": str(by.id), "moved": moved})

    begins = (
        ""
        if has_begun(by, now)
        else gettext(" from {valid_from:%Y-%m-%d}: it counts until then").format(valid_from=by.valid_from)
    )
    consequences = (
        gettext("{id} takes its place{begins}, and its id leads there").format(id=by.id, begins=begins),
    )
    done = change_fields(
        actor, old, Operation.SUPERSEDE, new, consequences,
        reason=reason, dry_run=dry_run, follow_up=follow_up,
    )  # fmt: skip
    return replace(done, successor=by.id)
