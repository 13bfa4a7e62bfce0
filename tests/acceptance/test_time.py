"""Recall is as of now: what is dated ahead waits for its day, a plan is shown as one, and no valid time is lost."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from access.tokens import operator
from access.visibility import Narrowing
from maintenance.cycle import RunPlan, run_cycle
from memories.browse.inspection import inspect_memory
from memories.browse.listing import ListFilter, list_memories
from memories.draft import EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.lifecycle.merge import merge
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.recall.choosing import AHEAD_REASON
from memories.sessions.context_pack import get_context
from tests.acceptance.conftest import Clock
from tests.acceptance.house import House, command
from tests.loci_site.mcp.answers import fields_of
from tests.memories.builders import fresh, keep, kept

pytestmark = [pytest.mark.django_db, pytest.mark.model]

NOW, DAY = datetime(2026, 5, 1, 12, 0, tzinfo=UTC), timedelta(days=1)
QUESTION = "Who is the harbour master?"
TODAY, LATER = "The harbour master is Jonas.", "The harbour master is Ebba."
START = datetime(2026, 6, 3, tzinfo=UTC)


@pytest.fixture
def handover(house: House, clock: Clock) -> tuple[Memory, Memory]:
    """Today's fact, and the one that takes its place on 3 June."""
    clock(NOW - 10 * DAY)
    old = kept(house.person, TODAY, group="ledger", scope="group")
    clock(NOW)
    return old, kept(house.agent, LATER, supersedes=old.id, valid_from=START)


def found(house: House, query: str = QUESTION, **narrowing: Any) -> list[str]:
    answer = recall(house.person, RecallRequest(query, group="ledger", narrowing=Narrowing(**narrowing)))
    return [item.memory.content for item in (*answer.items, *answer.nearest)]


def test_until_its_day_a_successor_waits_and_today_s_fact_counts(
    house: House, clock: Clock, handover: tuple[Memory, Memory]
) -> None:
    assert found(house) == [TODAY]
    assert found(house, as_of=START) == [LATER]
    clock(START - DAY)
    run_cycle(operator(), RunPlan(now=START - DAY, max_share=1))
    assert found(house) == [TODAY]
    clock(START)
    assert found(house) == [LATER]
    assert found(house, as_of=NOW) == [TODAY]


def test_however_few_are_asked_for_today_s_fact_is_among_them(
    house: House, handover: tuple[Memory, Memory]
) -> None:
    for query in (QUESTION, LATER):
        answer = recall(house.person, RecallRequest(query, group="ledger", max_results=1, explain=True))
        assert [(item.memory, item.coming) for item in answer.items] == [handover]
        assert answer.trace
        assert answer.trace.dropped == {handover[1].key: AHEAD_REASON}


def test_every_face_names_what_is_coming_beside_today_s_fact(
    house: House, handover: tuple[Memory, Memory]
) -> None:
    old, new = handover
    status, text = house.rest("post", "/recall", {"query": QUESTION, "group": "ledger"})
    assert status == 200
    [item] = json.loads(text)["results"]
    assert (item["content"], item["label"]) == (TODAY, "counts until 2026-06-03")
    assert item["coming"] == {
        "id": str(new.id),
        "valid_from": START.isoformat(),
        "content": LATER,
        "untrusted": True,
    }
    told = house.tool("recall_memory", query=QUESTION, group="ledger")
    assert fields_of(told)["results"][0]["coming"]["content"].splitlines()[1] == LATER
    assert "from 3 June 2026:\n<memory " in told.content[0].text
    assert f"from 3 June 2026: {LATER}" in command("recall", QUESTION, "--group", "ledger")
    pack = get_context(house.agent, group="ledger")
    assert pack.text.index(TODAY) < pack.text.index("from 3 June 2026:") < pack.text.index(LATER)
    browser = Client()
    browser.force_login(house.user)
    page = browser.get("/admin/ask/", {"q": QUESTION, "group": "ledger"}).content.decode()
    assert f"from 3 June 2026: {LATER}" in page
    by_id = recall(house.person, RecallRequest(ids=(new.id,)))
    assert [(item.memory.key, item.coming) for item in by_id.items] == [(old.key, new)]


def test_lists_and_inspect_say_from_when_and_until_when(
    house: House, handover: tuple[Memory, Memory]
) -> None:
    old, new = handover
    listed = list_memories(house.person, ListFilter(group="ledger")).rows
    assert {row.pk for row in listed} == {old.pk, new.pk}
    assert inspect_memory(house.person, new.id).label == "counts from 2026-06-03"
    seen = inspect_memory(house.person, old.id)
    assert (seen.label, seen.recall_treatment) == ("counts until 2026-06-03", "label")
    why = inspect_memory(house.person, new.id, query=QUESTION).why
    assert why is not None
    assert why.reason == "it counts from 2026-06-03 00:00 UTC"


def test_a_fact_stored_for_later_is_told_with_its_beginning(house: House, clock: Clock) -> None:
    clock(NOW)
    kept(house.agent, "The crane is painted blue.", group="ledger", valid_from=NOW + 30 * DAY)
    for moment, label in ((NOW, "counts from 2026-05-31"), (NOW + 30 * DAY, "")):
        clock(moment)
        answer = recall(house.person, RecallRequest("What colour is the crane painted?", group="ledger"))
        assert [(item.text, item.label) for item in answer.items] == [("The crane is painted blue.", label)]


