"""Changes that wait, over REST: 202 and an id, the list, the decision, and who may make it."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.lifecycle.verbs import pin, verify
from memories.models import Memory
from tests.loci_site.api.conftest import Caller
from tests.loci_site.api.test_two_memories import Browser
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The office is in Berlin."


@pytest.fixture
def agent_caller(bob: User, caller: Callable[..., Caller]) -> Caller:
    """A contributor's agent."""
    return caller(bob)


@pytest.fixture
def verified(alice: User, agent_caller: Caller) -> str:
    """The id of a memory that a person verified and pinned."""
    id_ = str(agent_caller.store(TEXT)["id"])
    verify(person(alice), id_)
    pin(person(alice), id_)
    return id_


def test_every_way_to_withdraw_it_answers_202_with_the_id_and_changes_nothing(
    alice: User, agent_caller: Caller, verified: str
) -> None:
    other = agent_caller.store("Our canteen serves lunch from noon.")["id"]
    before = agent_caller.get(f"/memories/{verified}")
    answers = [
        agent_caller.post(f"/memories/{verified}/forget", {}, status=202),
        agent_caller.post(f"/memories/{verified}/retract", {"reason": "moved"}, status=202),
        agent_caller.post(f"/memories/{verified}/supersede", {"by": other}, status=202),
        agent_caller.post(f"/memories/{verified}/merge", {"into": other}, status=202),
        agent_caller.delete(f"/memories/{verified}?verb=retract&reason=old", status=202),
        agent_caller.patch(f"/memories/{verified}", {"expires_at": "2030-01-01T00:00Z"}, status=202),
        agent_caller.patch(f"/memories/{verified}", {"type": "procedural"}, status=202),
    ]
    assert {answer["outcome"] for answer in answers} == {"queued"}
    assert all("curator decides" in answer["why"] for answer in answers)
    assert agent_caller.get(f"/memories/{verified}") == before
    listed = agent_caller.get("/review/proposals?group=ledger")["items"]
    # The second retraction is the first one over again; a new type waits as a candidate.
    assert {item["id"] for item in listed} == {answer["proposal"] for answer in answers[:6]}
    assert len(listed) == 5
    assert Memory.objects.get(trust="candidate").type == "procedural"
    agent_caller.post(f"/memories/{verified}/dispute", {})


def test_a_person_decides_and_the_agent_reads_the_outcome(
    alice: User, bob: User, agent_caller: Caller, verified: str
) -> None:
    id_ = agent_caller.post(f"/memories/{verified}/retract", {"reason": "moved"}, status=202)["proposal"]
    agent_caller.post(f"/review/proposals/{id_}/approve", {}, status=403)
    Browser(bob).post(f"/review/proposals/{id_}/approve", {}, status=403)
    browser = Browser(alice)
    would = browser.post(f"/review/proposals/{id_}/approve", {"dry_run": True})
    assert would["proposal"]["status"] == "waiting"
    done = browser.post(f"/review/proposals/{id_}/approve", {"reason": "seen"})
    assert "recall no longer returns it" in done["consequences"]
    outcome = agent_caller.get(f"/review/proposals/{id_}")
    assert (outcome["status"], outcome["closed_by"]) == ("approved", "alice")
    assert agent_caller.get(f"/memories/{verified}")["state"] == "retracted"
    browser.post(f"/review/proposals/{id_}/reject", {}, status=409)
    browser.post(f"/review/proposals/{id_}/nonsense", {}, status=422)


def test_under_a_policy_forgetting_waits_and_tags_do_not(agent_caller: Caller, ledger: Group) -> None:
    id_ = agent_caller.store(TEXT)["id"]
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    would = agent_caller.post(f"/memories/{id_}/forget", {"dry_run": True})
    assert (would["outcome"], would["dry_run"], would["changed"]) == ("queued", True, 0)
    assert "proposal" not in would
    agent_caller.post(f"/memories/{id_}/forget", {}, status=202)
    agent_caller.patch(f"/memories/{id_}", {"tags": ["seen"]})
    queued = agent_caller.patch(f"/memories/{id_}", {"expires_at": "2030-01-01T00:00Z"}, status=202)
    assert queued["changes"]["expires_at"][1].startswith("2030-01-01")
