"""context, checkpoint and relate: what a hook or a script does at the start and the end of a session."""

import json

import pytest

from access.models import Group
from memories.models import Checkpoint, Memory
from tests.loci_site.management.conftest import Run

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def test_a_checkpoint_is_saved_and_stands_in_the_context(run: Run) -> None:
    run("remember", "The deploy port is 8081.", "--group", "ledger")
    saved = run(
        "memory", "checkpoint", "Rounding is fixed; migrate next.", "--group", "ledger", "--thread", "rollout"
    )
    assert saved.out == "Saved checkpoint 1 of the thread 'rollout' in ledger.\n"
    pack = run("memory", "context", "--group", "ledger", "--query", "which port do we deploy on?")
    assert "Rounding is fixed; migrate next." in pack.out
    assert "The deploy port is 8081." in pack.out
    assert pack.status == 0


def test_a_checkpoint_may_be_json_or_come_from_standard_input(run: Run, ledger: Group) -> None:
    run("memory", "checkpoint", '{"done": ["rounding"], "next": "migrate"}', "--group", "ledger")
    assert Checkpoint.objects.get().state == {"done": ["rounding"], "next": "migrate"}
    run("memory", "checkpoint", "-", "--group", "ledger", stdin="Grüße\naus Köln".encode())
    shown = run("memory", "checkpoint", "--group", "ledger")
    assert "Grüße\naus Köln" in shown.out
    last = json.loads(run("memory", "checkpoint", "--group", "ledger", "--json").out)
    assert (last["state"], last["untrusted"]) == ({"text": "Grüße\naus Köln"}, True)


def test_where_no_checkpoint_is_it_says_so(run: Run, ledger: Group) -> None:
    for thread in ("", "rollout"):
        nothing = run("memory", "checkpoint", "--group", "ledger", "--thread", thread)
        assert nothing.status == 1
        assert "is saved yet" in nothing.error
    run("memory", "checkpoint", "done", "--group", "ledger")
    assert run("memory", "checkpoint", "--group", "ledger", "--thread", "rollout").status == 1


def test_an_empty_checkpoint_is_refused(run: Run, ledger: Group) -> None:
    refused = run("memory", "checkpoint", "  ", "--group", "ledger")
    assert refused.status == 1
    assert not Checkpoint.objects.exists()


def test_the_context_is_json_with_its_sections(run: Run) -> None:
    run("remember", "The deploy port is 8081.", "--group", "ledger")
    pack = json.loads(run("memory", "context", "--group", "ledger", "--token-budget", "800", "--json").out)
    assert pack["token_budget"] == 800
    assert [item["text"] for item in pack["items"]] == ["The deploy port is 8081."]
    wrong = run("memory", "context", "--group", "ledger", "--token-budget", "1")
    assert wrong.status == 1
    assert "token_budget" in wrong.error


def test_a_relation_is_stored_and_answers(run: Run) -> None:
    said = run("memory", "relate", "Invoice service", "owned_by_team", "Payments", "--group", "ledger")
    assert "in ledger (a new group): Invoice service —owned_by_team→ Payments" in said.out
    assert "New entities: Invoice service, Payments." in said.out
    again = json.loads(
        run(
            "memory", "relate", "Invoice service", "owned_by_team", "Payments", "--group", "ledger", "--json"
        ).out
    )
    assert again["outcome"] == "reinforced"
    answer = run("recall", "which team owns the invoice service?", "--group", "ledger")
    assert "Invoice service —owned_by_team→ Payments" in answer.out


def test_a_relation_of_something_to_itself_is_refused(run: Run, ledger: Group) -> None:
    refused = run("memory", "relate", "Payments", "part_of", "payments", "--group", "ledger")
    assert refused.status == 1
    assert not Memory.objects.exists()
