"""One memory takes the place of another: superseded, it was true until now; merged, two become one. Both stay as history."""

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from access.actor import CURATE, WRITE, Actor
from access.audit import one_change
from access.audit.operations import Operation
from access.errors import Conflict
from access.groups import hold_groups
from memories.draft import EditDraft, clean_reason
from memories.draft.registry import BY_NAME, MERGED
from memories.lifecycle.approve import move_references
from memories.lifecycle.edit import PreparedEdit, carry_out_edit, prepare_edit
from memories.lifecycle.propose import change_or_propose
from memories.lifecycle.target import (
    ChangeResult,
    change_fields,
    check_successor,
    find_head,
    find_shown,
    require_right,
    require_state,
    require_whole_id,
)
from memories.models import Link, LinkKind, Memory
from memories.queries.versions import check_one_group, find_memory, head_of
from memories.queries.visibility import has_begun
from memories.store.change import change_row
from memories.store.derived import DerivedChanges, withdraw_summaries
from memories.store.policy import Change
from memories.store.supersede import bring_plan_forward, valid_time_end
from memories.types import VISIBLE_TRUSTS, Scope, State, Trust, Type

# An undo subtracts the merged one's recalls instead of restoring the former number.
_UNITED: Final = tuple(name for name, _ in MERGED if name != "access_count")


@one_change
def merge(
    actor: Actor,
    from_id: str | UUID,
    into_id: str | UUID,
    *,
    content: str = "",
    reason: str = "",
    dry_run: bool = False,
) -> ChangeResult:
    """Merge `from` into `into`, which takes over its relations, names, links and counts.

    With `content` the survivor first gets a new version with that text. Restoring the merged memory undoes
    everything that has not been changed since. One transaction; the new text is embedded before it. An agent's merge
    waits as a proposal.

    Raises:
        NotPermitted: the actor may not curate the group of either; an agent: may not write there.
        Conflict: the two do not fit, one of them is not live or not trusted, or the new text is barred.
        NotFound: the actor may not see one of them.
    """
    reason = clean_reason(reason)
    # An agent only proposes the merge.
    right = CURATE if actor.is_person else WRITE
    source = find_head(actor, from_id, right=right)
    into = find_shown(actor, into_id, right=right, field="into")
    if not dry_run:
        require_whole_id(actor, from_id, source, verb="merge")
        require_whole_id(actor, into_id, into, verb="merge", field="into")
    _check_pair(source, into)
    ready = prepare_edit(actor, into.id, EditDraft(content=content)) if content else None
    run = partial(_carry_out_merge, actor, source, into, ready, reason=reason)
    arguments = {"into": str(into.id)} | ({"content": content} if content else {})
    return change_or_propose(
        actor, Change.MERGE, source, run, reason=reason, dry_run=dry_run, arguments=arguments
    )


def _carry_out_merge(
    actor: Actor, source: Memory, into: Memory, ready: PreparedEdit | None, *, reason: str, dry_run: bool
) -> ChangeResult:
    """Merge two memories that have been checked, in one transaction."""
    now = timezone.now()
    new = {"state": State.MERGED, "superseded_by": into, "retired_at": now}
    survivor = into

    def follow_up() -> DerivedChanges:
        nonlocal survivor
        survivor, followed = _unite(actor, source, into, ready, reason=reason)
        return replace(followed, changed=followed.changed + withdraw_summaries(actor, source).changed)

    consequences = (
        gettext("recall returns {id} in its place").format(id=into.id),
        gettext("'restore' separates the two again"),
    )
    with transaction.atomic():
        hold_groups([source.group_id])
        done = change_fields(
            actor, source, Operation.MERGE, new, consequences,
            reason=reason, dry_run=False, follow_up=follow_up,
        )  # fmt: skip
        transaction.set_rollback(dry_run)
    # A dry run's new version of the survivor is gone, and so is its id.
    if dry_run:
        return replace(done, changed=0, dry_run=True, successor=into.id)
    return replace(done, successor=survivor.id)


def _check_pair(source: Memory, into: Memory) -> None:
    """Raise Conflict if the two cannot be merged."""
    require_state(source, State.LIVE, verb="merge")
    require_state(into, State.LIVE, verb="merge")
    if source.root_key == into.root_key:
        raise Conflict("Both ids lead to the same memory.", hint="Nothing was changed.", field="into")
    if source.type != into.type:
        raise Conflict(
            f"One is {source.type}, the other {into.type}.",
            hint="Change the type of one first.",
            field="into",
        )
    if source.trust not in (*VISIBLE_TRUSTS, Trust.CANDIDATE) or into.trust not in VISIBLE_TRUSTS:
        raise Conflict(
            f"{source.id} is {source.trust} and {into.id} is {into.trust}; a rejected or quarantined memory "
            "cannot be merged, and nothing can be merged into a candidate.",
            hint="Approve it first.",
        )
    check_one_group(source, into.group, field="into")
    # A merge would show a text to more people, or hide it from some who see it now.
    if source.scope != into.scope:
        inner, outer = (source, into) if source.scope == Scope.GROUP else (into, source)
        raise Conflict(
            f"{inner.id} is visible only in the group '{inner.group.slug}', {outer.id} everywhere.",
            hint="Forget one of the two, or store its text with the other's scope.",
            field="into",
        )
    if Link.objects.filter(kind=LinkKind.DERIVED, source__in=[source.root_key, into.root_key]).exists():
        raise Conflict("One of them is a summary.", hint="Maintenance rewrites summaries.", field="into")


