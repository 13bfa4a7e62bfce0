"""A person decides about the very text that was named or shown: a later version is looked at first."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.errors import Conflict
from access.models import Group
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditDraft, edit
from memories.models import Memory, Proposal, ProposalStatus
from memories.review.decide import ReviewDecision, decide, decide_many, take_back
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
RENT, OTHER = "The miller pays 7 groats rent.", "The bells of the abbey ring at noon."


def waiting(alice: User, bob: User) -> tuple[Memory, Memory]:
    """A verified fact, and the candidate that is to replace it."""
    fact = kept(agent(bob), RENT, group="ledger")
    verbs.verify(person(alice), fact.id)
    shown = keep(agent(bob), "The miller pays 8 groats rent.", group="ledger", supersedes=fact.id).memory
    assert shown is not None
    assert shown.trust == "candidate"
    return fact, shown


def edited(bob: User, memory: Memory, text: str) -> Memory:
    """The next version, by another agent."""
    return edit(agent(bob, name="other"), memory.id, EditDraft(content=text)).memory


@pytest.mark.parametrize("verb", ["approve", "verify", "pin"])
def test_no_verb_stands_behind_a_text_that_was_not_named(
    alice: User, bob: User, ledger: Group, verb: str
) -> None:
    fact, shown = waiting(alice, bob)
    newer = edited(bob, shown, "The miller pays 900 groats rent to Bob.")
    for id_ in (shown.id, shown.id.hex[-8:]):
        with pytest.raises(Conflict, match=str(newer.id)) as caught:
            getattr(verbs, verb)(person(alice), id_)
        assert "Look" in caught.value.hint
    now = fresh(newer)
    assert (now.trust, now.pinned, fresh(fact).state) == ("candidate", False, "live")
    getattr(verbs, verb)(person(alice), newer.id)


def test_a_card_of_the_review_never_approves_a_text_that_it_did_not_show(
    alice: User, bob: User, ledger: Group
) -> None:
    fact, shown = waiting(alice, bob)
    newer = edited(bob, shown, "The miller pays 900 groats rent to Bob.")
    decisions = [
        ReviewDecision("approve", shown.id),
        ReviewDecision("reject", shown.id),
        ReviewDecision("edit-approve", shown.id, content="The miller pays 9 groats rent."),
        ReviewDecision("supersede", shown.id, other=fact.id),
    ]
    for decision in decisions:
        with pytest.raises(Conflict, match=str(newer.id)):
            decide(person(alice), decision)
    failed = decide_many(person(alice), [ReviewDecision("approve", shown.id)]).failed
    assert [id_ for id_, _ in failed] == [shown.id]
    assert (fresh(newer).trust, fresh(fact).state) == ("candidate", "live")
    decide(person(alice), ReviewDecision("approve", newer.id))
    assert fresh(fact).superseded_by_id == newer.key


def test_the_other_memory_of_a_card_is_the_one_that_was_shown(alice: User, bob: User, ledger: Group) -> None:
    one, two = kept(agent(bob), RENT, group="ledger"), kept(agent(bob), OTHER, group="ledger")
    newer = edited(bob, two, "The bells of the abbey ring at one.")
    for verb in ("merge", "supersede"):
        with pytest.raises(Conflict, match=str(newer.id)):
            decide(person(alice), ReviewDecision(verb, one.id, other=two.id))
    assert fresh(one).state == fresh(newer).state == "live"


def test_no_text_takes_the_place_or_the_trust_of_another_unless_it_was_named(
    alice: User, bob: User, ledger: Group
) -> None:
    fact, other = kept(agent(bob), RENT, group="ledger"), kept(agent(bob), OTHER, group="ledger")
    verbs.verify(person(alice), fact.id)
    newer = edited(bob, other, "The bells of the abbey ring at one.")
    for verb in (verbs.merge, verbs.supersede):
        with pytest.raises(Conflict, match=str(newer.id)):
            verb(person(alice), fact.id, other.id)
    assert (fresh(fact).state, fresh(newer).trust) == ("live", "active")
    verbs.merge(person(alice), fact.id, newer.id)
    assert fresh(newer).trust == "verified"


def test_a_proposal_never_puts_a_text_over_a_fact_that_its_card_did_not_show(
    alice: User, bob: User, ledger: Group
) -> None:
    fact, by = kept(agent(bob), RENT, group="ledger"), kept(agent(bob), OTHER, group="ledger")
    verbs.verify(person(alice), fact.id)
    proposal = verbs.supersede(agent(bob), fact.id, by.id).proposal
    assert proposal is not None
    newer = edited(bob, by, "The miller pays 900 groats rent to Bob.")
    with pytest.raises(Conflict, match=str(newer.id)):
        decide(person(alice), ReviewDecision("approve", proposal=proposal))
    assert Proposal.objects.get(id=proposal).status == ProposalStatus.WAITING
    assert (fresh(fact).state, fresh(fact).trust) == ("live", "verified")


def test_a_button_pressed_on_a_page_follows_no_text_that_came_since(
    alice: User, bob: User, ledger: Group, client: Client
) -> None:
    fact = kept(agent(bob), RENT, group="ledger")
    client.force_login(alice)
    page = f"/admin/memories/memory/{fact.id}/verify/"
    assert RENT in client.get(page).content.decode()
    newer = edited(bob, fact, "The miller pays 900 groats rent to Bob.")
    client.post(page, {"reason": ""})
    assert fresh(newer).trust == "active"
    assert str(newer.id) in client.get(page)["Location"]
    client.post(f"/admin/memories/memory/{newer.id}/verify/", {"reason": ""})
    assert fresh(newer).trust == "verified"


def test_a_purge_destroys_no_text_that_was_not_named(alice: User, bob: User, ledger: Group) -> None:
    old = kept(agent(bob), RENT, group="ledger")
    newer = edited(bob, old, OTHER)
    for dry_run in (True, False):
        with pytest.raises(Conflict, match=str(newer.id)):
            verbs.purge(person(alice), old.id, dry_run=dry_run)
    assert Memory.objects.filter(pk__in=[old.pk, newer.pk]).count() == 2
    verbs.purge(person(alice), newer.id)
    assert not Memory.objects.filter(pk__in=[old.pk, newer.pk]).exists()


def test_restoring_a_forgotten_plan_over_what_a_person_verified_or_pinned_waits(
    alice: User, bob: User, ledger: Group
) -> None:
    for name, stands_behind in (("mooring", verbs.verify), ("anchor", verbs.pin)):
        fact = kept(agent(bob), f"The {name} fee is 31 crowns.", group="ledger")
        day = timezone.now() + timedelta(days=20)
        plan = keep(
            agent(bob), f"The {name} fee is 45 crowns.", group="ledger", supersedes=fact.id, valid_from=day
        ).memory
        assert plan is not None
        verbs.forget(agent(bob), plan.id)
        stands_behind(person(alice), fact.id)
        done = verbs.restore(agent(bob, name="other"), plan.id)
        assert str(fact.id) in done.queued
        assert (fresh(fact).state, fresh(fact).valid_to, fresh(plan).state) == ("live", None, "forgotten")
        approval = ReviewDecision("approve", proposal=done.proposal or "")
        entries = decide(person(alice), approval).entries
        assert (fresh(fact).state, fresh(fact).valid_to, fresh(plan).state) == ("superseded", day, "live")
        take_back(person(alice), entries)
        assert (fresh(fact).state, fresh(fact).valid_to, fresh(plan).state) == ("live", None, "forgotten")


def test_what_a_person_forgot_is_restored_by_the_curator_who_approves_it(
    alice: User, bob: User, ledger: Group
) -> None:
    memory = kept(agent(bob), RENT, group="ledger")
    verbs.forget(person(alice), memory.id)
    proposal = verbs.restore(agent(bob), memory.id).proposal
    decide(person(alice), ReviewDecision("approve", proposal=proposal or ""))
    assert fresh(memory).state == "live"
