"""`loci recalls` and `loci feedback`: what they print and how they end."""

import json

import pytest

from memories.models import Feedback, Memory
from tests.loci_site.management.conftest import Run

pytestmark = [pytest.mark.django_db, pytest.mark.model]
QUESTION = "which is the deploy port?"


@pytest.fixture
def stored(run: Run) -> Memory:
    run("remember", "The deploy port is 8081.", "--group", "ledger")
    run("recall", QUESTION, "--group", "ledger")
    return Memory.objects.get()


def test_the_log_is_listed_and_one_recall_shown(run: Run, stored: Memory) -> None:
    listed = json.loads(run("recalls", "--group", "ledger", "--question", "deploy", "--json").out)
    (row,) = listed["items"]
    assert (row["question"], row["actor"], listed["next"]) == (QUESTION, "operator", None)
    shown = run("recalls", columns=200)
    assert (shown.status, shown.out.splitlines()[0]) == (0, QUESTION)
    assert f"1 result: {str(stored.id)[-8:]} · id {row['id']}" in shown.out
    one = run("recalls", row["id"], columns=200).out
    assert " 1. The deploy port is 8081." in one
    assert str(stored.id) in one
    assert json.loads(run("recalls", row["id"], "--json").out) == row


def test_no_recall_and_a_wrong_filter_are_told_apart(run: Run, stored: Memory) -> None:
    assert run("recalls", "--since", "2096-01-01").out == "No recalls.\n"
    wrong = run("recalls", "--since", "soon")
    assert (wrong.status, "since" in wrong.error) == (1, True)
    assert "is not the id of a recall" in run("recalls", "7").error


def test_the_log_is_read_in_pages(run: Run, stored: Memory) -> None:
    run("recall", "another question", "--group", "ledger")
    first = json.loads(run("recalls", "--limit", "1", "--json").out)
    second = json.loads(run("recalls", "--limit", "1", "--cursor", first["next"], "--json").out)
    assert [first["items"][0]["question"], second["items"][0]["question"]] == ["another question", QUESTION]
    assert f"More: --cursor {first['next']}" in run("recalls", "--limit", "1").out


def test_feedback_is_stored_once_and_shown(run: Run, stored: Memory) -> None:
    short = str(stored.id)[-8:]
    assert run("feedback", "used", short).out == "Noted as used: 1 memory, 1 new.\n"
    said = json.loads(run("feedback", "used", short, "--json").out)
    recall = json.loads(run("recalls", "--json").out)["items"][0]["id"]
    assert said == {"recorded": 0, "feedback": [{"id": str(stored.id), "verdict": "used", "recall": recall}]}
    assert run("feedback", "wrong", short, "--recall", recall).status == 0
    assert [row.verdict for row in Feedback.objects.all()] == ["wrong"]
    assert "0 used, 1 wrong" in run("stats", "--group", "ledger").out
    assert "Memory not found" in run("feedback", "used", "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f").error
