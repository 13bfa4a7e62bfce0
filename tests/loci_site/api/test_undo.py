"""Undo over REST: edits, pins, merges and supersedes; the route and its errors."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Memory, Proposal
from tests.loci_site.api.conftest import Caller
from tests.memories.builders import pin_as_before
from tests.people import agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TEXT = "The gate opens at seven."


def undo(caller: Caller, answer: dict[str, str], *, status: int = 200) -> dict[str, str]:
    done: dict[str, str] = caller.post("/undo", {"undo": answer["undo"]}, status=status)
    return done


def test_an_edit_is_undone(member: Caller) -> None:
    stored = member.store(TEXT)
    edited = member.patch(f"/memories/{stored['id']}", {"content": "The gate opens at nine."})
    assert edited["outcome"] == "new_version"
    undone = undo(member, edited)
    assert (undone["undone"], edited["memory"]["id"] in undone["ids"]) == ("edit", True)
    head = member.get(f"/memories/{stored['id']}")["head"]
    assert member.get(f"/memories/{head}")["content"] == TEXT


def test_fields_changed_in_place_are_undone(member: Caller) -> None:
    stored = member.store(TEXT, tags=["gate"])
    edited = member.patch(f"/memories/{stored['id']}", {"tags": ["door"], "importance": 9})
    undo(member, edited)
    memory = Memory.objects.get(id=stored["id"])
    assert (memory.tags, memory.importance) == (["gate"], 5)
    later = member.patch(f"/memories/{stored['id']}", {"importance": 9})
    member.patch(f"/memories/{stored['id']}", {"importance": 3})
    assert undo(member, later, status=409)["field"] == "undo"


def test_a_request_for_a_pin_is_undone_and_no_pin_comes_back_without_a_person(
    owner: Caller, alice: User
) -> None:
    stored = owner.store(TEXT)
    asked = owner.post(f"/memories/{stored['id']}/pin", status=202)
    undo(owner, asked)
    assert Proposal.objects.get().status == "stale"
    pin_as_before(agent(alice), Memory.objects.get(id=stored["id"]))
    unpinned = owner.post(f"/memories/{stored['id']}/unpin")
    assert unpinned["undo"] is None
    assert not Memory.objects.get(id=stored["id"]).pinned


def test_a_supersede_by_an_existing_memory_is_undone(member: Caller) -> None:
    old, new = member.store(TEXT), member.store("The cat sleeps on the roof.")
    done = member.post(f"/memories/{old['id']}/supersede", {"by": new["id"]})
    undo(member, done)
    assert {row.state for row in Memory.objects.all()} == {"live"}
    assert Memory.objects.get(id=old["id"]).valid_to is None


def test_a_retraction_with_a_successor_is_undone(member: Caller) -> None:
    old = member.store(TEXT)
    done = member.post(f"/memories/{old['id']}/retract", {"successor": "The gate opens at nine."})
    undo(member, done)
    head = member.get(f"/memories/{old['id']}")["head"]
    assert member.get(f"/memories/{head}")["content"] == TEXT


def test_a_store_by_import_of_one_group_is_not_another_tokens(
    member: Caller, bob: User, ledger: Group, caller: Callable[..., Caller]
) -> None:
    stored = member.store(TEXT)
    assert undo(caller(bob), stored, status=404)["field"] == "undo"


def test_bad_ids_are_named(member: Caller) -> None:
    assert member.post("/undo", {"undo": "x"}, status=422)["field"] == "undo"
    assert member.post("/undo", {}, status=422)["field"] == "undo"


def test_a_dry_run_has_no_id(member: Caller) -> None:
    stored = member.store(TEXT)
    assert member.post(f"/memories/{stored['id']}/forget", {"dry_run": True})["undo"] is None
