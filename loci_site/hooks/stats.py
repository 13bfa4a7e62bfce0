"""What hooks brought and left: injected, used later, captured, and what people decided about the captures."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, F, OuterRef, Q, Subquery, Sum
from django.utils import timezone

from access.actor import Actor
from access.answers import Answer
from access.groups import find_group
from access.models import Group
from loci_site.hooks.models import HookInjection, HookSession
from memories.models import Memory
from memories.types import Trust

DEFAULT_DAYS = 30


@dataclass(frozen=True)
class HookStats(Answer):
    """Counts of some days. `used`: injected memories that an answer named, or that were recalled later."""

    days: int
    sessions: int
    injected: int
    tokens: int
    used: int
    captured: int
    approved: int
    rejected: int
    waiting: int


@dataclass(frozen=True)
class Injected(Answer):
    """A memory that a session got, when and at what event; the text is empty if it is gone or hidden."""

    at: datetime
    client: str
    session: str
    event: str
    memory: UUID
    tokens: int
    text: str


def hook_stats(actor: Actor, *, group: str | None = None, days: int = DEFAULT_DAYS) -> HookStats:
    """The counts of one group, or of all that the actor may enter."""
    groups, since = reached(actor, group), timezone.now() - timedelta(days=days)
    injections = HookInjection.objects.filter(session__group__in=groups, at__gte=since)
    recalled = Memory.objects.filter(id=OuterRef("memory_id")).values("last_accessed")[:1]
    used = injections.alias(recalled_at=Subquery(recalled)).filter(
        Q(used_at__isnull=False) | Q(recalled_at__gt=F("at"))
    )
    # A range, which the partial index of sources answers; LIKE would read every memory.
    hooked = Q(source__gte="hook:", source__lt="hook;") & ~Q(source_ref="")
    captured = Memory.objects.filter(hooked, group__in=groups, created_at__gte=since)
    by_trust = dict(captured.values_list("trust").annotate(Count("key")).order_by())
    sums = injections.aggregate(count=Count("key"), tokens=Sum("tokens"))
    return HookStats(
        days=days,
        sessions=HookSession.objects.filter(group__in=groups, seen_at__gte=since).count(),
        injected=sums["count"],
        tokens=sums["tokens"] or 0,
        used=used.count(),
        captured=sum(by_trust.values()),
        approved=by_trust.get(Trust.ACTIVE, 0) + by_trust.get(Trust.VERIFIED, 0),
        rejected=by_trust.get(Trust.REJECTED, 0),
        waiting=by_trust.get(Trust.CANDIDATE, 0),
    )


def card_stats(actor: Actor, group: str) -> HookStats | None:
    """The counts for the dashboard; None before the first session."""
    rows = HookSession.objects.filter(group__in=reached(actor, group or None))
    return hook_stats(actor, group=group or None) if rows.exists() else None


def list_injected(actor: Actor, *, session: str = "", limit: int = 50) -> list[Injected]:
    """The memories that sessions got, newest first; of one session by the start of its name."""
    rows = HookInjection.objects.filter(
        session__group__in=reached(actor, None), session__session__startswith=session
    ).select_related("session")
    found = list(rows.order_by("-key")[:limit])
    texts = dict(
        Memory.objects.filter(
            id__in={row.memory_id for row in found}, group__in=reached(actor, None)
        ).values_list("id", "content")
    )
    return [
        Injected(row.at, row.session.client, row.session.session, row.event, row.memory_id, row.tokens, texts.get(row.memory_id, ""))
        for row in found
    ]  # fmt: skip


def reached(actor: Actor, group: str | None) -> list[int]:
    """The keys of the named group, or of all that the actor may enter."""
    if group:
        return [find_group(actor, group).key]
    groups = Group.objects.all() if actor.all_groups else Group.objects.filter(key__in=actor.roles)
    return list(groups.values_list("key", flat=True))
