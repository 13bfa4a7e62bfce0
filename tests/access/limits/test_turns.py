"""People in turn: one who asks much waits behind the first questions of others; the queue order is counted, not timed."""

import threading
from contextlib import ExitStack

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.limits import turns
from access.limits.deadline import check_time
from access.limits.turns import PRESENT_S, InHand, Turns, person_behind
from access.models import Group
from access.tokens import actor_for_secret
from tests.people import make_token


def begin_all(waiting: Turns[int]) -> list[tuple[str, int]]:
    """Take whatever may begin, each at once done."""
    order = []
    while (taken := waiting.take()) is not None:
        order.append(taken)
        waiting.done(taken[0])
    return order


def test_each_person_in_turn_however_many_wait() -> None:
    waiting = Turns[int](1)
    for number in range(4):
        waiting.add("ann", number)
    waiting.add("bob", 10)
    waiting.add("cem", 20)
    waiting.add("bob", 11)
    assert begin_all(waiting) == [
        ("ann", 0), ("bob", 10), ("cem", 20), ("ann", 1), ("bob", 11), ("ann", 2), ("ann", 3),
    ]  # fmt: skip


def test_one_person_has_half_of_the_places_as_soon_as_there_is_another() -> None:
    waiting = Turns[int](4)
    for number in range(8):
        waiting.add("ann", number)
    assert [waiting.take() for _ in range(5)] == [("ann", 0), ("ann", 1), ("ann", 2), ("ann", 3), None]
    for _ in range(4):
        waiting.done("ann")
    waiting.add("bob", 10)
    assert [waiting.take() for _ in range(4)] == [("ann", 4), ("bob", 10), ("ann", 5), None]
    waiting.done("ann")
    assert [waiting.take(), waiting.take()] == [("ann", 6), None]


def test_who_has_been_away_leaves_the_places_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(turns.time, "monotonic", lambda: now[0])
    waiting = Turns[int](2)
    waiting.add("bob", 10)
    begin_all(waiting)
    waiting.add("ann", 0)
    waiting.add("ann", 1)
    assert [waiting.take(), waiting.take()] == [("ann", 0), None]
    now[0] += PRESENT_S + 1
    waiting.add("ann", 2)
    assert [waiting.take(), waiting.take()] == [("ann", 1), None]  # two places in all


def test_one_that_is_dropped_does_not_wait_any_more() -> None:
    waiting = Turns[str](1)
    waiting.add("ann", "first")
    waiting.add("ann", "second")
    assert waiting.drop("ann", "first")
    assert not waiting.drop("ann", "first")
    assert waiting.waiting("ann") == 1
    assert begin_all(waiting) == [("ann", "second")]


@pytest.mark.django_db
def test_all_tokens_of_a_person_are_one(bob: User, alice: User, ledger: Group) -> None:
    secrets = [make_token(bob)[1], make_token(bob, name="other")[1], make_token(alice, name="hers")[1]]
    headers = [[(b"authorization", f"Bearer {secret}".encode())] for secret in secrets]
    assert person_behind(headers[0], "10.0.0.1") == "address:10.0.0.1"  # not seen yet
    for secret in secrets:
        actor_for_secret(secret)
    people = [person_behind(each, "10.0.0.1") for each in headers]
    assert people == [f"user:{bob.pk}", f"user:{bob.pk}", f"user:{alice.pk}"]
    assert person_behind([], "10.0.0.1") is None


@pytest.mark.django_db
def test_a_browser_of_a_person_is_one_with_the_tokens(bob: User, ledger: Group, client: Client) -> None:
    client.force_login(bob)
    assert client.get("/api/memories?group=ledger").status_code == 200
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    assert person_behind([(b"cookie", cookies.encode())], "10.0.0.1") == f"user:{bob.pk}"
    assert person_behind([(b"cookie", b"theme=dark")], "10.0.0.1") is None


