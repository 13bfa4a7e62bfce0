"""How much each person may write, with all tokens together: changes a minute, and characters of text a day.

`access.write_burst` changes may come at once, refilled with `access.writes_per_minute`; CHARS_A_DAY characters likewise,
refilled over a day. The person's row in PersonWrites, which is read with each token, says when both are whole again; each row
in the audit log moves those times on by the time of one write, in the transaction of the write. So all tokens and
processes share one count, the check costs no query, and a write costs one UPDATE by key and no transaction of its own.
Calls at once may take more than is left; the next ones wait until it is paid back. Operators and people at a browser have
no token and no limit.

Where REDIS_URL is set, the numbers are in Redis instead: on PostgreSQL all writers of one person would wait for the row.
What Redis loses is forgiven, and while it is away the row counts.

This is the generic cell rate algorithm (ITU-T I.371), which needs one number instead of a level and its time.
"""

import math
import time
from functools import partial
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest

from access.actor import Actor
from access.errors import TooManyWrites
from access.models import PersonWrites
from storage.compiled_queries import CompiledUpdate
from storage.postgresql.replica import LATEST_S, has_replica
from storage.shared_cache import SharedCache, shared_cache

MINUTE_US: Final = 60_000_000
DAY_US: Final = 86_400_000_000
CHARS_A_DAY: Final = (
    200_000_000  # a hundred long books; an agent that works all day writes a thousandth of it
)


def _move(now: int, writes: int, chars: int, user: int) -> Any:
    changes = {
        name: Greatest(F(name), Value(now)) + Value(cost)
        for name, cost in (("burst_at", writes), ("chars_at", chars))
    }
    return PersonWrites.objects.filter(pk=user), changes


_MOVE: Final = CompiledUpdate(_move, 4)


class Meter(NamedTuple):
    """What is measured: `burst` at once, `rate` in each `period_us`; `column` of PersonWrites says when it is whole again."""

    column: str
    burst: int
    rate: int
    period_us: int
    sentence: str

    def left(self, whole_at: int) -> float:
        """What is left, given when it is whole again."""
        return self.burst - max(0, whole_at - now_us()) * self.rate / self.period_us

    def cost_us(self, count: int) -> int:
        """The time that so much takes to be refilled."""
        return count * self.period_us // self.rate


def meters() -> tuple[Meter, ...]:
    """The meters by the settings; none without a limit."""
    access = settings.LOCI.access
    if not access.writes_per_minute:
        return ()
    together = "with all tokens together"
    return (
        Meter(
            "burst_at", access.write_burst, access.writes_per_minute, MINUTE_US,
            f"A person may write {access.writes_per_minute:,} times a minute, {together}.",
        ),
        Meter(
            "chars_at", CHARS_A_DAY, CHARS_A_DAY, DAY_US,
            f"A person may write {CHARS_A_DAY:,} characters a day, {together}.",
        ),
    )  # fmt: skip


def written_by(user: Any) -> PersonWrites:
    """The person's row, read with the user; an unsaved one before the first write."""
    return getattr(user, "written", None) or PersonWrites(user=user)


def writes_left(written: PersonWrites) -> float:
    """The changes that a person may make now; infinite without a limit."""
    limits = meters()
    return limits[0].left(written.burst_at) if limits else math.inf


def left_of(actor: Actor) -> float:
    """The changes that the actor may make now, none without characters; infinite without a limit."""
    return min(
        (left if meter.column == "burst_at" or left < 1 else math.inf for meter, left in _left(actor)),
        default=math.inf,
    )


def _left(actor: Actor) -> list[tuple[Meter, float]]:
    """What is left of each meter by the row that came with the token, and by Redis; empty without a limit."""
    written, limits = actor.written, meters()
    if written is None or not limits:
        return []
    cache = shared_cache()
    stored = [cache.get(meter.column, str(actor.user_id)) if cache else None for meter in limits]
    return [
        (meter, meter.left(max(getattr(written, meter.column), int(kept or 0))))
        for meter, kept in zip(limits, stored, strict=True)
    ]


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


def has_just_written(written: PersonWrites) -> bool:
    """Whether a person may have written within the last LATEST_S seconds, which may not have reached a replica."""
    return now_us() < written.burst_at + LATEST_S * 1_000_000


def check_write_rate(actor: Actor) -> None:
    """Refuse a write of a person who has nothing left; count_writes() counts what is written.

    Raises:
        TooManyWrites: `wait_s` says how long to wait.
    """
    for meter, left in _left(actor):
        if left < 1:
            wait_s = max(1, math.ceil((1 - left) * meter.period_us / meter.rate / 1_000_000))
            raise TooManyWrites(
                meter.sentence, wait_s=wait_s, hint=f"Try again in {wait_s:,} seconds. Nothing was written."
            )


def count_writes(actor: Actor, count: int, chars: int) -> None:
    """Take changes and characters from what the person has left; inside the transaction that makes them."""
    user, limits = actor.user_id, meters()
    if actor.token_key is None or user is None or not (limits or has_replica()):
        return
    costs = [meter.cost_us(used) for meter, used in zip(limits, (count, chars), strict=False)] or [0, 0]
    # Every process reads from the row of a person who has just written.
    cache = None if has_replica() else shared_cache()
    if cache is None:
        _move_row(user, costs)
    else:
        transaction.on_commit(partial(_count_in, cache, user, costs))


def _move_row(user: int, costs: list[int]) -> None:
    if not _MOVE.run(now_us(), *costs, user):
        PersonWrites.objects.get_or_create(user_id=user)
        _MOVE.run(now_us(), *costs, user)


def _count_in(cache: SharedCache, user: int, costs: list[int]) -> None:
    """Count in Redis, or in the person's row if Redis is away."""
    for meter, cost in zip(meters(), costs, strict=True):
        if not cache.move_on(meter.column, str(user), now_us=now_us(), cost_us=cost):
            _move_row(user, costs)
            return
