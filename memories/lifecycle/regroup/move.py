"""Moving memories to another group, one or many, and back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.additions import additions
from access.answers import Answer, ShownAs
from access.audit import AuditEvent, one_change
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted, refuse_unstorable
from access.groups import check_access, find_group, hold_groups, log_group
from access.limits.quota import GroupRoom
from access.models import AuditEntry, Group
from memories.draft import check_choice, check_tags, clean_reason
from memories.lifecycle.regroup.left_behind import describe_traces
from memories.lifecycle.regroup.plan import MovePlan, StayingMemory, families_of, plan_move
from memories.lifecycle.target import ChangeResult, find_head, require_person
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import rows_of
from memories.models import Link, Memory, MovedSource, Proposal, ProposalStatus, Thread
from memories.queries.expressions import HasTag
from memories.queries.snapshot import RELATED_ROWS, as_json
from memories.queries.versions import head_of
from memories.store.derived import withdraw_left_behind
from memories.store.threads import filter_tokens, find_or_create_threads, refresh_threads
from memories.store.withdrawn.marks import refuse_withdrawn_reason
from memories.types import SUMMARY_SOURCE, Scope, State, Type
from relations.models import EntityAlias, Relation
from storage.bulk import batches
from storage.changes import changing
from storage.ids import new_id

_TO = "to"  # the argument that errors name
_FOLLOWED = (State.SUPERSEDED, State.MERGED)  # of these, the current memory moves
UNDONE = "the move was undone"
_MAX_SOURCES = 100  # of a filter
Place = tuple[Thread, int | None]  # a thread of the target, and the position there


@dataclass(frozen=True)
class PartFilter:
    """Which memories of a group move: of one of these types and sources, with all of these tags. Empty: all."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartMove(Answer):
    """How many memories moved, or would, with how many rows in all; which stay, and the run that undoes it.

    `notes` say what goes along and what stays behind.
    """

    source: Annotated[str, ShownAs(name="from")]
    target: Annotated[str, ShownAs(name="to")]
    moved: int
    rows: int
    staying: tuple[StayingMemory, ...] = ()
    notes: tuple[str, ...] = ()
    run: UUID | None = None
    is_undo: Annotated[bool, ShownAs(name="undo")] = False
    dry_run: bool = False


def _find_target(actor: Actor, source: Group, slug: str) -> Group:
    """The group to move to. The one place where the rights of every move are checked: curate in both groups.

    Raises:
        GroupNotFound, NotPermitted: the target is missing, archived or closed, or the actor may not curate both.
        Conflict: both are the same group.
    """
    require_person(actor, "move")
    if not actor.may(CURATE, source.key):
        line = gettext("You may not curate in the group '{group}'.").format(group=source.slug)
        raise NotPermitted(line, hint=gettext("Moving needs the role curator in both groups."))
    target = find_group(actor, slug, right=CURATE)
    check_access(actor, target.slug, target, WRITE)  # an archived group takes nothing
    if target.key == source.key:
        line = gettext("It is in '{group}' already.").format(group=target.slug)
        raise Conflict(line, hint=gettext("Nothing was changed."), field=_TO)
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
    source, target = memory.group, _find_target(actor, memory.group, to)
    reason = clean_reason(reason)
    refuse_withdrawn_reason(actor, source, reason)
    refuse_withdrawn_reason(actor, target, reason)
    with transaction.atomic():
        hold_groups(sorted((source.key, target.key)))
        plan = plan_move(families_of(_read_heads([memory.key], source)), source, target)
        if not plan.moving:
            why = plan.staying[0].why if plan.staying else gettext("it has changed meanwhile")
            line = gettext("{id} stays in '{group}': {why}.").format(id=memory.id, group=source.slug, why=why)
            raise Conflict(line, hint=gettext("Nothing was changed."), field=_TO)
        consequences = describe_move(plan, with_traces=with_traces)
        followed = _carry_out_move(actor, plan, reason=reason)
        transaction.set_rollback(dry_run)
    return ChangeResult(
        Operation.MOVE.value, memory.id, memory.state, memory.trust, 0 if dry_run else len(plan.rows),
        (*consequences, *followed), dry_run, changes={"group": [source.slug, target.slug]},
    )  # fmt: skip