def test_an_event_dated_ahead_is_a_plan(house: House, clock: Clock) -> None:
    clock(NOW)
    text = "The crane is inspected by Olga."
    kept(house.agent, text, group="ledger", type="episodic", valid_from=START)
    answer = recall(house.person, RecallRequest("Who inspects the crane?", group="ledger"))
    assert [(item.memory.content, item.label) for item in answer.items] == [(text, "planned for 2026-06-03")]
    clock(START + DAY)
    answer = recall(house.person, RecallRequest("Who inspects the crane?", group="ledger"))
    assert [item.label for item in answer.items] == [""]


def test_today_s_fact_said_again_is_a_restatement(house: House, handover: tuple[Memory, Memory]) -> None:
    old, _ = handover
    again = keep(house.agent, TODAY, group="ledger", scope="group")
    assert (again.outcome, again.memory and again.memory.pk) == ("reinforced", old.pk)


def test_a_plan_brought_forward_leaves_no_two_facts_at_once(
    house: House, clock: Clock, handover: tuple[Memory, Memory]
) -> None:
    _, plan = handover
    sooner = "The harbour master is Signe."
    kept(house.agent, sooner, supersedes=plan.id, valid_from=NOW + 2 * DAY)
    assert found(house) == [TODAY]
    clock(NOW + 3 * DAY)
    assert found(house) == [sooner]
    clock(START + DAY)
    assert found(house) == [sooner]


def test_a_plan_called_off_gives_today_s_fact_a_new_version(
    house: House, clock: Clock, handover: tuple[Memory, Memory]
) -> None:
    _, plan = handover
    kept(house.agent, TODAY, supersedes=plan.id)
    assert found(house) == [TODAY]
    clock(START + DAY)
    assert found(house) == [TODAY]


def test_a_plan_put_off_by_an_edit_keeps_today_s_fact_until_then(
    house: House, clock: Clock, handover: tuple[Memory, Memory]
) -> None:
    _, plan = handover
    edit(house.person, plan.id, EditDraft(valid_from=START + 30 * DAY))
    answer = recall(house.person, RecallRequest(QUESTION, group="ledger"))
    assert [item.coming and item.coming.valid_from for item in answer.items] == [START + 30 * DAY]
    clock(START + DAY)
    assert found(house) == [TODAY]
    clock(START + 30 * DAY)
    assert found(house) == [LATER]


def test_a_merge_keeps_the_earlier_beginning_and_shows_it_before(house: House, clock: Clock) -> None:
    clock(NOW)
    first = kept(house.person, "The pump is served by Kranich.", group="ledger", valid_from=NOW - 200 * DAY)
    second = kept(house.person, "Kranich looks after our pump.", group="ledger", valid_from=NOW - 2 * DAY)
    preview = merge(house.person, first.id, second.id, dry_run=True)
    line = f"it is true from 2025-10-13, {second.id} from 2026-04-29: the survivor is true from 2025-10-13"
    assert line in preview.consequences
    assert fresh(second).valid_from == NOW - 2 * DAY
    question, then = "Who serves the pump?", NOW - 100 * DAY
    assert found(house, question, as_of=then) == [first.content]
    merge(house.person, first.id, second.id)
    assert found(house, question, as_of=then) == [second.content]
    reasons = [entry["reason"] for entry in inspect_memory(house.person, second.id).log]
    assert f"true from 2025-10-13, not only from 2026-04-29: {first.author_name} said so" in reasons
    verbs.restore(house.person, first.id)
    assert fresh(second).valid_from == NOW - 2 * DAY


def test_a_restatement_with_an_earlier_beginning_moves_it(house: House, clock: Clock) -> None:
    clock(NOW)
    memory = kept(house.person, "The pump is served by Kranich.", group="ledger", valid_from=NOW - 2 * DAY)
    earlier = NOW - 200 * DAY
    again = keep(house.agent, memory.content, group="ledger", valid_from=earlier)
    assert again.outcome == "reinforced"
    assert "true from 2025-10-13, not only from 2026-04-29" in again.why
    assert fresh(memory).valid_from == earlier
    assert found(house, "Who serves the pump?", as_of=NOW - 100 * DAY) == [memory.content]
    reasons = [entry["reason"] for entry in inspect_memory(house.person, memory.id).log]
    assert f"true from 2025-10-13, not only from 2026-04-29: {house.agent.name} said so" in reasons


def test_an_agent_does_not_redate_what_a_person_verified(house: House, clock: Clock) -> None:
    clock(NOW)
    memory = kept(house.person, "The pump is served by Kranich.", group="ledger", valid_from=NOW - 2 * DAY)
    verbs.verify(house.person, memory.id)
    keep(house.agent, memory.content, group="ledger", valid_from=NOW - 200 * DAY)
    assert fresh(memory).valid_from == NOW - 2 * DAY
    verbs.dispute(house.agent, memory.id)  # does not end the verification
    keep(house.agent, memory.content, group="ledger", valid_from=NOW - 200 * DAY)
    assert fresh(memory).valid_from == NOW - 2 * DAY


def test_what_was_hidden_later_counts_as_it_was_known_then(house: House, clock: Clock) -> None:
    clock(NOW)
    memory = kept(house.person, "The pump is served by Kranich.", group="ledger")
    other = kept(house.person, "Kranich looks after our pump.", group="ledger")
    clock(NOW + 2 * DAY)
    verbs.forget(house.person, memory.id)
    clock(NOW + 4 * DAY)
    verbs.restore(house.person, memory.id)
    merge(house.person, other.id, memory.id)
    clock(NOW + 6 * DAY)
    verbs.restore(house.person, other.id)
    verbs.forget(house.person, memory.id)
    clock(NOW + 8 * DAY)
    both, question = {memory.content, other.content}, "Who serves the pump?"
    expected = {1: both, 3: {other.content}, 5: {memory.content}, 7: {other.content}}
    for days, texts in expected.items():
        assert set(found(house, question, known_at=NOW + days * DAY)) == texts, days