class Clock:
    """The time of a process in which nothing else happens: whoever waits does so to the end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, in_hand: InHand) -> None:
        self.now = 100.0
        monkeypatch.setattr(turns, "_LOOK_S", 0.0)
        monkeypatch.setattr(turns.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(in_hand._ended, "wait", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def checked(self) -> float:
        """How long check_time() takes, in seconds."""
        began = self.now
        check_time()
        return round(self.now - began, 3)


@pytest.fixture
def in_hand() -> InHand:
    return InHand()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, in_hand: InHand) -> Clock:
    return Clock(monkeypatch, in_hand)


def test_who_has_worked_much_longer_waits_for_another_but_no_longer_than_it_worked(
    in_hand: InHand, clock: Clock
) -> None:
    with in_hand.asking("ann"), in_hand.working("ann"):
        clock.sleep(0.25)
        assert clock.checked() == 0.0  # no other person is there
        with in_hand.asking("bob"), in_hand.working("bob"):
            assert [clock.checked() for _ in range(2)] == [0.0, 0.0]  # that is bob
    with in_hand.asking("ann"), in_hand.asking("bob"), in_hand.working("ann"):
        clock.sleep(0.25)
        assert [clock.checked() for _ in range(4)] == [0.1, 0.1, 0.05, 0.0]
    check_time()  # outside of all work


def test_no_one_waits_for_a_person_who_has_worked_as_long(in_hand: InHand, clock: Clock) -> None:
    for person in ("ann", "bob"):
        with in_hand.asking(person), in_hand.working(person):
            clock.sleep(0.5)
    with in_hand.asking("bob"), in_hand.asking("ann"), in_hand.working("ann"):
        clock.sleep(0.1)
        assert clock.checked() == 0.0
        clock.sleep(0.4)  # now it is much longer
        assert clock.checked() == 0.1


def test_what_was_done_long_ago_counts_little(in_hand: InHand, clock: Clock) -> None:
    with in_hand.asking("ann"), in_hand.working("ann"):
        clock.sleep(3.0)
    clock.sleep(8.0)
    with in_hand.asking("bob"), in_hand.asking("ann"), in_hand.working("ann"):
        clock.sleep(0.03)
        assert clock.checked() == 0.0


def test_who_asks_sixteen_things_at_once_waits_for_one_who_asks_one(in_hand: InHand, clock: Clock) -> None:
    with ExitStack() as requests:
        for _ in range(16):
            requests.enter_context(in_hand.asking("ann"))
        requests.enter_context(in_hand.asking("bob"))
        requests.enter_context(in_hand.working("ann"))
        clock.sleep(0.01)
        assert clock.checked() == 0.01


def test_no_one_waits_for_a_request_that_takes_long_itself(in_hand: InHand, clock: Clock) -> None:
    with in_hand.asking("bob"):
        clock.sleep(1.5)
        with in_hand.asking("ann"), in_hand.working("ann"):
            clock.sleep(0.5)
            assert clock.checked() == 0.0


def test_the_wait_ends_with_the_other_s_request(monkeypatch: pytest.MonkeyPatch, in_hand: InHand) -> None:
    monkeypatch.setattr(turns, "_MAX_WAIT_S", 60)
    waits, went_on = threading.Event(), threading.Event()

    def work() -> None:
        with in_hand.asking("ann"), in_hand.working("ann"):
            in_hand._people["ann"].works[0].began -= 60
            waits.set()
            check_time()
            went_on.set()

    with in_hand.asking("bob"):
        thread = threading.Thread(target=work)
        thread.start()
        assert waits.wait(10)
        assert not went_on.wait(0.2)
    assert went_on.wait(10)
    thread.join()


def test_only_the_last_people_are_remembered(monkeypatch: pytest.MonkeyPatch, in_hand: InHand) -> None:
    monkeypatch.setattr(turns, "_MAX_KNOWN", 2)
    for person in ("ann", "bob", "cem"):
        with in_hand.working(person):
            pass
    assert [*in_hand._people] == ["bob", "cem"]
    in_hand.reset()
    assert not in_hand._people


def test_between_two_looks_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, in_hand: InHand, clock: Clock
) -> None:
    monkeypatch.setattr(turns, "_LOOK_S", 0.01)
    with in_hand.asking("ann"), in_hand.asking("bob"), in_hand.working("ann"):
        clock.sleep(0.5)
        assert [clock.checked(), clock.checked()] == [0.1, 0.0]
        clock.sleep(0.01)
        assert clock.checked() == 0.1


def test_a_work_is_counted_once_when_it_is_over(in_hand: InHand, clock: Clock) -> None:
    with in_hand.working("ann"):
        clock.sleep(0.5)
        with in_hand.working("ann"):
            clock.sleep(0.1)
    assert in_hand._people["ann"].load(clock.now) == pytest.approx(0.7)
    clock.sleep(1.0)
    assert in_hand._people["ann"].load(clock.now) == pytest.approx(0.35)
