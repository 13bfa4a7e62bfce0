"""Exact counts of a group, or of everything visible to an actor."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, TypeVar

from django.db.models import Count, Max, Model, Q, QuerySet, Sum
from django.utils import timezone

from access.actor import Actor
from access.answers import Answer, ShownAs
from access.groups import entered_groups, find_group
from access.limits.quota import use_of
from access.models import Group
from memories.browse.inspection import feedback_in
from memories.embedding import model_status
from memories.models import Memory, MemoryFinding, Piece, RecallLog
from memories.queries.labels import is_doubted
from memories.queries.visibility import as_q, listed_by
from memories.review.queue import CardKind, count_cards
from memories.types import State
from relations.models import Relation

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Stats(Answer):
    """Counts of memories by kind, and of work that waits. `group` and `use` are empty for all groups together.

    `waiting` counts the cards of the Review: candidates, proposals, conflicts and all else that a person has to decide.
    """

    group: str
    groups: int
    memories: int
    live: int
    compacted: Annotated[int, ShownAs(about="Live events behind a summary, which no other number counts.")]
    by_type: dict[str, int]
    by_state: dict[str, int]
    by_trust: dict[str, int]
    by_scope: dict[str, int]
    pinned: int
    waiting: int
    disputed: int
    conflicts: int
    duplicates: int
    relations: int
    pieces: int
    pieces_owed: int
    recalls_7_days: int
    feedback_used: int
    feedback_wrong: int
    findings: Annotated[
        dict[str, int], ShownAs(about="How often the guard found each kind in live memories.")
    ]
    use: Annotated[
        dict[str, float],
        ShownAs(
            about="What a group holds in `memories` and `bytes`, its limits (0: none) and the used `share`."
        ),
    ]
    last_stored: str
    model: str
    model_state: str


def memory_stats(actor: Actor, *, group: str | None = None, everywhere: bool = False) -> Stats:
    """Counts of one group, or with `everywhere` of everything visible to the actor (global memories once).

    Raises:
        GroupRequired, GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    found = None if everywhere else find_group(actor, group)
    visible = listed_by(actor, found)
    rows = Memory.objects.filter(as_q(visible))
    if found is not None:
        rows = rows.filter(group=found)
    compacted = rows.filter(state=State.LIVE, summary__isnull=False).count()
    live = rows.filter(state=State.LIVE, summary=None)
    totals = rows.aggregate(
        count=Count("key"), newest=Max("created_at"), pinned=Count("key", filter=Q(pinned=True))
    )
    pieces = Piece.objects.filter(memory__in=rows.values("key"))
    cards = count_cards(actor, [found.key] if found else None if actor.all_groups else list(actor.roles))
    recent_recalls = RecallLog.objects.filter(at__gte=timezone.now() - timedelta(days=7))
    feedback = feedback_in(rows)
    found_kinds = MemoryFinding.objects.filter(memory__in=live.order_by().values("key")).values_list("kind")
    status = model_status()
    return Stats(
        group=found.slug if found else "",
        groups=1 if found else len(entered_groups(actor)),
        memories=totals["count"],
        live=live.count(),
        compacted=compacted,
        by_type=_count_by(live, "type"),
        by_state=_count_by(rows, "state"),
        by_trust=_count_by(live, "trust"),
        by_scope=_count_by(live, "scope"),
        pinned=totals["pinned"],
        waiting=sum(cards.values()),
        disputed=live.filter(is_doubted()).count(),
        conflicts=cards[CardKind.CONFLICT],
        duplicates=cards[CardKind.DUPLICATE],
        relations=_in_visible_groups(Relation.objects.filter(retired_at=None), actor, found).count(),
        pieces=pieces.count(),
        pieces_owed=pieces.filter(embedding=None).count(),
        recalls_7_days=_in_visible_groups(recent_recalls, actor, found).count(),
        feedback_used=feedback.used,
        feedback_wrong=feedback.wrong,
        findings=dict(found_kinds.annotate(count=Sum("places")).order_by("kind")),
        use=use_of(found).as_json() if found else {},
        last_stored=totals["newest"].isoformat() if totals["newest"] else "",
        model=status.model_id,
        model_state=status.state,
    )


def _count_by(rows: QuerySet[Memory], column: str) -> dict[str, int]:
    """The number of rows by the column's value."""
    return dict(rows.values_list(column).annotate(count=Count("key")).order_by(column))


def _in_visible_groups(rows: QuerySet[M], actor: Actor, group: Group | None) -> QuerySet[M]:
    """The rows of one group, or of all groups that the actor may enter."""
    if group is not None:
        return rows.filter(group=group)
    return rows if actor.all_groups else rows.filter(group__in=actor.roles)