def _read_heads(keys: Sequence[int], group: Group) -> list[Memory]:
    """The memories as they are now, in a group."""
    rows = Memory.objects.filter(key__in=keys, group=group).select_related(*RELATED_ROWS)
    return list(rows.order_by("key"))


def describe_move(plan: MovePlan, *, with_traces: bool) -> tuple[str, ...]:
    """The consequences of moving one memory, before it is carried out."""
    [family] = plan.moving
    source, target = plan.source, plan.target
    seen = gettext("recall in '{source}' no longer finds it, in '{target}' it does")
    seen = seen.format(source=source.slug, target=target.slug)
    if family.head.scope == Scope.GLOBAL:
        seen = gettext("every group finds it as before")
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
    lines += _describe_ties(plan)
    if with_traces and (traces := describe_traces(family.rows, source)):
        lines.append(traces)
    return tuple(lines)


def _describe_ties(plan: MovePlan) -> list[str]:
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


def move_memories(
    actor: Actor,
    slug: str,
    *,
    to: str,
    wanted: PartFilter | None = None,
    reason: str = "",
    dry_run: bool = False,
) -> PartMove:
    """Move a group's current memories, or those that the filter names; what the target does not take stays. One transaction.

    A dry run does the same and rolls it back.

    Raises:
        GroupNotFound, NotPermitted: the actor may not curate both groups.
        InvalidInput: no memory can have a type, tag or source of the filter, or there are too many.
        Conflict: both are the same.
    """
    wanted = _check_filter(wanted or PartFilter())
    source = find_group(actor, slug, right=CURATE)
    target = _find_target(actor, source, to)
    heads = _select_heads(source, wanted)
    return _move_heads(actor, source, target, lambda: list(heads), reason=reason, dry_run=dry_run)


def move_chosen(
    actor: Actor, chosen: Sequence[Memory], to: str, *, reason: str = "", dry_run: bool = False
) -> PartMove:
    """Move memories of one group, named by any of their versions; what the target does not take stays.

    Raises as move_memories() does.
    """
    source = chosen[0].group
    target = _find_target(actor, source, to)
    keys = [head_of(row).key if row.state in _FOLLOWED else row.key for row in chosen]
    return _move_heads(
        actor, source, target, partial(_read_heads, keys, source), reason=reason, dry_run=dry_run
    )


