"""What hooks brought and left: injected, used later, captured, and what people decided about the captures."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.utils import timezone

from access.actor import Actor
from access.answers import Answer
from access.audit.operations import Operation
from access.groups import find_group
from access.models import AuditEntry, Group
from loci_site.hooks.models import HookInjection, HookSession
from memories.models import Memory
from memories.types import State, Trust

DEFAULT_DAYS = 30
TAKEN_BACK = "a capture was taken back"  # the reason in the log
_WAITING = Q(state=State.LIVE, trust=Trust.CANDIDATE)
_APPROVED = Q(
    trust__in=(Trust.ACTIVE, Trust.VERIFIED), decided=True
)  # not a repeat that was merged into what counts already
_REJECTED = Q(trust=Trust.REJECTED)


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
class Captured(Answer):
    """A memory that a hook captured. `outcome`: waiting, approved, live (no person had to decide), or its trust or state."""

    at: datetime
    client: str
    group: str
    memory: UUID
    outcome: str
    text: str


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
    captured = _captures(groups).filter(created_at__gte=since)
    count = captured.aggregate(
        all=Count("key"),
        approved=Count("key", filter=_APPROVED),
        rejected=Count("key", filter=_REJECTED),
        waiting=Count("key", filter=_WAITING),
    )
    sums = injections.aggregate(count=Count("key"), tokens=Sum("tokens"))
    return HookStats(
        days=days,
        sessions=HookSession.objects.filter(group__in=groups, seen_at__gte=since).count(),
        injected=sums["count"],
        tokens=sums["tokens"] or 0,
        used=used.count(),
        captured=count["all"],
        approved=count["approved"],
        rejected=count["rejected"],
        waiting=count["waiting"],
    )


def _captures(groups: list[int]) -> QuerySet[Memory]:
    """The memories that hooks captured, with `decided`: whether a person has decided about each."""
    # A range, which the partial index of sources answers; LIKE would read every memory.
    hooked = Q(source__gte="hook:", source__lt="hook;") & ~Q(source_ref="")
    decisions = AuditEntry.objects.filter(
        memory_id=OuterRef("id"), operation__in=(Operation.TRUST, Operation.VERIFY)
    )
    return Memory.objects.filter(hooked, group__in=groups).annotate(decided=Exists(decisions.order_by()))


def list_captured(
    actor: Actor, *, group: str | None = None, limit: int = 50, own: bool = False
) -> list[Captured]:
    """The memories that hooks captured, newest first, of one group or of all that the actor may enter.

    `own`: only what came with the actor's own tokens.
    """
    found = _captures(reached(actor, group)).filter(**{"author": actor.user_id} if own else {})
    rows = found.select_related("group").order_by("-key")[:limit]
    return [
        Captured(row.created_at, row.source.removeprefix("hook:"), row.group.slug, row.id, _outcome(row), row.content)
        for row in rows
    ]  # fmt: skip


def _outcome(row: Memory) -> str:
    """What became of a capture, in a word."""
    if row.state != State.LIVE:
        return row.state
    if row.trust in (Trust.ACTIVE, Trust.VERIFIED):
        return "approved" if getattr(row, "decided", False) else "live"
    return "waiting" if row.trust == Trust.CANDIDATE else row.trust


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
