"""Numbers shared by all processes through Redis, if REDIS_URL is set. A failure of Redis reads as a miss.

Names are keyed hashes, so Redis holds no text, and two stores on one Redis do not meet.
"""

import hmac
import logging
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeVar

from django.conf import settings

logger = logging.getLogger(__name__)
ANSWER_S = 0.1  # waited for Redis, which is asked in the middle of a write
AWAY_S = 5.0  # before a Redis that failed is asked again: no request waits for it in between
PREFIX = "loci:"
# Moves a time on, from now or from what it was, whichever is later; kept until then. Lua would round a large number.
_MOVE_ON = """
local moved = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), tonumber(ARGV[1])) + tonumber(ARGV[2])
redis.call('SET', KEYS[1], string.format('%.0f', moved), 'EX', math.ceil((moved - tonumber(ARGV[1])) / 1000000) + 60)
return 1
"""
T = TypeVar("T")


class SharedCache:
    """A cache in Redis that may fail at any time."""

    def __init__(self, url: str, *, secret: str) -> None:
        import redis  # noqa: PLC0415 - half of a command's start-up time, and most processes need none

        self._errors: tuple[type[Exception], ...] = (redis.RedisError, OSError)
        self._client: Any = redis.Redis.from_url(
            url, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S, retry=None
        )
        self._secret = secret.encode()
        self._away_until = 0.0

    def get(self, kind: str, name: str) -> bytes | None:
        """The cached value; None without one."""
        found: bytes | None = self._tried(lambda: self._client.get(self._key(kind, name)), None)
        return found

    def move_on(self, kind: str, name: str, *, now_us: int, cost_us: int) -> bool:
        """Move the time kept under a name on by `cost_us`, from now at least; False if Redis was lost."""
        key = self._key(kind, name)
        return bool(self._tried(lambda: self._client.eval(_MOVE_ON, 1, key, now_us, cost_us), 0))

    def _key(self, kind: str, name: str) -> str:
        digest = hmac.new(self._secret, f"{kind}\0{name}".encode(), sha256).hexdigest()
        return f"{PREFIX}{kind}:{digest[:40]}"

    def _tried(self, ask: Callable[[], T], otherwise: T) -> T:
        if time.monotonic() < self._away_until:
            return otherwise
        try:
            return ask()
        except self._errors as error:
            self._away_until = time.monotonic() + AWAY_S
            logger.warning("Redis does not answer (%s); going on without it", type(error).__name__)
            return otherwise


def shared_cache() -> SharedCache | None:
    """This process's cache in Redis; None without REDIS_URL."""
    url = settings.LOCI.redis_url
    return connected_cache(url) if url else None


@lru_cache(maxsize=2)
def connected_cache(url: str) -> SharedCache:
    """The cache at an address, created once per process."""
    return SharedCache(url, secret=str(settings.SECRET_KEY))
