"""A plan that is withdrawn before its day is called off: what it was to replace counts on as before."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from access.models import CandidatePolicy, Group
from access.tokens import operator
from maintenance.cycle import run_cycle
from memories.lifecycle import verbs
from memories.models import Memory
from memories.types import State, Trust
from tests.acceptance.conftest import Clock
from tests.acceptance.house import House
from tests.memories.builders import fresh, kept, row

pytestmark = [pytest.mark.django_db, pytest.mark.model]

NOW, DAY = datetime(2026, 5, 1, 12, 0, tzinfo=UTC), timedelta(days=1)
START = datetime(2026, 6, 3, tzinfo=UTC)
QUESTION, TODAY, LATER = (
    "Who is the harbour master?",
    "The harbour master is Jonas.",
    "The harbour master is Ebba.",
)


@pytest.fixture
def plan(house: House, clock: Clock) -> tuple[Memory, Memory]:
    clock(NOW - 10 * DAY)
    today = kept(house.person, TODAY, group="ledger", scope="group")
    clock(NOW)
    return today, kept(house.person, LATER, supersedes=today.id, valid_from=START)


def send(house: House, path: str, expect: int = 200, method: str = "post", **body: Any) -> Any:
    status, text = house.rest(method, path, body)
    assert status == expect, text
    return json.loads(text)


def contents(house: House) -> list[str]:
    return [row["content"] for row in send(house, "/recall", query=QUESTION, group="ledger")["results"]]


def state_of(memory: Memory) -> tuple[str, datetime | None, datetime | None, int | None]:
    row = fresh(memory)
    return row.state, row.valid_to, row.valid_to_known_at, row.superseded_by_id


AS_BEFORE = (State.LIVE, None, None, None)
WITHDRAWALS: dict[str, Callable[[House, Memory], Any]] = {
    "retract": lambda house, plan: send(house, f"/memories/{plan.id}/retract", reason="not decided"),
    "forget": lambda house, plan: send(house, f"/memories/{plan.id}/forget"),
    "reject": lambda house, plan: verbs.reject(house.person, plan.id, reason="no"),
    "quarantine": lambda house, plan: verbs.quarantine(house.person, plan.id, reason="no"),
    "purge": lambda house, plan: send(house, f"/memories/{plan.id}", method="delete"),
}


@pytest.mark.parametrize("withdraw", WITHDRAWALS)
def test_today_s_fact_is_as_before(
    house: House, clock: Clock, plan: tuple[Memory, Memory], withdraw: str
) -> None:
    today, later = plan
    WITHDRAWALS[withdraw](house, later)
    assert state_of(today) == AS_BEFORE
    assert contents(house) == [TODAY]
    clock(START + DAY)
    assert contents(house) == [TODAY]


@pytest.mark.parametrize("verb", ["retract", "forget", "dispute", "pin"])
def test_the_verbs_of_today_s_fact_work_again(house: House, plan: tuple[Memory, Memory], verb: str) -> None:
    today, later = plan
    send(house, f"/memories/{later.id}/retract", reason="not decided")
    answer = send(house, f"/memories/{today.id}/{verb}", 202 if verb == "pin" else 200)
    assert answer["id"] == str(today.id)


def test_a_person_may_verify_today_s_fact_again(house: House, plan: tuple[Memory, Memory]) -> None:
    today, later = plan
    send(house, f"/memories/{later.id}/retract", reason="not decided")
    assert verbs.verify(house.person, today.id).id == today.id


def test_an_edit_of_today_s_fact_works_again(house: House, plan: tuple[Memory, Memory]) -> None:
    today, later = plan
    send(house, f"/memories/{later.id}/retract", reason="not decided")
    send(house, f"/memories/{today.id}", method="patch", content="The harbour master is Jonas Berg.")
    assert contents(house) == ["The harbour master is Jonas Berg."]


@pytest.mark.parametrize("withdraw", ["retract", "forget", "reject"])
def test_to_supersede_the_withdrawn_plan_is_refused_with_the_fact_that_counts(
    house: House, plan: tuple[Memory, Memory], withdraw: str
) -> None:
    today, later = plan
    WITHDRAWALS[withdraw](house, later)
    text = "The harbour master is Signe."
    refused = send(house, "/memories", 409, content=text, supersedes=str(later.id), group="ledger")
    assert refused["hint"] == f"{today.id} is still current. Supersede it instead."
    assert str(today.id) in json.dumps(refused)
    send(house, "/memories", 201, content=text, supersedes=str(today.id), group="ledger")
    assert contents(house) == [text]


def test_an_undone_retraction_puts_the_plan_back(
    house: House, clock: Clock, plan: tuple[Memory, Memory]
) -> None:
    today, later = plan
    before = state_of(today)
    undo = send(house, f"/memories/{later.id}/retract", reason="not decided")["undo"]
    assert state_of(today) == AS_BEFORE
    send(house, "/undo", undo=undo)
    assert state_of(today)[:2] == before[:2]
    assert contents(house) == [TODAY]
    clock(START + DAY)
    assert contents(house) == [LATER]


def test_a_restored_plan_is_a_plan_again(house: House, clock: Clock, plan: tuple[Memory, Memory]) -> None:
    _, later = plan
    send(house, f"/memories/{later.id}/forget")
    send(house, f"/memories/{later.id}/restore")
    assert contents(house) == [TODAY]
    clock(START + DAY)
    assert contents(house) == [LATER]


def test_a_plan_that_replaced_a_plan_gives_that_one_its_day_again(
    house: House, clock: Clock, plan: tuple[Memory, Memory]
) -> None:
    today, later = plan
    sooner = kept(house.person, "The harbour master is Signe.", supersedes=later.id, valid_from=START - DAY)
    send(house, f"/memories/{sooner.id}/retract", reason="not decided")
    assert (fresh(later).state, fresh(today).valid_to) == (State.LIVE, START)
    clock(START)
    assert contents(house) == [LATER]


def test_an_agent_s_forget_of_a_verified_fact_does_not_call_off_a_person_s_plan(
    house: House, clock: Clock
) -> None:
    clock(NOW)
    today = kept(house.person, TODAY, group="ledger", scope="group")
    verbs.verify(house.person, today.id)
    later = kept(house.person, LATER, supersedes=today.id, valid_from=START)
    answer = send(house, f"/memories/{today.id}/forget", 202)
    assert answer["proposal"]
    assert fresh(later).state == State.LIVE
    assert state_of(today)[0] == State.SUPERSEDED


def test_the_right_text_of_a_withdrawn_plan_waits_as_a_plan(
    house: House, clock: Clock, plan: tuple[Memory, Memory]
) -> None:
    _, later = plan
    Group.objects.filter(slug="ledger").update(policy=CandidatePolicy.ALL)
    right = "The harbour master is Signe."
    done = verbs.retract(house.person, later.id, successor=right, reason="it will be Signe")
    assert done.successor is not None
    verbs.approve(house.person, done.successor)
    assert contents(house) == [TODAY]
    clock(START)
    assert contents(house) == [right]


def test_a_rejected_plan_is_not_edited_but_approved_as_a_plan(
    house: House, clock: Clock, plan: tuple[Memory, Memory]
) -> None:
    today, later = plan
    verbs.reject(house.person, later.id, reason="no")
    refused = send(house, f"/memories/{later.id}", 409, method="patch", content="It is Ebba Lind.")
    assert str(today.id) in refused["message"]
    verbs.approve(house.person, later.id)
    assert contents(house) == [TODAY]
    clock(START)
    assert contents(house) == [LATER]


def expire(clock: Clock, plan: Memory) -> None:
    Memory.objects.filter(pk=plan.pk).update(expires_at=NOW + DAY)
    clock(NOW + 2 * DAY)
    assert run_cycle(operator()).status == "done"


@pytest.mark.parametrize("trust", Trust.values)
@pytest.mark.parametrize("withdraw", [*WITHDRAWALS, "expire"])
def test_a_withdrawn_plan_leaves_one_row_of_today_s_text(
    house: House, clock: Clock, plan: tuple[Memory, Memory], withdraw: str, trust: str
) -> None:
    today, later = plan
    twin = row(today.group, TODAY, trust=trust, created_at=NOW)
    expire(clock, later) if withdraw == "expire" else WITHDRAWALS[withdraw](house, later)
    assert state_of(today) == AS_BEFORE
    assert (fresh(twin).state, fresh(twin).superseded_by_id) == (State.MERGED, today.pk)
    assert (fresh(today).trust == Trust.VERIFIED) == (trust == Trust.VERIFIED)
    assert contents(house) == [TODAY]


@pytest.mark.parametrize("withdraw", WITHDRAWALS)
def test_today_s_text_that_waits_to_replace_a_plan_does_not_keep_it(
    house: House, plan: tuple[Memory, Memory], withdraw: str
) -> None:
    today, later = plan
    verbs.verify(house.person, later.id)
    send(house, "/memories", 202, content=TODAY, supersedes=str(later.id), group="ledger")
    getattr(verbs, withdraw)(house.person, later.id)
    assert state_of(today) == AS_BEFORE
    assert contents(house) == [TODAY]


@pytest.mark.parametrize("which", ["other", "plan"])
def test_no_edit_repeats_a_text_that_counts_until_a_plan_begins(
    house: House, plan: tuple[Memory, Memory], which: str
) -> None:
    today, later = plan
    other = later if which == "plan" else kept(house.agent, "The lighthouse is white.", group="ledger")
    refused = send(house, f"/memories/{other.id}", 409, method="patch", content=TODAY)
    assert str(today.id) in refused["message"]
    assert "2026-06-03" in refused["message"]


def test_no_restore_repeats_a_text_that_counts_until_a_plan_begins(house: House, clock: Clock) -> None:
    clock(NOW)
    former = kept(house.person, TODAY, group="ledger", scope="group")
    undo = send(house, f"/memories/{former.id}/forget")["undo"]
    today = kept(house.person, TODAY, group="ledger", scope="group")
    kept(house.person, LATER, supersedes=today.id, valid_from=START)
    assert str(today.id) in send(house, f"/memories/{former.id}/restore", 409)["message"]
    assert str(today.id) in send(house, "/undo", 409, undo=undo)["message"]


@pytest.mark.parametrize("back", ["undo", "restore"])
@pytest.mark.parametrize("trust", ["candidate", "active"])
def test_a_plan_comes_back_after_a_copy_of_today_s_text_was_merged(
    house: House, clock: Clock, plan: tuple[Memory, Memory], trust: str, back: str
) -> None:
    today, later = plan
    twin = row(today.group, TODAY, trust=trust, created_at=NOW)
    undo = send(house, f"/memories/{later.id}/forget")["undo"]
    if back == "undo" and trust == "active":
        assert str(today.id) in send(house, "/undo", 409, undo=undo)["message"]
        return
    send(house, "/undo", undo=undo) if back == "undo" else send(house, f"/memories/{later.id}/restore")
    assert (fresh(today).state, fresh(later).state) == (State.SUPERSEDED, State.LIVE)
    assert fresh(twin).state == (State.LIVE if trust == "candidate" else State.MERGED)
    assert contents(house) == [TODAY]
    clock(START + DAY)
    assert contents(house) == [LATER]
