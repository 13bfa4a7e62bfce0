"""How fast each token may write: `access.write_burst` writes at once, refilled with `access.writes_per_minute`.

The token's own row, which every call reads anyway, says when its burst is whole again; each row in the audit log moves
that time on by the time of one write, in the transaction of the write. So all processes share one count, the check costs
no query, and a write costs one UPDATE by key and no transaction of its own. Calls at once may take more than is left; the
next ones wait until it is paid back. Operators and people at a browser have no token and no limit.

Where REDIS_URL is set, the number is in Redis instead: on PostgreSQL all writers of one token would wait for its row. What
Redis loses is forgiven, and while it is away the row counts.

This is the generic cell rate algorithm (ITU-T I.371), which needs one number instead of a level and its time.
"""

import math
import time
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Greatest

from access.actor import Actor
from access.errors import TooManyWrites
from access.models import ApiToken
from storage.compiled_queries import CompiledUpdate
from storage.postgresql.replica import LATEST_S, has_replica
from storage.shared_cache import SharedCache, shared_cache

MINUTE_US = 60_000_000
KIND = "writes"
_MOVE_BURST = CompiledUpdate(
    lambda now, cost, key: (
        ApiToken.objects.filter(pk=key),
        {"burst_at": Greatest(Coalesce(F("burst_at"), Value(0)), Value(now)) + Value(cost)},
    ),
    3,
)


def left_of(actor: Actor) -> float:
    """The number of writes that the actor's token has left, by its row and Redis; infinite without a limit."""
    cache = None if actor.token_key is None or math.isinf(actor.writes_left) else shared_cache()
    stored = cache.get(KIND, str(actor.token_key)) if cache else None
    return actor.writes_left if stored is None else min(actor.writes_left, writes_left(int(stored)))


def writes_left(burst_at: int | None) -> float:
    """What a token may write now, given when its burst is whole again; infinite without a limit."""
    access = settings.LOCI.access
    if not access.writes_per_minute:
        return math.inf
    missing_us = max(0, (burst_at or 0) - now_us())
    return float(access.write_burst) - missing_us * access.writes_per_minute / MINUTE_US


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


def has_just_written(burst_at: int | None) -> bool:
    """Whether a token may have written within the last LATEST_S seconds: its writes may not have reached a replica."""
    return burst_at is not None and now_us() < burst_at + LATEST_S * 1_000_000


def check_write_rate(actor: Actor) -> None:
    """Refuse a write of a token whose rate is used up; count_writes() counts what is written.

    Raises:
        TooManyWrites: nothing is left; `wait_s` says for how long.
    """
    left = left_of(actor)
    if left >= 1:
        return
    rate = settings.LOCI.access.writes_per_minute
    wait_s = max(1, math.ceil((1 - left) * 60 / rate))
    raise TooManyWrites(
        f"This token may write {rate:,} times a minute.",
        wait_s=wait_s,
        hint=f"Try again in {wait_s} seconds. Nothing was written.",
    )


def count_writes(actor: Actor, count: int) -> None:
    """Take `count` writes from what the actor's token has left; inside the transaction that makes them."""
    rate, key = settings.LOCI.access.writes_per_minute, actor.token_key
    if key is None or not (rate or has_replica()):
        return
    cost = count * MINUTE_US // rate if rate else 0
    # Every process reads from the row that a token has just written.
    cache = None if has_replica() else shared_cache()
    if cache is None:
        _MOVE_BURST.run(now_us(), cost, key)
    else:
        transaction.on_commit(partial(count_in, cache, key, cost))


def count_in(cache: SharedCache, key: int, cost: int) -> None:
    """Count writes in Redis, or in the token's row if Redis is away."""
    if not cache.move_on(KIND, str(key), now_us=now_us(), cost_us=cost):
        _MOVE_BURST.run(now_us(), cost, key)