def _unite(
    actor: Actor, source: Memory, into: Memory, ready: PreparedEdit | None, *, reason: str
) -> tuple[Memory, DerivedChanges]:
    """Write the survivor's new version, unite the fields, and move all references; return the survivor."""
    survivor = into
    if ready is not None:
        survivor = carry_out_edit(actor, ready, reason=reason, is_decided=True).memory
        Memory.objects.filter(pk=source.pk).update(superseded_by=survivor)
    values = {name: merge_(getattr(source, name), getattr(survivor, name)) for name, merge_ in MERGED}
    # A text from outside is not verified by a merge: the person who verified the team's own did not look at it.
    if survivor.outside and not source.outside:
        values["trust"] = survivor.trust
    dates = _describe_dates(source, survivor)
    said: dict[str, Any] = {"from": str(source.id), "reason": reason}
    if values["valid_from"] != survivor.valid_from:  # who said that it is true from an earlier day
        said["valid_from_by"] = source.author_name
    seen, former = {"state": State.LIVE, "updated_at": survivor.updated_at}, copy(survivor)
    differences = change_row(actor, Operation.MERGE, survivor, values, seen=seen, **said)
    for plan in (former, source):
        bring_plan_forward(actor, plan, survivor, timezone.now())
    rows = move_references(source.root_key, into.root_key)
    is_new_version = survivor.pk != into.pk
    payload = {
        "into": str(survivor.id),
        "former": str(into.id) if is_new_version else None,
        "moved": rows,
        "united": {name: differences[name] for name in _UNITED if name in differences},
        "access_count": source.access_count,
    }
    consequences = [gettext("the survivor gets a new version")] if is_new_version else []
    consequences += dates
    if rows:
        line = ngettext("{rows} reference to it moves over", "{rows} references to it move over", rows)
        consequences.append(line.format(rows=rows))
    return survivor, DerivedChanges(1, tuple(consequences), payload)


def _describe_dates(source: Memory, into: Memory) -> list[str]:
    """A line on the valid time of both, if they differ: the survivor keeps the earlier beginning."""
    if source.valid_from == into.valid_from:
        return []
    kept = BY_NAME["valid_from"].merge
    start = kept(source.valid_from, into.valid_from) if kept is not None else into.valid_from
    moments = (source.valid_from, into.valid_from, start)
    own, other, day = (f"{at:%Y-%m-%d}" if at else gettext("an unknown day") for at in moments)
    line = gettext("it is true from {starts}, {id} from {starts2}: the survivor is true from {day}")
    return [line.format(starts=own, id=into.id, starts2=other, day=day)]


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
    old = require_right(actor, head_of(find_memory(actor, old_id)), right=WRITE)
    by = find_shown(actor, by_id, right=WRITE, field="by")
    require_state(old, State.LIVE, verb="supersede")
    check_successor(old, by, field="by")
    if (old.type == Type.ENTITY) != (by.type == Type.ENTITY):
        raise Conflict(f"One is {old.type}, the other {by.type}.", hint="Nothing was changed.", field="by")
    run = partial(_carry_out_supersede, actor, old, by, reason=reason)
    return change_or_propose(
        actor, Change.SUPERSEDE, old, run, reason=reason, dry_run=dry_run, arguments={"by": str(by.id)},
        confidence=by.confidence,
    )  # fmt: skip


def _carry_out_supersede(
    actor: Actor, old: Memory, by: Memory, *, reason: str, dry_run: bool
) -> ChangeResult:
    """Retire `old` in favour of `by`; both have been checked."""
    now = timezone.now()
    new = {"state": State.SUPERSEDED, "superseded_by": by} | valid_time_end(old, by, now)

    def follow_up() -> DerivedChanges:
        by.refresh_from_db()  # it may have changed before the group was held
        check_successor(old, by, field="by")
        moved = move_references(old.root_key, by.root_key) if old.type == Type.ENTITY else 0
        gone = withdraw_summaries(actor, old).changed
        bring_plan_forward(actor, old, by, now)
        return DerivedChanges(gone, payload={"by": str(by.id), "moved": moved})

    begins = gettext(" from {valid_from:%Y-%m-%d}: it counts until then")
    begins = "" if has_begun(by, now) else begins.format(valid_from=by.valid_from)
    line = gettext("{id} takes its place{begins}, and its id leads there").format(id=by.id, begins=begins)
    done = change_fields(
        actor, old, Operation.SUPERSEDE, new, (line,),
        reason=reason, dry_run=dry_run, follow_up=follow_up, settles=True,
    )  # fmt: skip
    return replace(done, successor=by.id)
