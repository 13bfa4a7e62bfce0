"""People in turn: whoever asks much waits behind the first questions of others, not before them.

A person is a user, over all tokens and browsers.
"""

import hashlib
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Final, Generic, TypeVar

from django.conf import settings

from storage.call_state import CallState

T = TypeVar("T")
MAX_WAITING: Final = 64  # requests of one person in a process; one more is answered 429
PRESENT_S: Final = 5.0  # after a question a person counts as there for so long
_MAX_KNOWN: Final = 10_000
PERSON: Final = CallState[str]("person")  # whose request this is; unset for the server itself
_people: OrderedDict[str, str] = (
    OrderedDict()
)  # by the hash of a secret or session, whose person never changes


class Turns(Generic[T]):
    """Who waits and who is at work, `at_once` in all. Not safe to share between threads without a lock.

    A person who is alone has all places; where others are there too, half of them.
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = self.free = at_once
        self._waiting: OrderedDict[str, deque[T]] = OrderedDict()  # the next person first
        self._working = Counter[str]()
        self._seen: OrderedDict[str, float] = OrderedDict()

    def add(self, person: str, item: T) -> None:
        """Queue an item behind those of the same person."""
        now = time.monotonic()
        self._seen[person] = now
        self._seen.move_to_end(person)
        while (oldest := next(iter(self._seen))) != person and now - self._seen[oldest] > PRESENT_S:
            del self._seen[oldest]
        self._waiting.setdefault(person, deque()).append(item)

    def take(self) -> tuple[str, T] | None:
        """The item whose turn it is, which is now at work; None if no item may begin."""
        person = self._next()
        if person is None:
            return None
        queue = self._waiting.pop(person)
        item = queue.popleft()
        if queue:
            self._waiting[person] = queue  # behind everyone else
        self.free -= 1
        self._working[person] += 1
        return person, item

    def take_if(self, person: str, item: T) -> bool:
        """Take this item if it is its turn."""
        return self._next() == person and self._waiting[person][0] is item and self.take() is not None

    def _next(self) -> str | None:
        each = max(1, self.at_once // 2) if len(self._seen) > 1 else self.at_once
        return next((who for who in self._waiting if self._working[who] < each), None) if self.free else None

    def done(self, person: str) -> None:
        """End the work of one item."""
        self.free += 1
        self._working[person] -= 1
        if not self._working[person]:
            del self._working[person]

    def drop(self, person: str, item: T) -> bool:
        """Take back an item that waits; False if it does not wait any more."""
        queue = self._waiting.get(person, deque())
        if item not in queue:
            return False
        queue.remove(item)
        if not queue:
            del self._waiting[person]
        return True

    def waiting(self, person: str) -> int:
        """How many items of a person wait."""
        return len(self._waiting.get(person, ()))


def remember_person(secret: str, user_id: int) -> None:
    """Note whose secret or session this is, for person_behind()."""
    name = _digest(secret)
    if name not in _people:
        _people[name] = f"user:{user_id}"
        while len(_people) > _MAX_KNOWN:
            _people.popitem(last=False)


def person_behind(headers: Iterable[tuple[bytes, bytes]], network: str) -> str | None:
    """Who sends a request with these headers: a user, or the network if it is not known yet; None without a secret."""
    secret = ""
    for name, value in headers:
        if name == b"authorization":
            secret = value.decode("latin-1").partition(" ")[2].strip()
            break
        if name == b"cookie" and not secret:
            secret = _session_in(value.decode("latin-1"))
    return (_people.get(_digest(secret)) or f"address:{network}") if secret else None


def _session_in(cookies: str) -> str:
    try:
        found = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return ""
    return found.value if found else ""


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()
