"""A judge of questions and memories: it orders what recall found anyway, in its time, and says how sure the answer is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from access.models import Group
from guard.judge import JudgeUse, find_judge
from memories.lifecycle.verbs import quarantine, retract, verify
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.recall.answer import RecallResult
from tests.judges import SLOW, publish_judge, with_judge
from tests.memories.builders import NOTES_BESIDE, PORT_NOTE, PORT_QUESTION, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
MONDAY = "The staging server is rebuilt each Monday."
Judged = Callable[..., None]


@pytest.fixture
def judged(tmp_path: Path, settings: Settings) -> Judged:
    """Sets a judge that adds up the logits of a memory's words."""

    def put(weights: dict[str, float], *, recall_ms: int = 60_000) -> None:
        folder = publish_judge(tmp_path / "-".join(weights), {word: [w] for word, w in weights.items()})
        find_judge((f"recall={folder}",), JudgeUse.RECALL, 60)
        settings.LOCI = with_judge(settings.LOCI, JudgeUse.RECALL, folder, recall_ms=recall_ms)

    return put


@pytest.fixture
def notes(alice: User, ledger: Group) -> dict[str, Memory]:
    return {
        text: kept(person(alice), text, group="ledger", scope="group") for text in (PORT_NOTE, *NOTES_BESIDE)
    }


def asked(user: User, question: str = PORT_QUESTION) -> RecallResult:
    return recall(agent(user), RecallRequest(question, group="ledger", max_results=7, explain=True))


def texts(answer: RecallResult) -> list[str]:
    return [item.memory.content for item in answer.items]


def step(answer: RecallResult) -> dict[str, object]:
    assert answer.trace is not None
    return next((step.detail for step in answer.trace.steps if step.name == "judge"), {})


def test_the_best_are_in_the_order_of_the_judge(
    alice: User, notes: dict[str, Memory], judged: Judged
) -> None:
    before = asked(alice)
    assert texts(before)[0] == PORT_NOTE
    judged({"monday": 3.0, "thursdays": 2.0, "8081": -1.0})
    after = asked(alice)
    thursdays = NOTES_BESIDE[0]
    rest = [text for text in texts(before) if text not in (MONDAY, thursdays, PORT_NOTE)]
    assert texts(after) == [MONDAY, thursdays, *rest, PORT_NOTE]
    # Each takes the score of its new place, so that limits mean what they meant.
    assert after.items[0].score == before.items[0].score
    assert [item.numbers["judge"] for item in after.items[:3]] == [0.9526, 0.8808, 0.5]


def test_explain_names_what_it_scored_and_how_the_order_changed(
    alice: User, notes: dict[str, Memory], judged: Judged
) -> None:
    trace = asked(alice).trace
    assert trace is not None
    place = trace.order.index(notes[MONDAY].key) + 1
    judged({"monday": 3.0})
    told = step(asked(alice))
    assert told["scored"] == len(notes)
    assert told["former_ranks"] == [place, *(rank for rank in range(1, len(notes) + 1) if rank != place)]


def test_its_score_says_whether_the_answer_is_sure(
    alice: User, notes: dict[str, Memory], judged: Judged
) -> None:
    assert (asked(alice).confidence, asked(alice).doubt) == ("high", "")
    judged({"8081": 1.5, "the": -1.0})  # 0.38 for the first, less for the others
    assert texts(asked(alice))[0] == PORT_NOTE
    assert (asked(alice).confidence, asked(alice).doubt) == ("low", "Low confidence")
    judged({"8081": 4.0})
    assert (asked(alice).confidence, asked(alice).doubt) == ("high", "")


def test_out_of_time_the_answer_is_the_one_without(
    alice: User, notes: dict[str, Memory], judged: Judged
) -> None:
    kept(person(alice), f"The staging server deploys {SLOW}.", group="ledger", scope="group")
    before = asked(alice)
    judged({"monday": 3.0}, recall_ms=50)
    after = asked(alice)
    assert step(after) == {"scored": 0, "why": "out of time", "at_most_ms": 50}
    assert [(item.memory, item.score) for item in after.items] == [(i.memory, i.score) for i in before.items]
    assert (after.confidence, after.doubt) == (before.confidence, before.doubt)


def test_a_model_that_fails_is_named_and_the_answer_is_the_one_without(
    alice: User, notes: dict[str, Memory], judged: Judged, settings: Settings, tmp_path: Path
) -> None:
    before = asked(alice)
    broken = publish_judge(tmp_path / "broken", {"monday": [3.0, 3.0]}, num_labels=1)
    settings.LOCI = with_judge(settings.LOCI, JudgeUse.RECALL, broken)
    after = asked(alice)
    assert "failed to load" in str(step(after)["why"])
    assert texts(after) == texts(before)


def test_it_shows_nothing_that_is_hidden_withdrawn_or_held(
    alice: User, bob: User, garden: Group, notes: dict[str, Memory], judged: Judged
) -> None:
    judged({"monday": 9.0, "thursdays": 8.0, "rotterdam": 7.0})
    kept(person(alice), MONDAY, group="garden", scope="group")
    retract(person(alice), notes[MONDAY].id)
    quarantine(person(alice), notes[NOTES_BESIDE[0]].id)
    assert texts(asked(bob))[0] == NOTES_BESIDE[1]  # of what is left, the one it likes best
    assert not {MONDAY, NOTES_BESIDE[0]} & {*texts(asked(bob))}


def test_a_verified_fact_stands_before_what_contradicts_it_whatever_the_judge_says(
    alice: User, bob: User, notes: dict[str, Memory], judged: Judged
) -> None:
    verify(person(alice), notes[PORT_NOTE].id)
    lie = "The deploy port of the staging server is 9090."
    kept(agent(bob), lie, group="ledger", scope="group")
    judged({"9090": 9.0})
    found = texts(asked(bob))
    assert found[0] == PORT_NOTE
    assert lie in found


def test_it_costs_no_statement_and_without_one_there_is_no_step(
    alice: User, notes: dict[str, Memory], judged: Judged
) -> None:
    for _ in range(3):
        asked(alice)
    with CaptureQueriesContext(connection) as without:
        assert step(asked(alice)) == {}
    judged({"monday": 3.0})
    asked(alice)
    with CaptureQueriesContext(connection) as with_one:
        assert step(asked(alice))["scored"]
    assert len(with_one) == len(without)
