"""Quarantine hides unsafe text from agents, and a curator can release it."""

import json

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict, NotPermitted
from access.models import Group
from memories.browse.inspection import inspect_memory
from memories.browse.listing import ListFilter, LogRowOut, list_log, list_memories
from memories.browse.serializers import InspectionOut, MemoryOut
from memories.browse.suggest import suggest
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditDraft, edit
from memories.models import Memory, Tombstone
from memories.recall import RecallRequest, recall
from memories.review.decide import ReviewDecision, decide, take_back
from memories.review.find_pairs import find_pairs
from tests.memories.builders import fresh, keep, kept
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
    assert [tie.other.pk for tie in find_pairs([fresh(forbidden)])] == [allowed.pk]
    verbs.reject(person(alice), allowed.id)
    assert find_pairs([fresh(forbidden)]) == []


def two_versions(bob: User) -> tuple[Memory, Memory]:
    """A harmful text, and the version that an edit appended to it."""
    old = kept(agent(bob), TEXT, group="ledger")
    return old, edit(agent(bob), old.id, EditDraft(content=f"{TEXT} It is named Isengrim.")).memory


def seen_by_an_agent(bob: User, old: Memory, new: Memory) -> str:
    """What each list and page about the two shows to an agent."""
    actor = agent(bob, name="viewer", scopes=("read",))
    rows = list_memories(actor, ListFilter(group="ledger", states=())).rows
    log = [*list_log(actor, group="ledger").rows, *list_log(actor, memory=str(old.id)).rows]
    found = suggest(actor, "deploy key", group="ledger")
    return json.dumps(
        [
            *(MemoryOut.json(row, is_person=False) for row in (fresh(old), fresh(new), *rows)),
            *(InspectionOut.json(inspect_memory(actor, row.id), is_person=False) for row in (old, new)),
            *(LogRowOut.json(entry, is_person=False) for entry in log),
            [each.memory.content for each in found],
        ],
        default=str,
    )


def test_a_quarantine_hides_the_former_versions_until_it_is_approved(
    alice: User, bob: User, ledger: Group
) -> None:
    old, new = two_versions(bob)
    assert "deploy key" in seen_by_an_agent(bob, old, new)
    entries = decide(person(alice), ReviewDecision("quarantine", new.id, reason=f"I doubt: {TEXT}")).entries
    assert "deploy key" not in seen_by_an_agent(bob, old, new)
    take_back(person(alice), entries)
    assert (fresh(old).trust, fresh(new).trust) == ("active", "active")
    assert "deploy key" in seen_by_an_agent(bob, old, new)
    verbs.quarantine(person(alice), new.id)
    assert (fresh(old).trust, fresh(new).trust) == ("quarantined", "quarantined")
    verbs.approve(person(alice), new.id)
    assert (fresh(old).trust, fresh(new).trust) == ("active", "active")


def test_approving_a_version_releases_no_text_that_was_quarantined_by_itself(
    alice: User, bob: User, ledger: Group
) -> None:
    old = kept(agent(bob), TEXT, group="ledger")
    verbs.quarantine(person(alice), old.id)
    new = edit(person(alice), old.id, EditDraft(content="Every build hides the deploy key.")).memory
    verbs.approve(person(alice), new.id)
    verbs.quarantine(person(alice), new.id)
    verbs.approve(person(alice), new.id)
    assert (fresh(old).trust, fresh(new).trust) == ("quarantined", "active")


@pytest.mark.parametrize("text", [TEXT, f"{TEXT} Really.", f"{TEXT} It is named Isengrim. Really."])
def test_a_text_that_contains_a_quarantined_one_waits(
    alice: User, bob: User, ledger: Group, text: str
) -> None:
    _, new = two_versions(bob)
    verbs.quarantine(person(alice), new.id)
    again = keep(agent(bob, name="other"), text, group="ledger")
    assert again.memory is None or again.memory.trust == "candidate"
    assert text not in recalled(alice)
    verbs.approve(person(alice), new.id)
    assert Tombstone.objects.filter(lifted_at=None).count() == 0


def test_a_former_version_that_is_restored_waits_in_quarantine(alice: User, bob: User, ledger: Group) -> None:
    old, new = two_versions(bob)
    verbs.quarantine(person(alice), new.id)
    verbs.restore(person(alice), old.id)
    assert (fresh(old).state, fresh(old).trust) == ("live", "quarantined")
    verbs.approve(person(alice), old.id)
    assert (fresh(old).trust, fresh(new).trust) == ("active", "quarantined")


def test_a_quarantine_does_not_bar_a_former_text_that_counts_in_another_memory(
    alice: User, bob: User, ledger: Group
) -> None:
    old, new = two_versions(bob)
    kept(person(alice), old.content, group="ledger", type="entity")
    verbs.quarantine(person(alice), new.id, reason="bad")
    assert [mark.memory_id for mark in Tombstone.objects.all()] == [new.id]
