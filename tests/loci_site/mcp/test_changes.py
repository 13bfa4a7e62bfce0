"""An agent's day without REST: expiry at store, edits, pin requests, feedback, and what a question returned before."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Feedback, Memory, Proposal
from memories.models.short_id import short_id
from memories.recall_log import COUNTER
from memories.review.proposals import approve_proposal
from tests.fences import inside
from tests.loci_site.mcp.people import Agent, text_of
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The deploy port is 8081."


@pytest.fixture
def stored(bob: Agent) -> Memory:
    return Memory.objects.get(id=bob.answer("store_memory", content=TEXT, tags=["old"])["id"])


def test_an_expiry_is_set_at_the_store(bob: Agent) -> None:
    stored = bob.answer("store_memory", content="The freeze lasts this week.", expires_at="2036-05-08")
    assert Memory.objects.get(id=stored["id"]).expires_at == datetime(2036, 5, 8, tzinfo=UTC)
    assert "expires_at" in bob.error("store_memory", content="x", expires_at="soon")


def test_tags_importance_and_expiry_are_edited_in_place(bob: Agent, stored: Memory) -> None:
    changes = {"tags": ["Deploy", "port"], "importance": 9, "expires_at": "2036-01-01"}
    would = bob.answer("forget_memory", id=short_id(stored.id), verb="edit", changes=changes, dry_run=True)
    assert (would["dry_run"], would["changed"], would["changes"]["importance"]) == (True, 0, [5, 9])
    stored.refresh_from_db()
    assert (stored.tags, stored.importance) == (["old"], 5)
    done = bob.answer("forget_memory", id=short_id(stored.id), verb="edit", changes=changes, reason="found")
    assert (done["outcome"], done["id"], done["changed"]) == ("changed", str(stored.id), 1)
    stored.refresh_from_db()
    assert (stored.tags, stored.importance) == (["deploy", "port"], 9)
    assert stored.expires_at == datetime(2036, 1, 1, tzinfo=UTC)
    found = bob.answer("recall_memory", query="deploy port", where={"tags": ["port"]})
    assert [inside(each["text"]) for each in found["results"]] == [TEXT]
    bob.answer("forget_memory", id=str(stored.id), verb="edit", changes={"expires_at": None})
    stored.refresh_from_db()
    assert stored.expires_at is None


def test_an_edit_is_undone_by_its_id(bob: Agent, stored: Memory) -> None:
    done = bob.answer("forget_memory", id=str(stored.id), verb="edit", changes={"importance": 9})
    assert bob.answer("forget_memory", id=done["undo"], verb="undo")["undone"] == "edit"
    stored.refresh_from_db()
    assert stored.importance == 5


def test_an_edit_without_fields_says_what_it_can_change(bob: Agent, stored: Memory) -> None:
    assert "Pass one or more of: content, type" in bob.error("forget_memory", id=str(stored.id), verb="edit")


def test_a_pin_of_an_agent_waits_for_a_person(bob: Agent, stored: Memory, users: dict[str, User]) -> None:
    answer = bob.answer("forget_memory", id=str(stored.id), verb="pin", reason="all need it")
    assert (answer["outcome"], answer["why"]) == ("queued", "a curator decides about 'pin' by an agent")
    proposal = Proposal.objects.get()
    assert (str(proposal.id), proposal.reason) == (answer["proposal"], "all need it")
    stored.refresh_from_db()
    assert not stored.pinned
    approve_proposal(person(users["alice"]), proposal.id)
    stored.refresh_from_db()
    assert stored.pinned
    assert "pinned" in bob.answer("get_context")["text"].lower()


def test_the_pin_of_a_curating_agent_waits_too(alice: Agent, stored: Memory) -> None:
    assert alice.answer("forget_memory", id=str(stored.id), verb="pin")["outcome"] == "queued"


def test_what_a_recall_returned_is_said_to_be_used_or_wrong(bob: Agent, stored: Memory) -> None:
    other = bob.answer("store_memory", content="The test machine's deploy port is 9090.")["id"]
    bob.answer("recall_memory", query="which is the deploy port?")
    ids = f"{short_id(stored.id)}, {other}"
    assert bob.answer("forget_memory", id=ids, verb="used") == {"verb": "used", "recorded": 2}
    assert bob.answer("forget_memory", id=ids, verb="used") == {"verb": "used", "recorded": 0}
    assert bob.answer("forget_memory", id=other, verb="wrong") == {"verb": "wrong", "recorded": 1}
    rows = {
        row.memory_id: (row.verdict, row.actor, row.via, row.recall > 0) for row in Feedback.objects.all()
    }
    assert rows[stored.key] == ("used", "bob/agent", "mcp", True)
    assert [verdict for verdict, *_ in rows.values()] == ["used", "wrong"]
    bob.answer("recall_memory", query="the deploy port, again?")
    assert bob.answer("forget_memory", id=str(stored.id), verb="used")["recorded"] == 1  # of another recall
    assert bob.answer("memory_inspect", id=str(stored.id))["feedback"] == {"used": 2, "wrong": 0}
    counts = bob.answer("memory_stats")
    assert (counts["feedback_used"], counts["feedback_wrong"]) == (2, 1)


def test_feedback_on_what_one_may_not_see_is_refused(
    bob: Agent, charlie: Agent, stored: Memory, groups: dict[str, Group], alice: Agent
) -> None:
    hidden = alice.answer("store_memory", content="Wages are paid on Fridays.", group="payroll")["id"]
    assert "Memory not found" in bob.error("forget_memory", id=f"{stored.id},{hidden}", verb="used")
    assert not Feedback.objects.exists()


def test_feedback_changes_no_rank(bob: Agent, stored: Memory) -> None:
    bob.answer("store_memory", content="The test machine's deploy port is 9090.")
    before = bob.answer("recall_memory", query="which is the deploy port?", explain=True)
    for _ in range(3):
        bob.answer("forget_memory", id=str(stored.id), verb="wrong")
    after = bob.answer("recall_memory", query="which is the deploy port?", explain=True)
    assert [(each["id"], each["score"]) for each in after["results"]] == [
        (each["id"], each["score"]) for each in before["results"]
    ]


def test_a_question_shows_what_it_returned_before(bob: Agent, alice: Agent, stored: Memory) -> None:
    bob.answer("recall_memory", query="which is the deploy port?")
    COUNTER.flush()
    (row,) = bob.answer("memory_inspect", query="deploy port")["recalls"]
    assert (inside(row["question"]), row["ids"], row["actor"]) == (
        "which is the deploy port?", [str(stored.id)], "bob/agent",
    )  # fmt: skip
    assert short_id(stored.id) in text_of(bob.call("memory_inspect", query="deploy port"))
    assert len(alice.answer("memory_inspect", query="deploy port")["recalls"]) == 1  # she curates the group
    alice.answer("recall_memory", query="the deploy port for alice?")
    COUNTER.flush()
    assert len(bob.answer("memory_inspect", query="deploy port")["recalls"]) == 1  # his own alone
    assert text_of(bob.call("memory_inspect", query="wages")) == "You may read no recall of this question."


def test_the_way_back_is_found_by_its_words(alice: Agent) -> None:
    tools = {tool.name: tool for tool in alice.use(lambda client: client.list_tools()).tools}
    tool = tools["forget_memory"]
    assert tool.annotations is not None
    shown = f"{tool.annotations.title} {tool.description}"
    for word in ("restore", "dispute", "undo", "edit", "pin"):
        assert word in shown.lower()
