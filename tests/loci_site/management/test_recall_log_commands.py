"""`loci memory recalls`: what it prints and how it ends."""

import json

import pytest

from memories.models import Memory
from tests.loci_site.management.conftest import Run

pytestmark = [pytest.mark.django_db, pytest.mark.model]
QUESTION = "which is the deploy port?"


@pytest.fixture
def stored(run: Run) -> Memory:
    run("remember", "The deploy port is 8081.", "--group", "ledger")
    run("recall", QUESTION, "--group", "ledger")
    return Memory.objects.get()


def test_the_log_is_listed_and_one_recall_shown(run: Run, stored: Memory) -> None:
    listed = json.loads(run("memory", "recalls", "--group", "ledger", "--question", "deploy", "--json").out)
    (row,) = listed["items"]
    assert (row["question"], row["actor"], listed["next"]) == (QUESTION, "operator", None)
    shown = run("memory", "recalls", columns=200)
    assert (shown.status, shown.out.splitlines()[0]) == (0, QUESTION)
    assert f"1 result: {str(stored.id)[-8:]} · id {row['id']}" in shown.out
    one = run("memory", "recalls", row["id"], columns=200).out
    assert " 1. The deploy port is 8081." in one
    assert str(stored.id) in one
    assert json.loads(run("memory", "recalls", row["id"], "--json").out) == row


def test_no_recall_and_a_wrong_filter_are_told_apart(run: Run, stored: Memory) -> None:
    assert run("memory", "recalls", "--since", "2096-01-01").out == "No recalls.\n"
    wrong = run("memory", "recalls", "--since", "soon")
    assert (wrong.status, "since" in wrong.error) == (1, True)
    assert "is not the id of a recall" in run("memory", "recalls", "7").error


def test_the_log_is_read_in_pages(run: Run, stored: Memory) -> None:
    run("recall", "another question", "--group", "ledger")
    first = json.loads(run("memory", "recalls", "--limit", "1", "--json").out)
    second = json.loads(run("memory", "recalls", "--limit", "1", "--cursor", first["next"], "--json").out)
    assert [first["items"][0]["question"], second["items"][0]["question"]] == ["another question", QUESTION]
    assert f"More: --cursor {first['next']}" in run("memory", "recalls", "--limit", "1").out
