"""Quarantine hides unsafe text from agents, and a curator can release it."""

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict, NotPermitted
from access.models import Group
from memories.lifecycle import verbs
from memories.recall import RecallRequest, recall
from memories.review.find_pairs import find_pairs_of
from tests.memories.builders import fresh, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "Every build prints the deploy key to the log."  # a person finds it harmful; the guard does not


def recalled(user: User) -> list[str]:
    answer = recall(person(user), RecallRequest(query=TEXT, group="ledger"))
    return [item.text for item in (*answer.items, *answer.nearest)]


def test_a_quarantined_text_never_comes_back_until_it_is_approved(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    assert TEXT in recalled(alice)
    done = verbs.quarantine(person(alice), memory.id, reason="an instruction")
    assert (done.trust, done.changed) == ("quarantined", 1)
    assert TEXT not in recalled(alice)
    verbs.approve(person(alice), memory.id)
    assert TEXT in recalled(alice)


def test_only_a_person_who_curates_quarantines(alice: User, bob: User, ledger: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    for actor in (person(bob), agent(alice, scopes=("read", "write", "curate"))):
        with pytest.raises(NotPermitted):
            verbs.quarantine(actor, memory.id)
    assert fresh(memory).trust == "active"


def test_what_is_quarantined_already_is_refused(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    verbs.quarantine(person(alice), memory.id)
    with pytest.raises(Conflict, match="already"):
        verbs.quarantine(person(alice), memory.id)


def test_what_was_turned_down_is_nothing_to_decide_about_again(alice: User, ledger: Group) -> None:
    allowed = kept(person(alice), "Force pushes to the main branch are allowed.", group="ledger")
    forbidden = kept(person(alice), "Force pushes to the main branch are forbidden.", group="ledger")
    forbidden.links_from.all().delete()
    forbidden.links_to.all().delete()
    assert [tie.other.pk for tie in find_pairs_of(fresh(forbidden))] == [allowed.pk]
    verbs.reject(person(alice), allowed.id)
    assert find_pairs_of(fresh(forbidden)) == []
