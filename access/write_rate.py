"""How fast each token may write: `access.write_burst` writes at once, refilled with `access.writes_per_minute`.

What is left stands in the token's own row, which every call reads anyway; the transaction that appends to the audit log
lowers it. So all processes share one count, the check costs no query, and a write costs one UPDATE and no transaction of its
own. Several calls at once may take more than is left; the next ones wait until it is paid back. Operators and people at
a browser have no token and no limit.
"""

import math
import time

from django.conf import settings

from access.actor import Actor
from access.errors import TooManyWrites
from access.models import ApiToken
from storage.compiled_queries import CompiledQuery, CompiledUpdate

_LEVEL = CompiledQuery(
    lambda key: ApiToken.objects.filter(pk=key).values_list("writes_left", "writes_left_at").order_by()
)
_SET_LEVEL = CompiledUpdate(
    lambda left, at, key: (
        ApiToken.objects.filter(pk=key),
        {"writes_left": left, "writes_left_at": at},
    ),
    3,
)


def writes_left(left: float | None, at: float | None) -> float:
    """What a token may write now, given what was left at a time (seconds since the epoch); infinite without a limit."""
    access = settings.LOCI.access
    if not access.writes_per_minute:
        return math.inf
    if left is None or at is None:
        return float(access.write_burst)
    passed_s = max(0.0, time.time() - at)
    return min(float(access.write_burst), left + passed_s * access.writes_per_minute / 60)


def check_write_rate(actor: Actor) -> None:
    """Let a token write, unless it has used up its rate.

    Raises:
        TooManyWrites: nothing is left; `wait_s` says for how long.
    """
    if actor.writes_left >= 1:
        return
    rate = settings.LOCI.access.writes_per_minute
    wait_s = max(1, math.ceil((1 - actor.writes_left) * 60 / rate))
    raise TooManyWrites(
        f"This token may write {rate:,} times a minute.",
        wait_s=wait_s,
        hint=f"Try again in {wait_s} seconds. Nothing was written.",
    )


def count_writes(actor: Actor, count: int) -> None:
    """Take `count` writes from what the actor's token has left; inside the transaction that holds the head of the log."""
    if actor.token_key is None or not settings.LOCI.access.writes_per_minute:
        return
    found = _LEVEL.first(actor.token_key)
    if found is not None:
        _SET_LEVEL.run(writes_left(*found) - count, time.time(), actor.token_key)  # type: ignore[arg-type]  # floats are bound unchanged
