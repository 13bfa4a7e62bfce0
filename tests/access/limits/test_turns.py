"""People in turn: one who asks much waits behind the first questions of others; the queue order is counted, not timed."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.limits import turns
from access.limits.turns import PRESENT_S, Turns, person_behind
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
