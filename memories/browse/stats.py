"""Counts that are true: what a group, or all that one may see, holds."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from access.actor import Actor
from access.groups import entered_groups, find_group
from access.models import Group
from memories.embedding import model_status
from memories.models import Link, LinkKind, LinkStatus, Memory, Piece, RecallLog
from memories.queries.visibility import as_q, listed_by
from memories.types import State, Trust
from relations.models import Relation

# Lines by name that other rooms add where an operator reads the counts; the site fills it when it is ready.
EXTRA_LINES: dict[str, Callable[[], dict[str, str]]] = {}


@dataclass(frozen=True)
class Stats:
    """Counts of memories by what they are, and what waits for somebody. `group` is empty for all groups together."""

    group: str
    groups: int
    memories: int
    live: int
    by_type: dict[str, int]
    by_state: dict[str, int]
    by_trust: dict[str, int]
    by_scope: dict[str, int]
    pinned: int
    waiting: int
    conflicts: int
    duplicates: int
    relations: int
    pieces: int
    pieces_owed: int
    recalls_7_days: int
    last_stored: str
    model: str
    model_state: str


def memory_stats(actor: Actor, *, group: str | None = None, everywhere: bool = False) -> Stats:
    """Count the memories of one group, or with `everywhere` of all that the actor may see (global ones once).

    Raises:
        GroupRequired, GroupNotFound, NotPermitted: the group is at fault.
    """
    room = None if everywhere else find_group(actor, group)
    visible = listed_by(actor, room)
    rows = Memory.objects.filter(as_q(visible))
    if room is not None:
        rows = rows.filter(group=room)
    live = rows.filter(state=State.LIVE)
    totals = rows.aggregate(
        count=Count("key"), newest=Max("created_at"), pinned=Count("key", filter=Q(pinned=True))
    )
    pieces = Piece.objects.filter(memory__in=rows.values("key"))
    open_links = Link.objects.filter(status=LinkStatus.OPEN, source__in=rows.values("key"))
    status = model_status()
    return Stats(
        group=room.slug if room else "",
        groups=1 if room else len(entered_groups(actor)),
        memories=totals["count"],
        live=live.count(),
        by_type=_counts(live, "type"),
        by_state=_counts(rows, "state"),
        by_trust=_counts(live, "trust"),
        by_scope=_counts(live, "scope"),
        pinned=totals["pinned"],
        waiting=live.filter(trust=Trust.CANDIDATE).count(),
        conflicts=open_links.filter(kind=LinkKind.CONFLICT).count(),
        duplicates=open_links.filter(kind=LinkKind.DUPLICATE).count(),
        relations=_relations(actor, room),
        pieces=pieces.count(),
        pieces_owed=pieces.filter(embedding=None).count(),
        recalls_7_days=_recalls(actor, room),
        last_stored=totals["newest"].isoformat() if totals["newest"] else "",
        model=status.model_id,
        model_state=status.state,
    )


def _counts(rows: QuerySet[Memory], column: str) -> dict[str, int]:
    return dict(rows.values_list(column).annotate(count=Count("key")).order_by(column))


def _relations(actor: Actor, room: Group | None) -> int:
    rows = Relation.objects.filter(retired_at=None)
    if room is not None:
        return rows.filter(group=room).count()
    return rows.count() if actor.all_groups else rows.filter(group__in=actor.roles).count()


def _recalls(actor: Actor, room: Group | None) -> int:
    rows = RecallLog.objects.filter(at__gte=timezone.now() - timedelta(days=7))
    if room is not None:
        return rows.filter(group=room).count()
    return rows.count() if actor.all_groups else rows.filter(group__in=actor.roles).count()
