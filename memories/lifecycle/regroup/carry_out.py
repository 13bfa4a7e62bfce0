"""The writes of a move: rows, places in threads, names, relations, proposals, sources, and both groups' logs."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Max
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.additions import additions
from access.audit import AuditEvent, Operation
from access.limits.quota import GroupRoom
from access.models import Group
from memories.lifecycle.regroup.families import chunks
from memories.lifecycle.regroup.plan import MovePlan
from memories.models import Memory, MovedSource, Proposal, ProposalStatus, Thread
from memories.queries.snapshot import as_json
from memories.store.threads import filter_tokens, find_or_create_threads, refresh_threads
from memories.types import State
from relations.models import EntityAlias, Relation

BATCH_ROWS = 500
Place = tuple[Thread, int | None]  # a thread of the target, and the position there


def carry_out_move(
    actor: Actor,
    plan: MovePlan,
    *,
    reason: str = "",
) -> tuple[str, ...]:
    """Move what the plan names in the caller's transaction, which holds both groups; lines on what followed."""
    rows, roots = plan.rows, [root for family in plan.moving for root in family.roots]
    if not rows:
        return ()
    GroupRoom().take(plan.target, [row.content for row in rows if row.state == State.LIVE])
    old_threads = {row.thread_id for row in rows if row.thread_id is not None}
    places = new_places(rows, plan.target)
    for at in range(0, len(rows), BATCH_ROWS):
        write_rows(actor, rows[at : at + BATCH_ROWS], plan, places, reason=reason)
    for some in chunks(roots):
        EntityAlias.objects.filter(memory__in=some, group=plan.source).update(group=plan.target)
    for keys in chunks(plan.relations):
        move_relations(keys, plan)
    waiting = Proposal.objects.filter(status=ProposalStatus.WAITING, group=plan.source)
    for keys in chunks([row.pk for row in rows]):
        waiting.filter(memory__in=keys).update(group=plan.target)
    record_sources(rows, plan.source, plan.target)
    refresh_threads(sorted({*old_threads, *(thread.key for thread, _ in places.values())}))
    heads = [family.head for family in plan.moving]
    return tuple(line for follow in additions("after a move") for line in follow(actor, heads))


def new_places(rows: Sequence[Memory], target: Group) -> dict[int, Place]:
    """The place of each row that has a thread: the target's thread of that name, at the same position if it is free."""
    placed = [(row, row.thread) for row in rows if row.thread is not None]
    if not placed:
        return {}
    threads = find_or_create_threads({(target.key, thread.name): target for _, thread in placed})
    for thread in {thread.pk: thread for _, thread in placed}.values():
        copy_details(thread, threads[target.key, thread.name])
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


def copy_details(thread: Thread, there: Thread) -> None:
    """Copy a thread's title and address to the thread of the target that takes its turns, where that has none."""
    named = {name: getattr(thread, name) for name in ("title", "url") if not getattr(there, name)}
    if any(named.values()):
        Thread.objects.filter(pk=there.pk).update(**named)


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
        left.append(
            AuditEvent(Operation.MOVE, row.id, source.id, payload={"moved_to": target.slug} | because)
        )
        came.append(AuditEvent(Operation.MOVE, row.id, target.id, payload={"changes": changes} | because))
        row.group, row.updated_at = target, now
    for scope in {row.scope for row in batch}:
        same = [row for row in batch if row.scope == scope]
        Memory.objects.filter(pk__in=[row.pk for row in same]).update(
            group=target, filter=filter_tokens(same[0]), updated_at=now
        )
    placed = [row for row in batch if row.pk in places]
    for row in placed:
        row.thread, row.position = places[row.pk]
    Memory.objects.bulk_update(placed, ["thread", "position"], batch_size=100)
    audit.append_many(actor, left)
    audit.append_many(actor, came)


def move_relations(keys: Sequence[int], plan: MovePlan) -> None:
    """Move relations with their entities; one that the target has already stays with the old group."""
    rows = Relation.objects.filter(pk__in=keys)
    there = set(
        Relation.objects.filter(
            group=plan.target,
            retired_at=None,
            valid_to=None,
            subject__in=rows.values("subject"),
        ).values_list("subject", "predicate", "object")
    )
    moved = [row.pk for row in rows if (row.subject_id, row.predicate, row.object_id) not in there]
    Relation.objects.filter(pk__in=moved).update(group=plan.target, updated_at=timezone.now())


def record_sources(rows: Sequence[Memory], source: Group, target: Group) -> None:
    """Record where later imports of these sources find their memories; one record for each former group."""
    named = {(row.source, row.source_ref) for row in rows if row.source_ref}
    for some in chunks(sorted(named)):
        refs = [ref for _, ref in some]
        records = MovedSource.objects.filter(source_ref__in=refs)
        mine = [row for row in records if (row.source, row.source_ref) in named]
        # Whoever was sent to the old group is sent to the new one; nobody is sent from where the source is now.
        onward = [row.pk for row in mine if row.to_id == source.key and row.group_id != target.key]
        ended = [row.pk for row in mine if row.group_id in (source.key, target.key)]
        MovedSource.objects.filter(pk__in=ended).delete()
        MovedSource.objects.filter(pk__in=onward).update(to=target)
        MovedSource.objects.bulk_create(
            MovedSource(group=source, source=name, source_ref=ref, to=target) for name, ref in some
        )
