"""Proposals that went stale by a decision are named to the page; a candidate's card says why it waits."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.groups.members import set_member
from access.models import CandidatePolicy, Group
from access.tokens import operator
from memories.lifecycle import verbs
from memories.review.card import memory_card
from tests.loci_site.admin.conftest import Remember
from tests.memories.builders import keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PAGE = "/admin/review/"
TEXT = "The archive is kept in the northern cellar."


def test_a_decision_names_the_proposals_that_it_made_stale(
    owner: Client, member: Client, alice: User, bob: User, remember: Remember
) -> None:
    memory, other = remember(TEXT), remember("The archive moved to the eastern tower.")
    verbs.verify(person(alice), memory.id)
    proposal = str(verbs.forget(agent(bob), memory.id).proposal)
    card = f"{PAGE}card/proposal/{proposal}/"
    assert ' disabled aria-keyshortcuts="a"' not in owner.get(card).content.decode()
    said = {"verb": "supersede", "id": str(other.id), "other": str(memory.id)}
    done = owner.post(f"{PAGE}decide/", said).json()
    assert done["stale"] == [proposal]
    shown = owner.get(card).content.decode()
    assert "Cannot be approved now: This proposal is stale" in shown
    assert 'data-verb="approve" disabled' in shown
    undone = owner.post(f"{PAGE}undo/", {"entries": f'[["{done["entries"][0]}"]]'}).json()
    assert undone["stale"] == []


def test_the_card_of_a_candidate_says_why_it_waits(
    owner: Client, alice: User, ledger: Group, garden: Group, bob: User
) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy=CandidatePolicy.AGENTS)
    stored = keep(agent(alice), TEXT, group="ledger")
    assert stored.memory is not None
    assert memory_card(person(alice), stored.memory.id).reason == stored.why
    shown = owner.get(f"{PAGE}card/candidate/{stored.memory.id}/").content.decode()
    assert stored.why[:20].lower() in shown.lower()


def test_the_reason_names_nothing_of_another_group(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    set_member(operator(), ledger, user=bob, role="curator")
    memory = kept(person(alice), TEXT, group="garden", scope="global")
    verbs.retract(person(alice), memory.id)
    stored = keep(person(alice), f"{TEXT[:-1]}!!", group="ledger", scope="global")
    assert stored.memory is not None
    assert str(memory.id) in stored.why
    reason = memory_card(person(bob), stored.memory.id).reason
    assert reason == "it restates a text that was withdrawn in another group; a curator decides"
