"""Answers say what is so after the call, and errors name the argument that was sent."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Memory
from tests.loci_site.mcp.people import Agent, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PAST = "2020-05-01T12:00Z"


def test_a_superseded_neighbour_is_shown_as_it_is_after_the_store(alice: Agent) -> None:
    old = alice.answer("store_memory", content="The billing service listens on port 8080.")
    new = alice.answer(
        "store_memory", content="The billing service listens on port 8081.", supersedes=old["id"]
    )
    assert new["superseded"] == old["id"]
    assert {near["id"]: near["state"] for near in new["near"]} == {old["id"]: "superseded"}


def test_an_expiry_in_the_past_is_refused(alice: Agent) -> None:
    error = alice.error("store_memory", content="The freeze lasts this week.", expires_at=PAST)
    assert error.startswith("expires_at is in the past: 2020-05-01 12:00 UTC.")
    assert error.endswith("[invalid_input, expires_at]")
    assert not Memory.objects.exists()
    made = alice.answer("store_memory", content="The freeze lasts this week.")
    changes = {"expires_at": PAST}
    assert "in the past" in alice.error("forget_memory", id=made["id"], verb="edit", changes=changes)
    ahead = (timezone.now() + timedelta(days=1)).isoformat()
    alice.answer("forget_memory", id=made["id"], verb="edit", changes={"expires_at": ahead})


@pytest.mark.parametrize("tool", ["recall_memory", "get_context"])
def test_a_span_that_ends_before_it_begins_is_refused(alice: Agent, tool: str) -> None:
    where = {"after": "2026-05-02", "before": "2026-05-01"}
    assert alice.error(tool, query="what?", where=where).startswith("after is later than before.")


@pytest.mark.parametrize("verb", ["used", "wrong"])
@pytest.mark.parametrize("id_", ["no-id", "", "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f"])
def test_an_error_of_feedback_names_the_argument(alice: Agent, verb: str, id_: str) -> None:
    assert alice.error("forget_memory", id=id_, verb=verb).endswith(", id]")


def test_an_empty_query_is_not_a_text_to_remember(alice: Agent) -> None:
    made = alice.answer("store_memory", content="The freeze lasts this week.")
    error = alice.error("memory_inspect", id=made["id"], query="\u200b")
    assert error == "'query' is empty. [invalid_input, query]"


def test_an_inspection_tells_the_confidence_over_time(alice: Agent) -> None:
    made = alice.answer("store_memory", content="The billing service listens on port 8080.", confidence=0.6)
    told = alice.answer("memory_inspect", id=made["id"])["curve"]
    today = timezone.now()
    assert told.startswith(f"confidence 0.60 ({today:%Y-%m-%d} stored) → 0.60 today; below 0.05 about ")
    assert told in text_of(alice.call("memory_inspect", id=made["id"]))
