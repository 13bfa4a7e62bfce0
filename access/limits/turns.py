"""People in turn: whoever asks much waits behind the first questions of others, not before them.

A person is a user, over all tokens and browsers.
"""

import hashlib
import os
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.cookies import CookieError, SimpleCookie
from math import exp2
from typing import Final, Generic, TypeVar

from django.conf import settings

from access.limits.deadline import GIVE_WAY
from storage.call_state import CallState

T = TypeVar("T")
MAX_WAITING: Final = 64  # requests of one person in a process; one more is answered 429
PRESENT_S: Final = 5.0  # after a question a person counts as there for so long
_MUCH_LONGER: Final = 1.5  # times
_EACH_S: Final = 0.1  # about what a request takes beside others
_HALVED_S: Final = 1.0  # what somebody's work of so long ago counts half for
_MAX_WAIT_S: Final = 0.1  # for others, at one check
_SHORT_S: Final = 1.0  # a request that takes longer stores a long text or streams: nobody waits for it
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


@dataclass(eq=False)
class _Work:
    """What is done for a person since `began` (time.monotonic()), and for how long it waited for others."""

    person: str
    began: float
    waited: float = 0.0

    def seconds(self, now: float) -> float:
        """How long it has kept the process busy."""
        return now - self.began - self.waited


class InHand:
    """Whose requests a process has in hand, and how long it has worked for each person. Safe to share between threads.

    Threads share one interpreter: beside somebody who asks all the time, each step of another's request would take twice or
    three times as long. So who has kept the process busy much longer of late waits meanwhile, but no longer than it worked.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all: a fork copies no threads."""
        self._ended = threading.Condition()
        self._requests, self._works = list[_Work](), list[_Work]()
        self._worked = OrderedDict[str, tuple[float, float]]()  # seconds of each person, and until when

    @contextmanager
    def asking(self, person: str) -> Iterator[None]:
        """Note that a person's request is in hand during the block."""
        request = _Work(person, time.monotonic())
        with self._ended:
            self._requests.append(request)
        try:
            yield
        finally:
            with self._ended:
                self._requests.remove(request)
                self._ended.notify_all()

    @contextmanager
    def working(self, person: str) -> Iterator[None]:
        """Note that the process works for a person during the block, in which check_time() gives way to others."""
        work = _Work(person, time.monotonic())
        with self._ended:
            self._works.append(work)
        try:
            with GIVE_WAY.holding(partial(self._give_way, work)):
                yield
        finally:
            with self._ended:
                now = time.monotonic()
                self._worked[person] = (self._seconds_of(person, now), now)
                self._worked.move_to_end(person)
                while len(self._worked) > _MAX_KNOWN:
                    self._worked.popitem(last=False)
                self._works.remove(work)

    def _give_way(self, work: _Work) -> None:
        """Wait while there is a request of a person for whom the process has worked much less."""
        if all(request.person == work.person for request in [*self._requests]):
            return
        with self._ended:
            began = now = time.monotonic()
            end = began + min(work.seconds(began) - work.waited, _MAX_WAIT_S)
            while now < end and self._is_beside_lighter(work, now):
                self._ended.wait(end - now)
                now = time.monotonic()
            work.waited += now - began

    def _is_beside_lighter(self, work: _Work, now: float) -> bool:
        others = {request.person for request in self._requests if now - request.began < _SHORT_S}
        most = self._seconds_of(work.person, now) / _MUCH_LONGER
        return any(self._seconds_of(other, now) < most for other in others - {work.person})

    def _seconds_of(self, person: str, now: float) -> float:
        """How long the process has worked for a person, and will for what is in hand; what is past counts half every _HALVED_S."""
        seconds, until = self._worked.get(person, (0.0, now))
        under_way = (work.seconds(now) for work in self._works if work.person == person)
        asked = sum(request.person == person for request in self._requests)
        return seconds * exp2((until - now) / _HALVED_S) + sum(under_way) + _EACH_S * asked


IN_HAND: Final = InHand()
os.register_at_fork(after_in_child=IN_HAND.reset)


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
