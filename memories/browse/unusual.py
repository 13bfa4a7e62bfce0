"""Unusual activity of tokens and people: bursts of reads and writes, exports, purges, mass withdrawals."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Count
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from access.actor import Actor
from access.audit.chains import OWN
from access.audit.operations import Operation
from access.errors import NotPermitted
from access.limits.throttle import writes_left, written_by
from access.models import ApiToken, AuditEntry
from memories.models import RecallLog

USUAL_DAYS: Final = 14  # before today: what is usual for a token
TIMES_USUAL: Final = 10
LEAST_USUAL: Final = 5.0  # a day: less than this is no habit
LEAST_OF_NEW: Final = 200  # of a token without a habit, on one day
LISTED_DAYS: Final = 7  # of exports, purges and withdrawals
MANY_WITHDRAWN: Final = 20  # of one actor on one day
WITHDRAWALS: Final = (Operation.RETRACT, Operation.FORGET, Operation.PURGE)
SINGLE: Final = (Operation.EXPORT, Operation.PURGE)
BUSIEST: Final = 20  # tokens whose rates are shown


@dataclass(frozen=True)
class UnusualActivity:
    """One unusual activity: actor, action, number on that day, and the usual number (0: never).

    `token` is None for a person and for a token that is gone.
    """

    kind: str
    actor: str
    day: date
    count: int
    usual: float = 0.0
    token: ApiToken | None = None

    @property
    def words(self) -> str:
        """The activity in words, in the page's language."""
        kinds = {
            "reads": gettext("{count} reads on {day}, {usual}"),
            "writes": gettext("{count} writes on {day}, {usual}"),
            "export": ngettext("{count} export on {day}", "{count} exports on {day}", self.count),
            "purge": ngettext("{count} purge on {day}", "{count} purges on {day}", self.count),
            "withdrawal": ngettext("{count} withdrawal on {day}", "{count} withdrawals on {day}", self.count),
        }
        usual = (
            gettext("usually {count} a day").format(count=f"{self.usual:,.0f}")
            if self.usual
            else gettext("a token without a usual rate yet")
        )
        return kinds[self.kind].format(count=f"{self.count:,}", day=f"{self.day:%Y-%m-%d}", usual=usual)

    def as_json(self) -> dict[str, Any]:
        """The activity as JSON."""
        token = str(self.token.id) if self.token else None
        return {
            "kind": self.kind, "actor": self.actor, "day": str(self.day), "count": self.count,
            "usual": round(self.usual, 1), "token": token, "words": self.words,
        }  # fmt: skip


@dataclass(frozen=True)
class WriteRate:
    """A token's writes in the last hour and day; what its person has left of a burst, and may write a minute (0: no limit)."""

    token: ApiToken
    hour: int
    day: int
    left: float
    limit: int


def find_unusual(actor: Actor, *, now: datetime | None = None) -> list[UnusualActivity]:
    """Unusual activity of the last day (reads, writes) and week (exports, purges, withdrawals), newest first.

    Raises:
        NotPermitted: the actor does not administer all groups.
    """
    require_overview(actor)
    now = now or timezone.now()
    tokens = {
        f"{token.user.get_username()}/{token.name}": token
        for token in ApiToken.objects.filter(revoked_at=None).select_related("user")
    }
    log = AuditEntry.objects.filter(origin=OWN)
    found = [
        *find_bursts("writes", log.filter(token__isnull=False), tokens, now),
        *find_bursts("reads", RecallLog.objects.filter(actor__in=list(tokens)), tokens, now),
        *find_withdrawals(log, tokens, now),
    ]
    return sorted(found, key=lambda each: (each.day, each.count), reverse=True)


def require_overview(actor: Actor) -> None:
    """Raise NotPermitted unless the actor administers all groups."""
    if not actor.is_admin_of_all:
        raise NotPermitted("Only an admin of all groups may see what is unusual.")


def find_bursts(
    kind: str, rows: Any, tokens: dict[str, ApiToken], now: datetime
) -> Iterable[UnusualActivity]:
    """Tokens with at least ten times their usual reads or writes in the last 24 hours."""
    day = now - timedelta(days=1)
    counts = dict(
        rows.filter(at__gte=day, at__lte=now).values_list("actor").annotate(Count("key")).order_by()
    )
    busy = [name for name, count in counts.items() if count >= TIMES_USUAL * LEAST_USUAL]
    before = rows.filter(actor__in=busy, at__lt=day, at__gte=day - timedelta(days=USUAL_DAYS))
    daily: dict[str, list[int]] = defaultdict(list)
    for name, _, count in (
        before.annotate(on=TruncDate("at")).values_list("actor", "on").annotate(Count("key")).order_by()
    ):
        daily[name].append(count)
    for name in busy:
        usual = sum(daily[name]) / len(daily[name]) if daily[name] else 0.0
        least = TIMES_USUAL * max(usual, LEAST_USUAL) if usual else LEAST_OF_NEW
        if counts[name] >= least:
            yield UnusualActivity(kind, name, now.date(), counts[name], usual, tokens.get(name))


def find_withdrawals(rows: Any, tokens: dict[str, ApiToken], now: datetime) -> Iterable[UnusualActivity]:
    """Exports, purges, and days on which one actor withdrew many memories."""
    found = (
        rows.filter(at__gte=now - timedelta(days=LISTED_DAYS), operation__in=[*SINGLE, *WITHDRAWALS])
        .annotate(on=TruncDate("at"))
        .values_list("actor", "operation", "on")
        .annotate(Count("key"))
        .order_by()
    )
    withdrawn: dict[tuple[str, date], int] = defaultdict(int)
    for name, operation, on, count in found:
        if operation in SINGLE:
            yield UnusualActivity(str(operation), name, on, count, token=tokens.get(name))
        if operation in WITHDRAWALS:
            withdrawn[name, on] += count
    for (name, on), count in withdrawn.items():
        if count >= MANY_WITHDRAWN:
            yield UnusualActivity("withdrawal", name, on, count, token=tokens.get(name))


def find_write_rates(actor: Actor, *, now: datetime | None = None) -> list[WriteRate]:
    """The tokens that wrote in the last day, the busiest first. Raises NotPermitted as find_unusual() does."""
    require_overview(actor)
    now = now or timezone.now()
    rows = AuditEntry.objects.filter(origin=OWN, token__isnull=False, at__lte=now)
    days = count_by_token(rows.filter(at__gte=now - timedelta(days=1)))
    hours = count_by_token(rows.filter(at__gte=now - timedelta(hours=1)))
    limit = int(settings.LOCI.access.writes_per_minute or 0)
    tokens = ApiToken.objects.filter(id__in=days).select_related("user__written")
    rates = [
        WriteRate(token, hours.get(token.id, 0), days[token.id], writes_left(written_by(token.user)), limit)
        for token in tokens
    ]
    return sorted(rates, key=lambda rate: rate.day, reverse=True)[:BUSIEST]


def count_by_token(rows: Any) -> dict[UUID, int]:
    """The number of rows per token."""
    return dict(rows.values_list("token").annotate(Count("key")).order_by())
