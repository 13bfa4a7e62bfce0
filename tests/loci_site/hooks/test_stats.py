"""The counts of what hooks brought and left."""

import json

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from loci_site.hooks.stats import hook_stats, list_captured
from memories.lifecycle.verbs import approve, reject
from memories.models import Memory
from memories.models.short_id import short_id
from tests.acceptance.house import command
from tests.loci_site.hooks.conftest import DATABASE, HookClient
from tests.people import charlie, person

__all__ = ["charlie"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]


def test_counts_of_injected_used_captured_and_approved(hooks: HookClient, alice: User, charlie: User) -> None:
    hooks.call("session-start", source="startup")
    hooks.call("prompt", prompt="how are invoices of the ledger numbered?")
    for number in (1, 2, 3):
        hooks.call("prompt", prompt=f"Remember that the staging host {number} is called amber{number}.")
    one, two, _ = Memory.objects.filter(source="hook:claude-code")
    approve(person(alice), one.id)
    reject(person(alice), two.id, reason="no")
    database = Memory.objects.get(content=DATABASE)
    hooks.call("stop", last_assistant_message=f"It runs on brass [{short_id(database.id)}].")
    found = hook_stats(person(alice))
    assert (found.sessions, found.injected, found.used) == (1, 2, 1)
    assert 20 < found.tokens < 300
    assert (found.captured, found.approved, found.rejected, found.waiting) == (3, 1, 1, 1)
    Memory.objects.filter(content__startswith="Invoices").update(last_accessed=timezone.now())
    assert hook_stats(person(alice)).used == 2
    assert hook_stats(person(charlie)).injected == 0
    assert json.loads(command("hook", "stats", "--json", "--group", "ledger"))["injected"] == 2
    assert "captured  3: 1 approved, 1 rejected, 1 waiting" in command("hook", "stats")
    [first, second] = json.loads(command("hook", "injected", "--json", "--session", "s-1"))
    assert (second["text"], second["event"], first["event"]) == (DATABASE, "session-start", "prompt")
    assert "brass" in command("hook", "injected")


def test_what_was_captured_is_shown_with_what_became_of_it_and_merges_are_no_approvals(
    hooks: HookClient, alice: User, charlie: User
) -> None:
    for number in (1, 2, 3, 4):
        hooks.call("prompt", prompt=f"Remember that the staging host {number} is called amber{number}.")
    one, two, three, _ = Memory.objects.filter(source="hook:claude-code").order_by("key")
    Memory.objects.filter(pk=three.pk).update(state="merged", trust="active")
    approve(person(alice), one.id)
    command("hook", "captured", "--undo", short_id(two.id))
    found = hook_stats(person(alice))
    assert (found.captured, found.approved, found.rejected, found.waiting) == (4, 1, 0, 1)
    rows = list_captured(person(alice), group="ledger")
    assert [row.outcome for row in rows] == ["waiting", "merged", "forgotten", "approved"]
    assert {row.group for row in rows} == {"ledger"}
    assert list_captured(person(charlie)) == []
    assert "amber4" in command("hook", "captured").splitlines()[0]
    assert "Did you mean" in command("hook", "captured", "--group", "ledgre")
