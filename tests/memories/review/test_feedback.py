"""Feedback on recalled memories: once for each recall and memory, only of what the caller may see, and gone with a purge."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.errors import InvalidInput, LociError, NotFound
from access.models import AuditEntry, Group
from memories.browse.recalls import recall_id
from memories.lifecycle.verbs import purge
from memories.models import Feedback, Memory, RecallLog
from memories.recall_log import pack_hits
from memories.review.card import memory_card
from memories.review.feedback import give_feedback
from tests.memories.builders import doubt, row
from tests.people import alice, bob, garden, ledger, person

__all__ = ["alice", "bob", "garden", "ledger"]
pytestmark = pytest.mark.django_db


def asked(actor: str, group: Group, *found: Memory, days_ago: float = 0) -> RecallLog:
    return RecallLog.objects.create(
        at=timezone.now() - timedelta(days=days_ago),
        group=group,
        actor=actor,
        via="rest",
        mode="hybrid",
        query="which ports?",
        hits=pack_hits([(memory.key, 0.5) for memory in found]),
        duration_ms=1.0,
    )


@pytest.fixture
def ports(ledger: Group) -> list[Memory]:
    return [row(ledger, f"Port {n} is open.") for n in range(3)]


def said() -> set[tuple[int, int, str]]:
    return {(each.memory_id, each.recall, each.verdict) for each in Feedback.objects.all()}


def test_a_verdict_belongs_to_the_newest_recall_that_returned_the_memory(
    bob: User, ledger: Group, ports: list[Memory]
) -> None:
    first, second, third = ports
    asked("bob", ledger, first, second)
    late = asked("bob", ledger, first)
    asked("carol", ledger, first, second)
    asked("bob", ledger, third, days_ago=2)
    given = give_feedback(person(bob), used=[str(first.id)], wrong=[str(second.id), str(third.id)])
    assert [each.is_new for each in given] == [True, True, True]
    early = RecallLog.objects.order_by("key").first()
    assert early is not None
    assert said() == {
        (first.key, late.key, "used"),
        (second.key, early.key, "wrong"),
        (third.key, 0, "wrong"),  # no recall of the last day returned it
    }


def test_a_verdict_counts_once_and_a_later_one_replaces_it(
    bob: User, ledger: Group, ports: list[Memory]
) -> None:
    recall = asked("bob", ledger, ports[0])
    id_ = str(ports[0].id)
    assert [give_feedback(person(bob), used=[id_, id_])[0].is_new for _ in range(2)] == [True, False]
    assert give_feedback(person(bob), wrong=[id_])[0].is_new
    assert said() == {(ports[0].key, recall.key, "wrong")}


def test_a_recall_can_be_named(bob: User, ledger: Group, ports: list[Memory]) -> None:
    early = asked("bob", ledger, ports[0])
    asked("bob", ledger, ports[0])
    give_feedback(person(bob), used=[str(ports[0].id)], recall=recall_id(early))
    assert said() == {(ports[0].key, early.key, "used")}
    with pytest.raises(InvalidInput, match="The recall did not return"):
        give_feedback(person(bob), used=[str(ports[1].id)], recall=recall_id(early))
    with pytest.raises(InvalidInput, match="is not the id of a recall"):
        give_feedback(person(bob), used=[str(ports[0].id)], recall="7")
    with pytest.raises(NotFound):
        give_feedback(
            person(bob), used=[str(ports[0].id)], recall=recall_id(asked("alice", ledger, ports[0]))
        )
    assert Feedback.objects.count() == 1


def test_nothing_is_written_if_one_id_is_wrong(bob: User, ports: list[Memory], garden: Group) -> None:
    hidden, good = row(garden, "Roses are red."), str(ports[0].id)
    calls: list[dict[str, list[str]]] = [
        {},
        {"used": [good], "wrong": [good]},
        {"used": [good, str(hidden.id)]},
        {"used": [good] * 101},
        {"used": [good], "wrong": ["port"]},
    ]
    for call in calls:
        with pytest.raises(LociError):
            give_feedback(person(bob), **call)  # type: ignore[arg-type]
    assert not Feedback.objects.exists()


def test_it_is_no_change_of_the_memory_and_goes_with_it(alice: User, ports: list[Memory]) -> None:
    before, at = AuditEntry.objects.count(), ports[0].updated_at
    give_feedback(person(alice), wrong=[str(ports[0].id)])
    ports[0].refresh_from_db()
    assert (AuditEntry.objects.count(), ports[0].updated_at) == (before, at)
    purge(person(alice), ports[0].id)
    assert not Feedback.objects.exists()


def test_the_review_shows_it(alice: User, bob: User, ports: list[Memory]) -> None:
    doubt(ports[0])
    give_feedback(person(bob), wrong=[str(ports[0].id)])
    give_feedback(person(alice), used=[str(ports[0].id)])
    assert memory_card(person(alice), ports[0].id).feedback.in_words == "used once, wrong once"
