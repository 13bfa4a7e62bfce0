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
from dataclasses import dataclass, field
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
_EACH_S: Final = 0.1  # about what a request takes while there are others
_HALVED_S: Final = 1.0  # what was done so long ago counts half
_MAX_WAIT_S: Final = 0.1  # for others, at one check
_LOOK_S: Final = 0.002  # between two checks
_SHORT_S: Final = 1.0  # a request that takes longer stores a long text or streams; no other waits for it
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

    began: float
    waited: float = 0.0
    next_look: float = 0.0

    def seconds(self, now: float) -> float:
        """How long it has kept the process busy."""
        return now - self.began - self.waited


@dataclass(eq=False)
class _Person:
    """When the requests of a person that are in hand began, what is done for them, and the seconds of work until `until`."""

    until: float
    worked: float = 0.0
    requests: list[float] = field(default_factory=list)
    works: list[_Work] = field(default_factory=list)

    def note(self, seconds: float, now: float) -> None:
        """Add what has been done; what is past counts half every _HALVED_S."""
        self.worked = self.worked * exp2((self.until - now) / _HALVED_S) + seconds
        self.until = now

    def load(self, now: float) -> float:
        """How long the process has worked for the person of late, and about how long it will for what is in hand."""
        self.note(0.0, now)
        return self.worked + sum(work.seconds(now) for work in self.works) + _EACH_S * len(self.requests)


class InHand:
    """Whose requests a process has in hand, and how long it has worked for each person. Safe to share between threads.

    Threads share one interpreter: each step of a request takes two or three times as long while another person asks all the
    time. So the work for whoever has kept the process busy much longer of late waits meanwhile, but no longer than it took.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all: a fork copies no threads."""
        self._ended = threading.Condition()
        self._people = OrderedDict[str, _Person]()  # the last ones
        self._present = dict[str, _Person]()  # those with a request in hand

    @contextmanager
    def asking(self, person: str) -> Iterator[None]:
        """Note that a person's request is in hand during the block."""
        began = time.monotonic()
        with self._ended:
            known = self._present[person] = self._find(person, began)
            known.requests.append(began)
        try:
            yield
        finally:
            with self._ended:
                known.requests.remove(began)
                if not known.requests and self._present.get(person) is known:
                    del self._present[person]
                self._ended.notify_all()

    @contextmanager
    def working(self, person: str) -> Iterator[None]:
        """Note that the process works for a person during the block, in which check_time() gives way to others."""
        work = _Work(time.monotonic())
        with self._ended:
            known = self._find(person, work.began)
            known.works.append(work)
        try:
            with GIVE_WAY.holding(partial(self._give_way, known, work)):
                yield
        finally:
            with self._ended:
                now = time.monotonic()
                known.works.remove(work)
                known.note(work.seconds(now), now)

    def _find(self, person: str, now: float) -> _Person:
        known = self._people.setdefault(person, _Person(now))
        self._people.move_to_end(person)
        while len(self._people) > _MAX_KNOWN:
            self._people.popitem(last=False)
        return known

    def _give_way(self, person: _Person, work: _Work) -> None:
        """Wait while there is a request of a person for whom the process has worked much less."""
        began = now = time.monotonic()
        if began < work.next_look or len(self._present) < 2:
            return
        with self._ended:
            end = began + min(work.seconds(began) - work.waited, _MAX_WAIT_S)
            while now < end and self._has_lighter(person, now):
                self._ended.wait(end - now)
                now = time.monotonic()
            work.waited += now - began
            work.next_look = now + _LOOK_S

    def _has_lighter(self, person: _Person, now: float) -> bool:
        most = person.load(now) / _MUCH_LONGER
        return any(
            other.load(now) < most
            for other in self._present.values()
            if other is not person and now - other.requests[-1] < _SHORT_S
        )


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