def _move_heads(
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
        notes = _describe_part(plan)
        notes += _carry_out_move(actor, plan, reason=reason)
        if plan.moving:
            _log_part(actor, plan.source, plan.target, len(plan.moving), is_undo=False)
        transaction.set_rollback(dry_run)
    run = run_id if plan.moving and not dry_run else None
    moved, rows = len(plan.moving), len(plan.rows)
    return PartMove(source.slug, target.slug, moved, rows, plan.staying, notes, run, dry_run=dry_run)


def _check_filter(wanted: PartFilter) -> PartFilter:
    """The filter with its tags as they are stored. Raises InvalidInput for what no memory can have."""
    for type_ in wanted.types:
        check_choice(type_, Type.values, field="types")
    if len(wanted.sources) > _MAX_SOURCES:
        line = f"There are {len(wanted.sources)} sources; at most {_MAX_SOURCES} are allowed."
        raise InvalidInput(line, field="sources")
    for source in wanted.sources:
        refuse_unstorable(source, field="sources")
    tags = check_tags(wanted.tags)
    if wanted.tags and not tags:  # without tags, the whole group would move
        raise InvalidInput("The tags are empty.", hint="Leave them out to move all.", field="tags")
    return replace(wanted, tags=tags)


def _select_heads(source: Group, wanted: PartFilter) -> QuerySet[Memory]:
    """The live memories that the filter names, in order."""
    rows = Memory.objects.filter(group=source, state=State.LIVE).exclude(source=SUMMARY_SOURCE)
    rows = rows.select_related(*RELATED_ROWS)
    if wanted.types:
        rows = rows.filter(type__in=wanted.types)
    if wanted.sources:
        rows = rows.filter(source__in=wanted.sources)
    if wanted.tags:
        rows = rows.filter(Q(HasTag(F("tags"), *wanted.tags)))
    return rows.order_by("key")


def _describe_part(plan: MovePlan) -> tuple[str, ...]:
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
    if traces := describe_traces(rows, plan.source):
        lines.append(traces)
    return tuple(lines)


def _log_part(actor: Actor, source: Group, target: Group, moved: int, *, is_undo: bool) -> None:
    """Log the move as a whole in both groups' chains."""
    payload = {"action": "move-memories", "from": source.slug, "to": target.slug, "memories": moved}
    for group in (source, target):
        log_group(actor, group, **payload, undo=is_undo)


@one_change
def move_memories_back(actor: Actor, slug: str, *, run: str, dry_run: bool = False) -> PartMove:
    """Move back what one run moved away from a group; all of it or nothing.

    Raises:
        InvalidInput: it is not a run id.
        NotFound: no move from this group has it.
        Conflict: something of it moved on or was purged, or the group would not take it back now.
    """
    try:
        named = UUID(run)
    except ValueError:
        hint = "The move's answer names it."
        raise InvalidInput(f"'{run}' is not a run id.", hint=hint, field="run") from None
    source = find_group(actor, slug, right=CURATE)
    require_person(actor, "move")
    moves = AuditEntry.objects.filter(origin=audit.OWN, run=named, operation=Operation.MOVE)
    came, left = moves.exclude(group=source.id), moves.filter(group=source.id)
    first = came.order_by("key").first()
    if first is None or first.group is None or not left.exists():
        line = f"No move from '{source.slug}' has the run {named}."
        raise NotFound(line, hint="The move's answer names its run.", field="run")
    rows = rows_of([first.change or 0])  # 0.3.0 noted none
    ids = {id_ for id_ in came.values_list("memory_id", flat=True) if id_ is not None}
    if not rows or Memory.objects.filter(id__in=ids).count() < len(ids):
        line = gettext("Something of it has been moved on, or purged.")
        raise Conflict(line, hint=gettext("Nothing was changed. Move what is left by itself."), field="run")
    target = Group.objects.get(id=first.group)
    undoing = replace(actor, run=new_id())
    with transaction.atomic():
        keys = [row.row for row in rows if row.is_memory]
        moved = Memory.objects.filter(key__in=keys, state=State.LIVE).count()
        reverse(undoing, rows, Terms(UNDONE, right=CURATE, field="run"))
        _log_part(undoing, target, source, moved, is_undo=True)
        transaction.set_rollback(dry_run)
    return PartMove(target.slug, source.slug, moved, len(rows), is_undo=True, dry_run=dry_run)


def _carry_out_move(actor: Actor, plan: MovePlan, *, reason: str) -> tuple[str, ...]:
    """Move what the plan names in the caller's transaction, which holds both groups; lines on what followed."""
    rows, roots = plan.rows, [root for family in plan.moving for root in family.roots]
    if not rows:
        return ()
    GroupRoom().take(plan.target, [row.content for row in rows if row.state == State.LIVE])
    old_threads = {row.thread_id for row in rows if row.thread_id is not None}
    places = _new_places(rows, plan.target)
    for batch in batches(rows):
        write_rows(actor, batch, plan, places, reason=reason)
    for some in batches(roots):
        EntityAlias.objects.filter(memory__in=some, group=plan.source).update(group=plan.target)
    for keys in batches(plan.relations):
        move_relations(keys, plan)
    waiting = Proposal.objects.filter(status=ProposalStatus.WAITING, group=plan.source)
    for keys in batches([row.pk for row in rows]):
        waiting.filter(memory__in=keys).update(group=plan.target)
    record_sources(rows, plan.source, plan.target)
    refresh_threads(sorted({*old_threads, *(thread.key for thread, _ in places.values())}))
    heads = [family.head for family in plan.moving]
    withdraw_left_behind(actor, heads, plan.target)
    return tuple(
        line for follow in additions("comparisons of what counts anew") for line in follow(actor, heads)
    )


def _new_places(rows: Sequence[Memory], target: Group) -> dict[int, Place]:
    """The place of each row that has a thread: the target's thread of that name, at the same position if it is free."""
    placed = [(row, row.thread) for row in rows if row.thread is not None]
    if not placed:
        return {}
    threads = find_or_create_threads({(target.key, thread.name): target for _, thread in placed})
    for thread in {thread.pk: thread for _, thread in placed}.values():
        there = threads[target.key, thread.name]
        details = {name: getattr(thread, name) for name in ("title", "url") if not getattr(there, name)}
        if any(details.values()):
            Thread.objects.filter(pk=there.pk).update(**details)
    keys = [thread.key for thread in threads.values()]
    stored = Memory.objects.filter(thread__in=keys, position__isnull=False)
    taken = set(stored.values_list("thread", "position"))
    last = {row["thread"]: row["last"] for row in stored.values("thread").annotate(last=Max("position"))}
    places, by_root = dict[int, Place](), dict[tuple[int, int | None], int | None]()
    for row, thread in sorted(placed, key=lambda pair: (pair[0].position or 0, pair[0].key)):
        there, wanted = threads[target.key, thread.name], row.position
        known = (row.root_key, wanted)
        if known not in by_root:  # the versions of a memory share its place
            by_root[known] = wanted
            if wanted is not None and (there.key, wanted) in taken:
                by_root[known] = last[there.key] + 1
            if (place := by_root[known]) is not None:
                taken.add((there.key, place))
                last[there.key] = max(last.get(there.key, place), place)
        places[row.pk] = (there, by_root[known])
    return places


def write_rows(
    actor: Actor, batch: Sequence[Memory], plan: MovePlan, places: Mapping[int, Place], *, reason: str
) -> None:
    """Move a batch of rows and log each in both chains: where it went, and what changed."""
    now, (source, target) = timezone.now(), (plan.source, plan.target)
    because = {"reason": reason} if reason else {}
    left, came = list[AuditEvent](), list[AuditEvent]()
    for row in batch:
        changes: dict[str, list[Any]] = {
            "group": [source.slug, target.slug],
            "updated_at": [as_json(row.updated_at), as_json(now)],
        }
        if (place := places.get(row.pk)) is not None and place[1] != row.position:
            changes["position"] = [row.position, place[1]]
        went = {"moved_to": target.slug} | because
        left.append(AuditEvent(Operation.MOVE, row.id, source.id, payload=went))
        came.append(AuditEvent(Operation.MOVE, row.id, target.id, payload={"changes": changes} | because))
        row.group, row.updated_at = target, now
    for scope in {row.scope for row in batch}:
        same = [row for row in batch if row.scope == scope]
        rows = Memory.objects.filter(pk__in=[row.pk for row in same])
        rows.update(group=target, filter=filter_tokens(same[0]), updated_at=now)
    placed = [row for row in batch if row.pk in places]
    for row in placed:
        row.thread, row.position = places[row.pk]
    Memory.objects.bulk_update(placed, ["thread", "position"], batch_size=100)
    audit.append_many(actor, left)
    audit.append_many(actor, came)


def move_relations(keys: Sequence[int], plan: MovePlan) -> None:
    """Move relations with their entities; one that the target has already stays with the old group."""
    rows = Relation.objects.filter(pk__in=keys)
    current = Relation.objects.filter(group=plan.target, retired_at=None, valid_to=None)
    same = current.filter(subject__in=rows.values("subject"))
    there = set(same.values_list("subject", "predicate", "object"))
    moved = [row.pk for row in rows if (row.subject_id, row.predicate, row.object_id) not in there]
    Relation.objects.filter(pk__in=moved).update(group=plan.target, updated_at=timezone.now())


def record_sources(rows: Sequence[Memory], source: Group, target: Group) -> None:
    """Record where later imports of these sources find their memories; one record for each former group."""
    named = {(row.source, row.source_ref) for row in rows if row.source_ref}
    for some in batches(sorted(named)):
        refs = [ref for _, ref in some]
        records = MovedSource.objects.filter(source_ref__in=refs)
        mine = [row for row in records if (row.source, row.source_ref) in named]
        # Whoever was sent to the old group is sent to the new one; no one is sent from where the source is now.
        onward = [row.pk for row in mine if row.to_id == source.key and row.group_id != target.key]
        ended = [row.pk for row in mine if row.group_id in (source.key, target.key)]
        MovedSource.objects.filter(pk__in=ended).delete()
        MovedSource.objects.filter(pk__in=onward).update(to=target)
        MovedSource.objects.bulk_create(
            MovedSource(group=source, source=name, source_ref=ref, to=target) for name, ref in some
        )
