"""Moving one memory to another group, and back."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, ngettext

from access.actor import CURATE, WRITE, Actor
from access.audit.collect import one_change
from access.audit.operations import Operation
from access.errors import Conflict, NotPermitted
from access.groups import check_access, find_group
from access.groups.locks import hold_groups
from access.models import Group
from memories.draft import clean_reason
from memories.lifecycle.regroup.carry_out import carry_out_move
from memories.lifecycle.regroup.families import families_of
from memories.lifecycle.regroup.plan import MovePlan, plan_move
from memories.lifecycle.regroup.traces import find_traces
from memories.lifecycle.target import ChangeResult, find_head, require_person
from memories.models import Link, Memory, Proposal, ProposalStatus
from memories.queries.snapshot import RELATED_ROWS
from memories.store.withdrawn.texts import refuse_withdrawn_reason
from memories.types import Scope

TO = "to"  # the argument that errors name


def find_target(actor: Actor, source: Group, slug: str) -> Group:
    """The group to move to. The one place where the rights of every move are checked: curate in both groups.

    Raises:
        GroupNotFound, NotPermitted: the target is missing, archived or closed, or the actor may not curate both.
        Conflict: both are the same group.
    """
    require_person(actor, "move")
    if not actor.may(CURATE, source.key):
        raise NotPermitted(
            gettext("You may not curate in the group '{group}'.").format(group=source.slug),
            hint=gettext("Moving needs the role curator in both groups."),
        )
    target = find_group(actor, slug, right=CURATE)
    check_access(actor, target.slug, target, WRITE)  # an archived group takes nothing
    if target.key == source.key:
        line = gettext("It is in '{group}' already.").format(group=target.slug)
        raise Conflict(line, hint=gettext("Nothing was changed."), field=TO)
    return target


@one_change
def move(
    actor: Actor,
    id_: str | UUID,
    to: str,
    *,
    reason: str = "",
    dry_run: bool = False,
    with_traces: bool = True,
) -> ChangeResult:
    """Move a memory to another group, with its versions, vectors, names, relations, tags and waiting proposals.

    Its ids stay. `with_traces`: say what keeps naming it in the old group.

    Raises:
        NotPermitted, GroupNotFound: the actor may not curate both groups.
        Conflict: the target has or withdrew its text, or does not take it as it is; nothing was changed.
    """
    memory = find_head(actor, id_, right=CURATE)
    source, target = memory.group, find_target(actor, memory.group, to)
    reason = clean_reason(reason)
    refuse_withdrawn_reason(actor, source, reason)
    refuse_withdrawn_reason(actor, target, reason)
    with transaction.atomic():
        hold_groups(sorted((source.key, target.key)))
        plan = plan_move(families_of(read_heads([memory.key], source)), source, target)
        if not plan.moving:
            why = plan.staying[0].why if plan.staying else gettext("it has changed meanwhile")
            raise Conflict(stays_line(memory.id, source, why), hint=gettext("Nothing was changed."), field=TO)
        consequences = describe_move(plan, with_traces=with_traces)
        followed = carry_out_move(actor, plan, reason=reason)
        transaction.set_rollback(dry_run)
    return ChangeResult(
        Operation.MOVE.value, memory.id, memory.state, memory.trust, 0 if dry_run else len(plan.rows),
        (*consequences, *followed), dry_run, changes={"group": [source.slug, target.slug]},
    )  # fmt: skip


def read_heads(keys: Sequence[int], group: Group) -> list[Memory]:
    """The memories as they are now, in a group."""
    rows = Memory.objects.filter(key__in=keys, group=group).select_related(*RELATED_ROWS)
    return list(rows.order_by("key"))


def stays_line(id_: UUID, group: Group, why: str) -> str:
    """That a memory stays, and why."""
    return gettext("{id} stays in '{group}': {why}.").format(id=id_, group=group.slug, why=why)


def describe_move(plan: MovePlan, *, with_traces: bool) -> tuple[str, ...]:
    """The consequences of moving one memory, before it is carried out."""
    [family] = plan.moving
    source, target = plan.source, plan.target
    seen = (
        gettext("every group finds it as before")
        if family.head.scope == Scope.GLOBAL
        else gettext("recall in '{source}' no longer finds it, in '{target}' it does").format(
            source=source.slug, target=target.slug
        )
    )
    lines = [gettext("it is in '{group}', with the same id: {seen}").format(group=target.slug, seen=seen)]
    if former := len(family.rows) - 1:
        line = ngettext(
            "along with it: {count} former version and other wordings",
            "along with it: {count} former versions and other wordings",
            former,
        )
        lines.append(line.format(count=former))
    if along := len(plan.relations):
        line = ngettext("along with it: {count} relation", "along with it: {count} relations", along)
        lines.append(line.format(count=along))
    lines += describe_ties(plan)
    if with_traces and (traces := find_traces(family.rows, source).describe(source)):
        lines.append(traces)
    return tuple(lines)


def describe_ties(plan: MovePlan) -> list[str]:
    """What names the one memory that moves: proposals, links, and its source."""
    [family] = plan.moving
    source, target, keys = plan.source, plan.target, [row.pk for row in family.rows]
    lines = list[str]()
    waiting = Proposal.objects.filter(status=ProposalStatus.WAITING, group=source, memory__in=keys).count()
    if waiting:
        line = ngettext(
            "{count} proposal about it: curators of '{group}' decide now",
            "{count} proposals about it: curators of '{group}' decide now",
            waiting,
        )
        lines.append(line.format(count=waiting, group=target.slug))
    linked = Link.objects.filter(source__in=family.roots).exclude(target__in=family.roots).count()
    linked += Link.objects.filter(target__in=family.roots).exclude(source__in=family.roots).count()
    if linked:
        line = ngettext(
            "{count} link to other memories: shown to those who may read both ends",
            "{count} links to other memories: shown to those who may read both ends",
            linked,
        )
        lines.append(line.format(count=linked))
    if any(row.source_ref for row in family.rows):
        line = gettext("a later import of its source into '{source}' updates it in '{target}'")
        lines.append(line.format(source=source.slug, target=target.slug))
    return lines
