"""One throttle: a limit keeps one time for each key, and moves it on with each use; until then the key has to wait.

A limit either refills or locks. The characters that a person may write refill: each use moves the time on by what it
takes to be refilled, and the key waits when more than `at_once` is owed (the generic cell rate algorithm, ITU-T I.371).
Failures lock: from the use `at_once` on, each one locks the key for twice as long as the one before.

Characters bound what fills the disk and the Review, not how fast a person writes: who writes much only waits behind others
(access.limits.turns). A lock is a row of Attempts. A person's time is in PersonWrites, which is read with each token, and
each row in the audit log moves it on in its transaction: the check costs no query, a write one UPDATE by key. Where
REDIS_URL is set, it is in Redis instead: on PostgreSQL all writers of one person would wait for the row. What Redis loses
is forgiven, and while it is away the row counts. Calls at once may take more than is left; the next ones wait until it is
paid back. Operators and people at a browser have no token and no limit on writes.
"""

import hashlib
import math
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from access.actor import Actor
from access.errors import TooManyWrites
from access.models import Attempts, PersonWrites
from storage.compiled_queries import CompiledUpdate
from storage.postgresql.replica import LATEST_S, has_replica
from storage.shared_cache import SharedCache, shared_cache

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import QuerySet

_DAY_US: Final = 86_400_000_000
_KIND: Final = "chars_at"  # in Redis
# What a change counts besides its text: its rows, vectors and index entries take about ten times as many bytes.
CHANGE_CHARS: Final = 500
# What a text counts that waits for a person: ten thousand a day by default.
WAITING_CHARS: Final = 20_000
KEPT: Final = timedelta(days=2)  # a count of attempts whose lock is over


@dataclass(frozen=True)
class Limit:
    """`at_once` uses of one key, then a lock: `each` is the first, each other one is twice as long, up to `longest`.

    After `forgotten` without a use the count restarts.
    """

    kind: str
    at_once: int
    each: timedelta
    longest: timedelta
    forgotten: timedelta


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


def _seconds(wait: timedelta) -> int:
    return max(0, math.ceil(wait.total_seconds()))


# ── attempts, which lock ──


def wait_s(limit: Limit, *key: str) -> int:
    """Seconds until the next attempt is allowed, at least 1; 0 if it is allowed now."""
    until = _attempts(limit, key).values_list("until", flat=True).first()
    return _seconds(until - timezone.now()) if until else 0


def record_attempt(limit: Limit, *key: str, address: str = "", user: "User | None" = None) -> Attempts:
    """Count one attempt; the row holds the end of the lock, if there is one. One transaction."""
    now = timezone.now()
    with transaction.atomic():
        defaults = {"user": user, "address": (address or key[-1])[:64]}
        row, _ = Attempts.objects.select_for_update().get_or_create(
            kind=limit.kind, key_hash=_hash_key(key), defaults=defaults
        )
        row.count = 1 if now - row.last_at > limit.forgotten else row.count + 1
        excess = row.count - limit.at_once
        row.until = now + min(limit.each * 2 ** min(excess, 20), limit.longest) if excess >= 0 else None
        row.last_at = now
        row.save(update_fields=["count", "until", "last_at"])
    return row


def clear_attempts(limit: Limit, *key: str) -> None:
    """Reset the count after a success."""
    _attempts(limit, key).delete()


def delete_expired() -> int:
    """Delete attempts whose count would restart anyway. Returns the number of rows."""
    now = timezone.now()
    return Attempts.objects.exclude(until__gt=now).filter(last_at__lt=now - KEPT).delete()[0]


def _attempts(limit: Limit, key: tuple[str, ...]) -> "QuerySet[Attempts]":
    return Attempts.objects.filter(kind=limit.kind, key_hash=_hash_key(key))


def _hash_key(key: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(key).encode("utf-8", "backslashreplace")).hexdigest()


# ── what a person writes, which refills ──


def written_by(user: Any) -> PersonWrites:
    """The person's row, read with the user; an unsaved one before the first write."""
    return getattr(user, "written", None) or PersonWrites(user=user)


def has_just_written(written: PersonWrites) -> bool:
    """Whether a person may have written within the last LATEST_S seconds, which may not have reached a replica."""
    return now_us() < written.last_at + LATEST_S * 1_000_000


def left_of(actor: Actor) -> float:
    """The characters that the actor may write now; infinite without a limit."""
    limit, cache = settings.LOCI.access.chars_per_day, shared_cache()
    if not limit or actor.written is None:
        return math.inf
    kept = cache.get(_KIND, str(actor.user_id)) if cache else None
    owed_us = max(actor.written.chars_at, int(kept or 0)) - now_us()
    return float(limit - max(0, owed_us) * limit / _DAY_US)


def check_write_rate(actor: Actor) -> None:
    """Refuse a write of a person who has nothing left; count_writes() counts what is written.

    Raises:
        TooManyWrites: `wait_s` says how long to wait.
    """
    if (left := left_of(actor)) >= 1:
        return
    chars = settings.LOCI.access.chars_per_day
    waits = math.ceil((1 - left) * _DAY_US / chars / 1_000_000)
    raise TooManyWrites(
        f"A person may write {chars:,} characters a day, with all tokens together.",
        wait_s=waits,
        hint=f"Try again in {waits:,} seconds. Nothing was written.",
    )


def count_writes(actor: Actor, count: int, chars: int) -> None:
    """Take changes and their characters from what the person has left; inside the transaction that makes them."""
    user, limit = actor.user_id, settings.LOCI.access.chars_per_day
    if actor.token_key is None or user is None or not (limit or has_replica()):
        return
    cost = (count * CHANGE_CHARS + chars) * _DAY_US // limit if limit else 0
    # Every process reads from the row of a person who has just written.
    cache = None if has_replica() else shared_cache()
    if cache is None:
        _move_row(user, cost)
    else:
        transaction.on_commit(partial(_count_in, cache, user, cost))


_MOVE: Final = CompiledUpdate(
    lambda now, cost, user: (
        PersonWrites.objects.filter(pk=user),
        {"last_at": Value(now), "chars_at": Greatest(F("chars_at"), Value(now)) + Value(cost)},
    ),
    3,
)


def _move_row(user: int, cost: int) -> None:
    if not _MOVE.run(now_us(), cost, user):
        PersonWrites.objects.get_or_create(user_id=user)
        _MOVE.run(now_us(), cost, user)


def _count_in(cache: SharedCache, user: int, cost: int) -> None:
    """Count in Redis, or in the person's row if Redis is away."""
    if not cache.move_on(_KIND, str(user), now_us=now_us(), cost_us=cost):
        _move_row(user, cost)
