"""Groups by command: renamed, described, archived; their members; each with a trial that changes nothing."""

import io
import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.groups import create_group
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.tokens import operator
from tests.people import alice, bob, garden, ledger

__all__ = ["alice", "bob", "garden", "ledger"]
pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = StringIO()
    call_command("group", *words, stdout=out)
    return out.getvalue().strip()


def answer(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


def rows_logged() -> int:
    return AuditEntry.objects.filter(operation__in=("group", "member")).count()


def test_a_group_is_made_with_its_first_members_or_not_at_all(bob: User) -> None:
    made = answer("create", "kitchen", "--title", "What we cook", "--member", "bob=admin")
    assert made["members"] == [{"user": "bob", "role": "admin"}]
    with pytest.raises(CommandError, match="There is no user 'eve'"):
        run("create", "cellar", "--member", "eve=admin")
    assert not Group.objects.filter(slug="cellar").exists()


def test_a_title_and_instructions_are_given(ledger: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("update", "ledger", "--title", "The books") == "Changed the group 'ledger': title."
    assert (
        run("update", "ledger", "--instructions", "Amounts are in cents.")
        == "Changed the group 'ledger': instructions."
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("Amounts are\nin grams.\n"))
    run("update", "ledger", "--instructions", "-")
    shown = answer("show", "ledger")
    assert (shown["slug"], shown["title"], shown["instructions"]) == (
        "ledger",
        "The books",
        "Amounts are\nin grams.",
    )
    assert "already: nothing was changed" in run("update", "ledger", "--title", "The books")
    with pytest.raises(CommandError, match="cannot be read"):
        run("update", "ledger", "--instructions", "@/nowhere/rules.md")


def test_a_policy_is_shown_and_set(ledger: Group) -> None:
    assert "policy none: every write counts at once; none waits for a curator" in run("show", "ledger")
    assert run("update", "ledger", "--policy", "below", "--policy-confidence", "0.6") == (
        "Changed the group 'ledger': policy, policy confidence."
    )
    assert "policy below: writes with a confidence below 0.6 wait for a curator" in run("show", "ledger")
    assert answer("show", "ledger")["policy_confidence"] == 0.6
    with pytest.raises(CommandError, match="between 0 and 1"):
        run("update", "ledger", "--policy-confidence", "7")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["update", "ledger", "--title", "The books"], "title: nothing → The books"),
        (["update", "ledger", "--policy", "all"], "policy: none → all"),
        (["update", "ledger", "--private", "yes", "--title", "x"], "private: no → yes"),
        (["update", "ledger", "--archived", "yes"], "archived: no → yes"),
        (["members", "ledger", "--set", "bob=curator"], "bob: contributor → curator"),
        (["members", "ledger", "--remove", "bob"], "bob: contributor → nothing"),
    ],
)
def test_a_trial_says_what_would_change_and_changes_nothing(bob: User, words: list[str], said: str) -> None:
    before, logged = answer("show", "ledger"), rows_logged()
    would = run(*words, "--dry-run")
    assert would.startswith("Nothing was changed. The changes would be:\n")
    assert said in would
    assert answer(*words, "--dry-run")["dry_run"] is True
    assert (answer("show", "ledger"), rows_logged()) == (before, logged)
    assert said.split(":")[0] in answer(*words)["changed"]
    assert rows_logged() > logged


def test_members_change_together_or_not_at_all(bob: User) -> None:
    with pytest.raises(CommandError, match="not a member of 'ledger'"):
        run("members", "ledger", "--set", "bob=admin", "--remove", "bob", "--remove", "bob")
    assert answer("members", "ledger")["members"][-1] == {"user": "bob", "role": "contributor"}
    changed = answer("members", "ledger", "--set", "bob=admin")["changed"]
    assert changed == {"bob": ["contributor", "admin"]}
    assert (
        run("members", "ledger", "--set", "bob=admin", "--dry-run")
        == "Nothing was changed, and nothing would change."
    )


def test_an_archived_group_is_listed_when_asked_for(ledger: Group, garden: Group) -> None:
    run("update", "garden", "--archived", "yes")
    listed = run("list").split("\n")
    assert [line.split()[0] for line in listed] == ["ledger", "1"]
    assert listed[-1] == "1 archived: --archived lists it"
    assert "(archived)" in run("list", "--archived")
    assert "1 member " in f"{listed[0]} "
    run("update", "garden", "--archived", "no")
    assert "garden" in run("list")
    assert "already: nothing was changed" in run("update", "garden", "--archived", "no")


def test_a_list_costs_the_same_however_many_groups_there_are(ledger: Group, bob: User) -> None:
    counts = []
    for number in range(3):
        with CaptureQueriesContext(connection) as seen:
            answer("list")
        counts.append(len(seen))
        set_member(operator(), create_group(operator(), f"group-{number}"), user=bob, role="viewer")
    assert len(set(counts)) == 1
