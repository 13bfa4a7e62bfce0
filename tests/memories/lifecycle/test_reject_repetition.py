"""Rejecting a repetition of a memory that counts hides the repetition only: the right memory stays in recall."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.models import CandidatePolicy, Group
from memories.lifecycle.verbs import reject, verify
from memories.models import Link, Memory, Piece, Tombstone
from memories.recall import RecallRequest, recall
from memories.review.decide import ReviewDecision, decide, take_back
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The VPN gateway lives in Frankfurt since spring."
QUESTION = "Where does the VPN gateway live?"
LAYS_NONE = (
    "the same text is live as {}, so no tombstone is created; merge it into that one to keep its wording"
)
# Dress that a store does not take for a repetition by itself: a sign may mean something.
REPEATED = f"\U0001f44d {TEXT}"
DRESSES = ("\U0001f44d {}", "  - \U0001f44d {}", "<b>{}</b>")


@pytest.fixture
def live(alice: User, ledger: Group) -> Memory:
    """A memory that counts, in a group where agents' stores wait."""
    memory = kept(person(alice), TEXT, group="ledger")
    Group.objects.filter(pk=ledger.pk).update(policy=CandidatePolicy.AGENTS)
    return memory


def repeat(alice: User, text: str = REPEATED, **fields: object) -> Memory:
    """The candidate with which an agent repeats the text."""
    memory = keep(agent(alice), text, group="ledger", **fields).memory
    assert memory is not None
    assert memory.trust == "candidate"
    return memory


def found(alice: User) -> list[str]:
    """What recall returns in the ledger."""
    return [
        item.memory.content for item in recall(person(alice), RecallRequest(QUESTION, group="ledger")).items
    ]


@pytest.mark.parametrize("dress", DRESSES)
def test_the_right_memory_stays_in_recall(alice: User, live: Memory, dress: str) -> None:
    waiting = repeat(alice, dress.format(TEXT))
    expected = ("recall does not return it", LAYS_NONE.format(live.id))
    assert reject(person(alice), waiting.id, dry_run=True).consequences == expected
    assert reject(person(alice), waiting.id).consequences == expected
    assert not Tombstone.objects.exists()
    assert found(alice) == [TEXT]


def test_the_same_words_of_another_type_are_the_same_text(alice: User, live: Memory) -> None:
    reject(person(alice), repeat(alice, TEXT, type="entity").id)
    assert not Tombstone.objects.exists()
    assert found(alice) == [TEXT]


def test_a_candidate_without_a_vector_is_compared_with_every_text(alice: User, live: Memory) -> None:
    waiting = repeat(alice)
    Piece.objects.filter(memory=waiting).update(embedding=None)
    Link.objects.all().delete()
    reject(person(alice), waiting.id)
    assert found(alice) == [TEXT]


def test_other_rejections_lay_their_tombstone(alice: User, live: Memory) -> None:
    waiting = repeat(alice, "The VPN gateway moved to Berlin in May.")
    assert "the same text is refused" in reject(person(alice), waiting.id).consequences[0]
    assert Tombstone.objects.get().memory_id == waiting.id


def test_a_memory_of_another_group_spares_nothing(alice: User, live: Memory) -> None:
    Group.objects.create(slug="other")
    kept(person(alice), "The build server is called heron.", group="other")
    waiting = repeat(alice, "\U0001f44d The build server is called heron.")
    reject(person(alice), waiting.id)
    assert Tombstone.objects.get().memory_id == waiting.id


def test_a_global_memory_of_another_group_spares_nothing_either(alice: User, live: Memory) -> None:
    Group.objects.create(slug="other")
    known = kept(person(alice), "The build server is called heron.", group="other", scope="global")
    waiting = repeat(alice, "\U0001f44d The build server is called heron.")
    hidden = f"recall leaves out {known.id} too: the same text in other dress"
    assert hidden in reject(person(alice), waiting.id).consequences
    assert Tombstone.objects.get().memory_id == waiting.id


def test_what_counts_until_a_plan_begins_spares_nothing_and_is_told(alice: User, live: Memory) -> None:
    begins = timezone.now() + timedelta(days=30)
    kept(
        person(alice), "The VPN gateway lives in Oslo.", group="ledger", supersedes=live.id, valid_from=begins
    )
    waiting = repeat(alice)
    hidden = f"recall leaves out {live.id} too: the same text in other dress"
    assert hidden in reject(person(alice), waiting.id).consequences
    assert Tombstone.objects.get().memory_id == waiting.id


def test_who_rejects_what_counts_is_told_of_its_copies(alice: User, live: Memory) -> None:
    copy = kept(person(alice), TEXT, group="ledger", type="entity")
    assert f"recall leaves out {copy.id} too: the same text" in reject(person(alice), live.id).consequences
    assert Tombstone.objects.get().memory_id == live.id


def test_the_review_says_so_and_its_undo_hides_nothing(alice: User, live: Memory) -> None:
    waiting = repeat(alice)
    decision = ReviewDecision("reject", waiting.id)
    assert LAYS_NONE.format(live.id) in decide(person(alice), decision, dry_run=True).consequences
    done = decide(person(alice), decision)
    take_back(person(alice), done.entries)
    assert fresh(waiting).trust == "candidate"
    reject(person(alice), waiting.id)
    approved = decide(person(alice), ReviewDecision("approve", waiting.id))
    take_back(person(alice), approved.entries)
    assert fresh(waiting).trust == "rejected"
    assert not Tombstone.objects.exists()
    verify(person(alice), live.id)
    assert found(alice) == [TEXT]
