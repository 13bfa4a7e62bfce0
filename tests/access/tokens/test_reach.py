"""`loci token list` shows the current reach of each token; concurrent writes of two agents name the right one."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from access.actor import Actor
from access.groups.members import remove_member
from access.models import AuditEntry, Group
from access.tokens import operator, revoke_token
from memories.draft import Draft
from memories.models import Memory
from memories.store import store
from tests.people import agent, alice, bob, charlie, garden, ledger, make_token

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    call_command("token", "list", "--json")
    return {row["name"]: row["reaches"] for row in json.loads(capsys.readouterr().out)}


@pytest.mark.django_db
def test_what_a_token_reaches_follows_its_user(
    alice: User, bob: User, charlie: User, ledger: Group, garden: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    make_token(alice, name="all")
    make_token(alice, name="bound", groups=[garden])
    make_token(bob, name="bobs")
    make_token(bob, name="beyond", groups=[garden])
    make_token(charlie, name="nowhere")
    make_token(alice, name="reader", scopes=["read"], groups=[garden, ledger])
    gone, _ = make_token(bob, name="gone")
    revoke_token(operator(), gone)
    assert listed(capsys) == {
        "all": [{"group": "*", "role": "admin", "may": ["read", "write"]}],
        "bound": [{"group": "garden", "role": "admin", "may": ["read", "write"]}],
        "bobs": [{"group": "ledger", "role": "contributor", "may": ["read", "write"]}],
        "reader": [
            {"group": "garden", "role": "admin", "may": ["read"]},
            {"group": "ledger", "role": "admin", "may": ["read"]},
        ],
        "beyond": [],
        "nowhere": [],
        "gone": [],
    }
    call_command("token", "list")
    text = capsys.readouterr().out
    assert (
        "bobs for bob: read, write in every group of its user; now read, write in ledger, never used" in text
    )
    assert "reader for alice: read in garden, ledger; now read in garden, ledger, never used" in text
    assert "nowhere for charlie: read, write in every group of its user; now nothing, never used" in text
    assert "admin" not in text


@pytest.mark.django_db
def test_scopes_beyond_a_role_are_not_listed_as_rights(
    bob: User, ledger: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    make_token(bob, name="wide", scopes=["read", "curate", "admin", "create-group"])
    call_command("token", "list")
    assert "; now read in ledger; can make groups, never used" in capsys.readouterr().out


@pytest.mark.django_db
def test_a_command_makes_the_operators_token(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("token", "create", "operator", "--admin", "--json")
    made = json.loads(capsys.readouterr().out)
    rights = ["read", "write", "curate", "admin", "hook", "capture"]
    assert made["scopes"] == ["admin", "capture", "create-group", "curate", "hook", "read", "write"]
    assert made["reaches"] == [{"group": "*", "role": "admin", "may": rights}]
    with pytest.raises(CommandError, match="not allowed with argument"):
        call_command("token", "create", "both", "--admin", "--scopes", "read")


@pytest.mark.django_db
def test_a_reader_of_everything_may_read(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    make_token(alice, name="reader", scopes=["read"])
    call_command("token", "list")
    text = capsys.readouterr().out
    assert "; now read in every group, never used" in text
    assert "admin" not in text


@pytest.mark.django_db
def test_a_token_whose_user_left_reaches_nothing(
    bob: User, ledger: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    make_token(bob, name="bobs")
    remove_member(operator(), ledger, user=bob)
    assert listed(capsys)["bobs"] == []


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_two_agents_that_write_at_once_are_each_named(alice: User, bob: User, ledger: Group) -> None:
    actors = [agent(alice, name="north"), agent(bob, name="south")]

    def write(actor: Actor) -> None:
        try:
            for number in range(8):
                store(actor, Draft(f"{actor.name} saw gate {number} closed.", group="ledger", scope="group"))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, actors))
    rows = Memory.objects.select_related("author", "token")
    assert rows.count() == 16
    for memory in rows:
        name = memory.content.split(" saw ")[0]
        assert memory.author is not None
        assert memory.token is not None
        assert f"{memory.author.username}/{memory.token.name}" == name
        entry = AuditEntry.objects.get(operation="store", memory_id=memory.id)
        assert (entry.actor, entry.token) == (name, memory.token.id)
