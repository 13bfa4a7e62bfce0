"""The address of the hooks: who may call it, what it answers to nonsense, and which group a folder belongs to."""

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.groups import create_group
from access.models import Group
from access.tokens import revoke_token
from loci_site.hooks.prompt_text import question_of
from loci_site.hooks.sessions import folder_name, repository_of
from tests.loci_site.hooks.conftest import DATABASE, HookClient
from tests.people import make_token, person

pytestmark = pytest.mark.django_db


def test_a_token_needs_the_scope(bob: User, ledger: Group) -> None:
    start = {"session_id": "s", "cwd": "/ledger", "source": "startup"}
    assert HookClient("").send("session-start", start)[0] == 401
    assert HookClient("loci_unknown").send("session-start", start)[0] == 401
    assert HookClient(make_token(bob)[1]).send("session-start", start)[0] == 401
    token, secret = make_token(bob, scopes=("hook",))
    assert HookClient(secret).send("session-start", start)[0] == 200
    revoke_token(person(bob), token)
    assert HookClient(secret).send("session-start", start)[0] == 401


def test_a_hook_token_opens_nothing_else(bob: User, ledger: Group) -> None:
    headers = {"Authorization": f"Bearer {make_token(bob, scopes=('hook',))[1]}"}
    client = Client(headers=headers)
    assert client.get("/api/groups").status_code == 401
    assert client.get("/api/memories?group=ledger").status_code == 401
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert client.post("/mcp", body, content_type="application/json").status_code == 401


@pytest.mark.parametrize(
    ("event", "sent"),
    [
        ("prompt", b"no json"),
        ("prompt", b"\xff\xfe"),
        ("prompt", b"[" * 10_000),
        ("prompt", []),
        ("prompt", {}),
        ("prompt", {"session_id": 7, "prompt": "which database?"}),
        ("prompt", {"session_id": "s", "prompt": {"text": "which database?"}}),
        ("unknown", {"session_id": "s"}),
        ("session-start", {"session_id": "s", "cwd": "\ud800", "loci": {"group": "no such"}}),
        ("session-start", {"session_id": "s", "cwd": 1, "loci": "x"}),
        ("session-end", {"session_id": "s", "loci": {"commits": [1, {"sha": "a"}], "files": "x"}}),
        ("stop", {"session_id": "s", "last_assistant_message": None}),
    ],
)
def test_nonsense_is_answered_with_nothing(bob: User, ledger: Group, event: str, sent: Any) -> None:
    hooks = HookClient(make_token(bob, scopes=("hook",))[1])
    assert hooks.send(event, sent) == (200, {})
    assert replace(hooks, client="nobodys").send(event, sent) == (200, {})


def test_the_group_is_that_of_the_place(hooks: HookClient, alice: User, ledger: Group) -> None:
    start: dict[str, Any] = {"source": "startup"}
    elsewhere = replace(hooks, folder="/tmp/x", session="x")
    asked = elsewhere.context("session-start", **start)
    assert "No group of the shared memory belongs to x." in asked
    assert "ledger" in asked
    assert "garden" not in asked  # bob may not enter it
    assert replace(elsewhere, session="y").call("session-start", **start) == {}  # asked once
    origin = {"origin": "git@git.example:firm/Ledger.git"}
    assert DATABASE in replace(elsewhere, session="z").context("session-start", **start, loci=origin)
    named = {"group": "ledger"}
    assert DATABASE in replace(elsewhere, session="n").context("session-start", **start, loci=named)
    for closed in ("garden", "none"):
        hidden = replace(hooks, session=closed)
        assert DATABASE not in hidden.context("session-start", **start, loci={"group": closed})
    assert Group.objects.count() == 2  # a hook makes none
    create_group(person(alice), "x")


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("https://git.example/firm/Ledger.git", "ledger"),
        ("git@git.example:firm/my ledger", "my-ledger"),
        ("/srv/git/ledger.git/", "ledger"),
        ("", ""),
    ],
)
def test_the_name_of_a_repository(origin: str, name: str) -> None:
    assert repository_of(origin) == name


@pytest.mark.parametrize(
    ("folder", "name"),
    [("/home/bob/Ledger", "ledger"), (r"C:\work\Ledger", "ledger"), ("/", ""), ("", ""), ("/x/.git", "git")],
)
def test_the_name_of_a_folder(folder: str, name: str) -> None:
    assert folder_name(folder) == name


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        ("who owns the cart now? I need a reviewer for this change", "who owns the cart now?"),
        ("rename the variable in this function", ""),
        ("run the failing test again and tell me", ""),
        ("the queue workers hang again after the deploy", "the queue workers hang again after the deploy"),
        ("translate this paragraph into plain French", ""),
        ("thanks", ""),
    ],
)
def test_what_of_a_prompt_is_asked(prompt: str, question: str) -> None:
    assert question_of(prompt) == question
