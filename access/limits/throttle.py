"""One throttle: a limit keeps one time for each key, and moves it on with each use; until then the key has to wait.

A limit either refills or locks. The changes and characters that a person may write refill: each use moves the time on by
what it takes to be refilled, and the key waits when more than `at_once` is owed (the generic cell rate algorithm, ITU-T
I.371). Failures lock: from the use `at_once` on, each one locks the key for twice as long as the one before.

A lock is a row of Attempts. A person's two times are in PersonWrites, which is read with each token, and each row in the
audit log moves them on in its transaction: the check costs no query, a write one UPDATE by key. Where REDIS_URL is set,
they are in Redis instead: on PostgreSQL all writers of one person would wait for the row. What Redis loses is forgiven,
and while it is away the row counts. Calls at once may take more than is left; the next ones wait until it is paid back.
Operators and people at a browser have no token and no limit on writes.
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

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
# A hundred long books; an agent that works all day writes a thousandth of it.
CHARS_A_DAY: Final = 200_000_000
KEPT: Final = timedelta(days=2)  # a count of attempts whose lock is over


@dataclass(frozen=True)
class Limit:
    """`at_once` uses of one key, then a wait; `each` is what a use takes to be refilled, or the first lock.

    A limit with `longest` locks: twice as long each time, up to that, and after `forgotten` without a use the count restarts.
    For a limit that refills, `kind` is the column of PersonWrites, and `sentence` says the limit.
    """

    kind: str
    at_once: int
    each: timedelta
    longest: timedelta = timedelta(0)
    forgotten: timedelta = timedelta(0)
    sentence: str = ""

    def left(self, whole_at: int) -> float:
        """The uses left, given when all are refilled."""
        return self.at_once - max(0, whole_at - now_us()) / _us(self.each)

    def wait_s(self, whole_at: int) -> int:
        """The seconds until one use is left; 0 for now."""
        return _seconds((1 - self.left(whole_at)) * self.each)


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


def _us(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)


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


def write_limits() -> tuple[Limit, ...]:
    """The limits by the settings: changes and characters; none without a limit."""
    access = settings.LOCI.access
    rate, together = access.writes_per_minute, "with all tokens together"
    if not rate:
        return ()
    changes = f"A person may write {rate:,} times a minute, {together}."
    chars = f"A person may write {CHARS_A_DAY:,} characters a day, {together}."
    return (
        Limit("burst_at", access.write_burst, MINUTE / rate, sentence=changes),
        Limit("chars_at", CHARS_A_DAY, DAY / CHARS_A_DAY, sentence=chars),
    )


def written_by(user: Any) -> PersonWrites:
    """The person's row, read with the user; an unsaved one before the first write."""
    return getattr(user, "written", None) or PersonWrites(user=user)


def has_just_written(written: PersonWrites) -> bool:
    """Whether a person may have written within the last LATEST_S seconds, which may not have reached a replica."""
    return now_us() < written.burst_at + LATEST_S * 1_000_000


def left_of(actor: Actor) -> float:
    """The changes or characters, whichever are fewer, that the actor may write now; infinite without a limit."""
    return min((limit.left(whole_at) for limit, whole_at in _owed(actor)), default=math.inf)


def check_write_rate(actor: Actor) -> None:
    """Refuse a write of a person who has nothing left; count_writes() counts what is written.

    Raises:
        TooManyWrites: `wait_s` says how long to wait.
    """
    for limit, whole_at in _owed(actor):
        if waits := limit.wait_s(whole_at):
            raise TooManyWrites(
                limit.sentence, wait_s=waits, hint=f"Try again in {waits:,} seconds. Nothing was written."
            )


def count_writes(actor: Actor, count: int, chars: int) -> None:
    """Take changes and characters from what the person has left; inside the transaction that makes them."""
    user, limits = actor.user_id, write_limits()
    if actor.token_key is None or user is None or not (limits or has_replica()):
        return
    costs = [used * _us(limit.each) for limit, used in zip(limits, (count, chars), strict=False)] or [0, 0]
    # Every process reads from the row of a person who has just written.
    cache = None if has_replica() else shared_cache()
    if cache is None:
        _move_row(user, costs)
    else:
        transaction.on_commit(partial(_count_in, cache, user, costs))


def _owed(actor: Actor) -> list[tuple[Limit, int]]:
    """Each limit with when it is whole again, by the row that came with the token, and by Redis."""
    if actor.written is None:
        return []
    limits, cache, name = write_limits(), shared_cache(), str(actor.user_id)
    kept = [cache.get(limit.kind, name) if cache else None for limit in limits]
    return [
        (limit, max(getattr(actor.written, limit.kind), int(at or 0)))
        for limit, at in zip(limits, kept, strict=True)
    ]


def _moved(now: int, writes: int, chars: int, user: int) -> Any:
    costs = {"burst_at": writes, "chars_at": chars}
    return PersonWrites.objects.filter(pk=user), {
        name: Greatest(F(name), Value(now)) + Value(cost) for name, cost in costs.items()
    }


_MOVE: Final = CompiledUpdate(_moved, 4)


def _move_row(user: int, costs: list[int]) -> None:
    if not _MOVE.run(now_us(), *costs, user):
        PersonWrites.objects.get_or_create(user_id=user)
        _MOVE.run(now_us(), *costs, user)


def _count_in(cache: SharedCache, user: int, costs: list[int]) -> None:
    """Count in Redis, or in the person's row if Redis is away."""
    for kind, cost in zip(("burst_at", "chars_at"), costs, strict=True):
        if not cache.move_on(kind, str(user), now_us=now_us(), cost_us=cost):
            _move_row(user, costs)
            return
