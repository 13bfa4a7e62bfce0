"""Who uses what: how much each person and each agent stored, corrected and asked."""

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Max

from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.audit_search import visible_log
from access.models import AuditEntry, Group
from memories.browse.recalls import LOOKED_THROUGH, recent_recalls

# A correction writes the row of the text that it replaces, whatever brought it.
_COUNTED = {Operation.STORE: "stored", Operation.SUPERSEDE: "corrected", Operation.RETRACT: "corrected"}


@dataclass
class _Activity:
    """What one actor did: a person in the browser, or one of a person's tokens with the `client` that uses it."""

    actor: str
    client: str = ""
    counts: dict[str, int] = field(default_factory=lambda: {"stored": 0, "asked": 0, "corrected": 0})
    last: datetime | None = None

    def add(self, what: str, count: int, last: datetime) -> None:
        """Count so many of them, the last at this time."""
        self.counts[what] += count
        self.last = max(self.last or last, last)

    @property
    def person(self) -> str:
        return self.actor.partition("/")[0]

    @property
    def token(self) -> str:
        """The name of the token; empty for the browser."""
        return self.actor.partition("/")[2]


def list_activity(actor: Actor, *, since: datetime, limit: int) -> list[_Activity]:
    """Those who did most since then in the groups that the actor curates; of the newest LOOKED_THROUGH rows of each log."""
    newest = AuditEntry.objects.aggregate(key=Max("key"))["key"] or 0
    rows = AuditEntry.objects.filter(
        key__gt=newest - LOOKED_THROUGH, at__gte=since, operation__in=_COUNTED, run=None
    )
    log = visible_log(actor, rows).order_by()
    if (curated := actor.keys_where(CURATE)) is not None:
        log = log.filter(group__in=Group.objects.filter(key__in=curated).values("id"))
    found: dict[str, _Activity] = {}
    counts = log.values_list("actor", "operation").annotate(Count("key"), Max("at"), Max("client"))
    for name, operation, count, last, client in counts:
        activity = found.setdefault(name, _Activity(name))
        activity.client = activity.client or client
        activity.add(_COUNTED[Operation(operation)], count, last)
    recalls = recent_recalls(actor, since=since).order_by().values_list("actor")
    for name, count, last in recalls.annotate(Count("key"), Max("at")):
        found.setdefault(name, _Activity(name)).add("asked", count, last)
    return sorted(found.values(), key=lambda each: (-sum(each.counts.values()), each.actor))[:limit]
