"""Moving many memories of a group at once, and back: what access.groups.moving promises."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext, ngettext

from access import audit
from access.actor import CURATE, Actor
from access.audit.collect import one_change
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, refuse_unstorable
from access.groups import find_group
from access.groups.locks import hold_groups
from access.groups.moving import PartFilter, PartMove
from access.models import AuditEntry, Group
from memories.draft import check_choice, check_tags, clean_reason
from memories.lifecycle.regroup.carry_out import carry_out_move
from memories.lifecycle.regroup.families import families_of
from memories.lifecycle.regroup.moving import find_target, read_heads
from memories.lifecycle.regroup.plan import MovePlan, plan_move
from memories.lifecycle.regroup.traces import find_traces
from memories.lifecycle.target import require_person
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import rows_of
from memories.models import Memory
from memories.queries.expressions import HasTag
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import head_of
from memories.store.withdrawn.texts import refuse_withdrawn_reason
from memories.types import State, Type
from storage.changes import changing
from storage.ids import new_id

FOLLOWED = (State.SUPERSEDED, State.MERGED)  # of these, the current memory moves
UNDONE = "the move was undone"
MAX_SOURCES = 100  # of a filter


def move_part(
    actor: Actor, slug: str, to: str, wanted: PartFilter, reason: str = "", dry_run: bool = False
) -> PartMove:
    """Move the current memories of a group that the filter names; what the target does not take stays."""
    wanted = check_filter(wanted)
    source = find_group(actor, slug, right=CURATE)
    target = find_target(actor, source, to)
    return move_heads(
        actor, source, target, lambda: list(select_heads(source, wanted)), reason=reason, dry_run=dry_run
    )


def move_chosen(
    actor: Actor, chosen: Sequence[Memory], to: str, *, reason: str = "", dry_run: bool = False
) -> PartMove:
    """Move memories of one group, named by any of their versions; what the target does not take stays.

    Raises as access.groups.moving.move_memories() does.
    """
    source = chosen[0].group
    target = find_target(actor, source, to)
    keys = [head_of(row).key if row.state in FOLLOWED else row.key for row in chosen]
    return move_heads(actor, source, target, lambda: read_heads(keys, source), reason=reason, dry_run=dry_run)


def move_heads(
    actor: Actor,
    source: Group,
    target: Group,
    heads: Callable[[], list[Memory]],
    *,
    reason: str,
    dry_run: bool,
) -> PartMove:
    """Move current memories, read inside the transaction; a dry run rolls it back."""
    reason = clean_reason(reason)
    for group in (source, target):
        refuse_withdrawn_reason(actor, group, reason)
    run_id = new_id()
    actor = replace(actor, run=run_id)
    with changing(), transaction.atomic():
        hold_groups(sorted((source.key, target.key)))
        plan = plan_move(families_of(heads()), source, target)
        notes = describe_part(plan)
        notes += carry_out_move(actor, plan, reason=reason)
        if plan.moving:
            log_part(actor, plan.source, plan.target, len(plan.moving), is_undo=False)
        transaction.set_rollback(dry_run)
    run = run_id if plan.moving and not dry_run else None
    moved, rows = len(plan.moving), len(plan.rows)
    return PartMove(source.slug, target.slug, moved, rows, plan.staying, notes, run, dry_run=dry_run)


def check_filter(wanted: PartFilter) -> PartFilter:
    """The filter with its tags as they are stored. Raises InvalidInput for what no memory can have."""
    for type_ in wanted.types:
        check_choice(type_, Type.values, field="types")
    if len(wanted.sources) > MAX_SOURCES:
        raise InvalidInput(
            f"There are {len(wanted.sources)} sources; at most {MAX_SOURCES} are allowed.", field="sources"
        )
    for source in wanted.sources:
        refuse_unstorable(source, field="sources")
    tags = check_tags(wanted.tags)
    if wanted.tags and not tags:  # without tags, the whole group would move
        raise InvalidInput("The tags are empty.", hint="Leave them out to move all.", field="tags")
    return replace(wanted, tags=tags)


def select_heads(source: Group, wanted: PartFilter) -> QuerySet[Memory]:
    """The live memories that the filter names, in order."""
    rows = Memory.objects.filter(group=source, state=State.LIVE).select_related(*RELATED_ROWS)
    if wanted.types:
        rows = rows.filter(type__in=wanted.types)
    if wanted.sources:
        rows = rows.filter(source__in=wanted.sources)
    if wanted.tags:
        rows = rows.filter(Q(HasTag(F("tags"), *wanted.tags)))
    return rows.order_by("key")


def describe_part(plan: MovePlan) -> tuple[str, ...]:
    """What goes along with the memories, and what stays behind."""
    lines, rows = list[str](), plan.rows
    former = len(rows) - len(plan.moving)
    if former:
        line = ngettext(
            "along with them: {count} former version and other wordings",
            "along with them: {count} former versions and other wordings",
            former,
        )
        lines.append(line.format(count=former))
    if along := len(plan.relations):
        line = ngettext("along with them: {count} relation", "along with them: {count} relations", along)
        lines.append(line.format(count=along))
    if traces := find_traces(rows, plan.source).describe(plan.source):
        lines.append(traces)
    return tuple(lines)


def log_part(actor: Actor, source: Group, target: Group, moved: int, *, is_undo: bool) -> None:
    """Log the move as a whole in both groups' chains."""
    payload = {"action": "move-memories", "from": source.slug, "to": target.slug, "memories": moved}
    for group in (source, target):
        audit.append(
            actor, Operation.GROUP, group=group.id, subject=f"group:{group.slug}",
            payload=payload | {"undo": is_undo},
        )  # fmt: skip


@one_change
def undo_part(actor: Actor, slug: str, run: UUID, dry_run: bool = False) -> PartMove:
    """Move back what one run moved away from a group; all of it or nothing."""
    source = find_group(actor, slug, right=CURATE)
    require_person(actor, "move")
    came = AuditEntry.objects.filter(origin=audit.OWN, run=run, operation=Operation.MOVE).exclude(
        group=source.id
    )
    first = came.order_by("key").first()
    left = AuditEntry.objects.filter(origin=audit.OWN, run=run, operation=Operation.MOVE, group=source.id)
    if first is None or first.group is None or not left.exists():
        raise NotFound(
            f"No move from '{source.slug}' has the run {run}.",
            hint="The move's answer names its run.",
            field="run",
        )
    rows = rows_of([first.change or 0])  # 0.3.0 noted none
    ids = {id_ for id_ in came.values_list("memory_id", flat=True) if id_ is not None}
    if not rows or Memory.objects.filter(id__in=ids).count() < len(ids):
        line = gettext("Something of it has been moved on, or purged.")
        raise Conflict(line, hint=gettext("Nothing was changed. Move what is left by itself."), field="run")
    target = Group.objects.get(id=first.group)
    undoing = replace(actor, run=new_id())
    with transaction.atomic():
        moved = Memory.objects.filter(
            key__in=[row.row for row in rows if row.is_memory], state=State.LIVE
        ).count()
        reverse(undoing, rows, Terms(UNDONE, right=CURATE, field="run"))
        log_part(undoing, target, source, moved, is_undo=True)
        transaction.set_rollback(dry_run)
    return PartMove(target.slug, source.slug, moved, len(rows), is_undo=True, dry_run=dry_run)
