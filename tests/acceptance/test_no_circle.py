"""An agent that superseded or withdrew by mistake gets the true fact back by every way that the errors name."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Memory
from tests.fences import inside
from tests.loci_site.mcp.people import Agent, groups, make_agent, users

__all__ = ["groups", "users"]

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TRUE, WRONG = "The backup is encrypted with age.", "The backup is encrypted with gpg."


@pytest.fixture
def agent(users: dict[str, User], groups: dict[str, Group]) -> Agent:
    return make_agent(users["bob"], "read", "write", default_group=groups["ledger"])


def recalled(agent: Agent) -> list[str]:
    found = agent.answer("recall_memory", query="how is the backup encrypted?")
    return [inside(each["text"]) for each in found["results"]]


def superseded(agent: Agent) -> tuple[str, str]:
    """A true fact that a wrong one has superseded; both ids."""
    true = agent.answer("store_memory", content=TRUE, scope="group")["id"]
    wrong = agent.answer("store_memory", content=WRONG, scope="group", supersedes=true)["id"]
    assert recalled(agent) == [WRONG]
    return true, wrong


def test_the_wrong_one_is_forgotten_and_the_true_one_stored_again(agent: Agent) -> None:
    _, wrong = superseded(agent)
    agent.answer("forget_memory", id=wrong)
    again = agent.answer("store_memory", content=TRUE, scope="group")
    assert again["outcome"] != "queued", again
    assert recalled(agent) == [TRUE]


def test_the_true_one_is_stored_again_and_what_the_answer_says_is_done(agent: Agent) -> None:
    _, wrong = superseded(agent)
    waits = agent.answer("store_memory", content=TRUE, scope="group")
    assert waits["outcome"] == "queued"
    assert "supersedes" in waits["why"]
    agent.answer("store_memory", content=TRUE, scope="group", supersedes=wrong)
    assert recalled(agent) == [TRUE]


def test_it_is_stored_again_in_place_of_a_forgotten_one(agent: Agent) -> None:
    _, wrong = superseded(agent)
    agent.answer("store_memory", content=TRUE, scope="group")  # waits
    agent.answer("forget_memory", id=wrong)
    answer = agent.call("store_memory", content=TRUE, scope="group", supersedes=wrong)
    if answer.is_error:  # the error names a way that works
        agent.answer("store_memory", content=TRUE, scope="group")
    assert recalled(agent) == [TRUE]


def test_the_former_version_is_restored(agent: Agent) -> None:
    true, _ = superseded(agent)
    agent.answer("forget_memory", id=true, verb="restore")
    assert recalled(agent) == [TRUE]


def test_the_write_is_undone_and_so_is_a_retraction(agent: Agent) -> None:
    true = agent.answer("store_memory", content=TRUE, scope="group")
    wrong = agent.answer("store_memory", content=WRONG, scope="group", supersedes=true["id"])
    agent.answer("forget_memory", verb="undo", id=wrong["undo"])
    assert recalled(agent) == [TRUE]
    head = Memory.objects.get(state="live")
    gone = agent.answer("forget_memory", id=str(head.id), verb="retract", reason="wrong")
    agent.answer("forget_memory", verb="undo", id=gone["undo"])
    assert recalled(agent) == [TRUE]


def test_nothing_of_it_needs_a_curator(agent: Agent, groups: dict[str, Group]) -> None:
    _, wrong = superseded(agent)
    done = agent.answer("forget_memory", id=wrong, verb="retract", reason="it is age")
    assert done["state"] == "retracted"
    agent.answer("store_memory", content=TRUE, scope="group")
    assert recalled(agent) == [TRUE]
