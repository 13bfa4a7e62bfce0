"""forget_memory on what a person verified: the answer is `queued`, with the id under which it waits."""

import pytest
from django.contrib.auth.models import User

from memories.lifecycle.verbs import verify
from memories.models import Memory, Proposal
from tests.loci_site.mcp.people import Agent
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("verb", ["forget", "retract"])
def test_an_agent_is_told_that_it_waits(users: dict[str, User], alice: Agent, bob: Agent, verb: str) -> None:
    stored = bob.answer("store_memory", content="Invoices go out on Mondays.", scope="group")
    verify(person(users["alice"]), stored["id"])
    would = bob.answer("forget_memory", id=stored["id"], verb=verb, dry_run=True)
    assert (would["outcome"], "proposal" in would) == ("queued", False)
    answer = bob.answer("forget_memory", id=stored["id"], verb=verb, reason="they moved")
    proposal = Proposal.objects.get()
    assert (answer["outcome"], answer["proposal"], answer["state"]) == ("queued", str(proposal.id), "live")
    assert "a person verified it" in answer["why"]
    assert Memory.objects.get(id=stored["id"]).state == "live"
    assert (proposal.reason, proposal.via) == ("they moved", "mcp")
    assert bob.answer("forget_memory", id=stored["id"], verb="dispute")["trust"] == "verified"
    assert bob.answer("forget_memory", id=stored["id"], verb=verb, reason="they moved")["outcome"] == "queued"


def test_superseding_it_by_a_store_waits_as_a_candidate(users: dict[str, User], bob: Agent) -> None:
    stored = bob.answer("store_memory", content="Invoices go out on Mondays.", scope="group")
    verify(person(users["alice"]), stored["id"])
    answer = bob.answer("store_memory", content="Invoices go out on Fridays.", supersedes=stored["id"])
    assert (answer["outcome"], answer["trust"]) == ("queued", "candidate")
    assert Memory.objects.get(id=stored["id"]).state == "live"
