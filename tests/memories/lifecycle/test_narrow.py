"""A group's global memories become its own, and global again."""

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.audit.verify import is_log_whole
from access.errors import Conflict, GroupNotFound, NotPermitted
from access.groups.members import set_private
from access.models import AuditEntry, Group
from access.tokens import operator
from maintenance.audit_replay import memory_at
from maintenance.doctor import examine
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.regroup.narrow import narrow_group
from memories.lifecycle.verbs import forget, retract
from memories.models import Memory
from memories.queries.snapshot import snapshot
from memories.recall import RecallRequest, recall
from memories.store import store
from tests.model import encoder
from tests.people import alice, bob, garden, ledger, person

__all__ = ["alice", "bob", "encoder", "garden", "ledger"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]
NOTHING = "Nothing was changed."


def stored(content: str, *, group: str = "ledger", scope: str = "global", **fields: Any) -> Memory:
    memory = store(operator(), Draft(content, group=group, scope=scope, **fields)).memory
    assert memory is not None
    return memory


def found(group: str, query: str) -> list[str]:
    return [item.text for item in recall(operator(), RecallRequest(query, group=group, is_trial=True)).items]


def scopes() -> dict[str, str]:
    return dict(Memory.objects.values_list("content", "scope"))


def said(*words: str) -> str:
    out = StringIO()
    call_command("group", "narrow", *words, stdout=out)
    return out.getvalue().strip()


@pytest.fixture
def facts(ledger: Group, garden: Group) -> None:
    """Two global facts and one of the group's own in `ledger`, one global fact in `garden`."""
    stored("The API listens on port 8081.")
    stored("Invoices are numbered by year.", type="procedural", thread="billing")
    stored("The safe is in the cellar.", scope="group", thread="billing")
    stored("Roses are watered on Mondays.", group="garden")


def test_the_groups_memories_leave_the_others_and_come_back(facts: None) -> None:
    assert found("garden", "which port does the API listen on?") == ["The API listens on port 8081."]
    done = narrow_group(operator(), "ledger")
    assert (done.changed, done.staying) == (2, ())
    assert found("garden", "which port does the API listen on?") == []
    assert found("ledger", "which port does the API listen on?") == ["The API listens on port 8081."]
    assert scopes()["Roses are watered on Mondays."] == "global"
    undone = narrow_group(operator(), "ledger", undo=True)
    assert (undone.changed, undone.staying) == (2, ())
    assert found("garden", "which port does the API listen on?") == ["The API listens on port 8081."]
    assert scopes()["The safe is in the cellar."] == "group"


def test_a_preview_changes_nothing(facts: None) -> None:
    before, rows = scopes(), AuditEntry.objects.count()
    assert narrow_group(operator(), "ledger", dry_run=True).changed == 2
    assert (scopes(), AuditEntry.objects.count()) == (before, rows)


def test_each_change_is_logged_and_the_store_is_whole(facts: None) -> None:
    narrow_group(operator(), "ledger")
    assert AuditEntry.objects.filter(operation="narrow").count() == 2
    assert AuditEntry.objects.filter(operation="group", subject="group:ledger").count() == 2
    memory = Memory.objects.get(content__startswith="The API")
    past = memory_at(operator(), memory.id, memory.created_at)
    assert past.fields["scope"] == "global"
    assert snapshot(memory)["scope"] == "group"
    assert is_log_whole()
    wrong = [f for f in examine(operator()).findings if f.verdict == "wrong" and f.check not in ENVIRONMENT]
    assert wrong == []


ENVIRONMENT = ("driver", "home", "disk", "model", "index model")


def test_a_group_can_be_private_afterwards(facts: None) -> None:
    old = stored("The gate is open.")
    retract(operator(), str(old.id))
    with pytest.raises(Conflict, match="3 global memories"):
        set_private(operator(), "ledger", private=True)
    narrow_group(operator(), "ledger")
    assert set_private(operator(), "ledger", private=True).private
    with pytest.raises(Conflict, match="'ledger' is private"):
        narrow_group(operator(), "ledger", undo=True)


def test_a_text_that_would_be_there_twice_stays(facts: None) -> None:
    own = stored("The API listens on port 8081.", scope="group")
    done = narrow_group(operator(), "ledger")
    [staying] = done.staying
    assert (done.changed, staying.why) == (1, f"its text is live as {own.id} with the scope group")
    assert found("garden", "which port does the API listen on?") == ["The API listens on port 8081."]


def test_undo_leaves_what_people_did_since(facts: None, alice: User) -> None:
    narrow_group(operator(), "ledger")
    api = Memory.objects.get(content__startswith="The API")
    edit(person(alice), str(api.id), EditDraft(content="The API listens on port 9090."))
    invoices = Memory.objects.get(content__startswith="Invoices")
    again = stored("Invoices are numbered by year.", type="procedural")
    undone = narrow_group(operator(), "ledger", undo=True)
    assert undone.changed == 0
    why = {each.id: each.why for each in undone.staying}
    assert "newer version" in why[api.id]
    assert f"The same text is live as {again.id}" in why[invoices.id]
    assert again.scope == "global"


def test_undo_takes_back_each_narrowing_once(facts: None) -> None:
    narrow_group(operator(), "ledger")
    assert narrow_group(operator(), "ledger", undo=True).changed == 2
    assert narrow_group(operator(), "ledger", undo=True).changed == 0
    forget(operator(), str(Memory.objects.get(content__startswith="The API").id))
    assert narrow_group(operator(), "ledger").changed == 2


def test_only_an_admin_of_the_group_does_it(facts: None, bob: User) -> None:
    with pytest.raises(NotPermitted):
        narrow_group(person(bob), "ledger")
    with pytest.raises(GroupNotFound):
        narrow_group(person(bob), "garden")
    assert "group" not in {scopes()["The API listens on port 8081."]}


def test_the_command_previews_runs_and_undoes(facts: None) -> None:
    assert said("ledger", "--dry-run") == f"{NOTHING} 2 memories would be seen in 'ledger' alone."
    text = said("ledger")
    assert (
        text == "2 memories are now seen in 'ledger' alone. To take it back: loci group narrow ledger --undo"
    )
    assert said("ledger") == NOTHING
    assert json.loads(said("ledger", "--undo", "--json")) == {
        "group": "ledger", "changed": 2, "staying": [], "undo": True, "dry_run": False,
    }  # fmt: skip
