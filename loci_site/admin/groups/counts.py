"""What each group holds in numbers, for the cards of all groups and the page of one."""

from collections import Counter, defaultdict
from datetime import timedelta

from django.core.cache import cache
from django.db.models import Count, Max
from django.utils import timezone

from memories.models import Memory
from memories.types import State, Trust

NEW = "new"  # stored in the last _NEW_DAYS days, in any state
SMALL_STORE = 5_000  # memories; counting that many takes about 20 ms
_CACHED_S = 300  # a million takes a second or more
_KEY = "loci-group-counts"
_NEW_DAYS = 7

_Counts = defaultdict[int, Counter[str]]


def count_by_group() -> _Counts:
    """By group, its live memories by type, those of them that are candidates, and those that are NEW.

    A small store is counted now, a large one every five minutes.
    """
    if (Memory.objects.aggregate(newest=Max("key"))["newest"] or 0) <= SMALL_STORE:
        return _count()
    return cache.get_or_set(_KEY, _count, _CACHED_S) or _count()


def _count() -> _Counts:
    """In two queries; what recall never returns is not counted as live."""
    found = _Counts(Counter)
    rows = Memory.objects.order_by().exclude(trust__in=[Trust.REJECTED, Trust.QUARANTINED])
    live = rows.filter(state=State.LIVE).values_list("group_id", "type", "trust")
    for group, type_, trust, amount in live.annotate(Count("pk")):
        found[group][type_] += amount
        if trust == Trust.CANDIDATE:
            found[group][trust] += amount
    since = timezone.now() - timedelta(days=_NEW_DAYS)
    recent = Memory.objects.order_by().filter(created_at__gte=since)
    for group, amount in recent.values_list("group_id").annotate(Count("pk")):
        found[group][NEW] = amount
    return found
