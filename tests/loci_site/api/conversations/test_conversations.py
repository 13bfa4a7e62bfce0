"""Conversations as people work with them: listed, read, tagged, moved to a group, deleted and brought back."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.errors import NotPermitted
from access.groups import GroupChange, create_group, update_group
from access.models import Group, Membership, Role
from access.tokens import operator
from access.tokens.pairing import show_code
from maintenance.audit_replay import memory_at
from memories.draft import Draft
from memories.lifecycle.verbs import purge, quarantine, retract, verify
from memories.models import Memory, Proposal, Thread
from memories.recall import RecallRequest, recall
from memories.review.card import proposal_card
from memories.review.decide import ReviewDecision, decide
from memories.review.queue import find_waiting_proposals
from memories.sessions.context_pack import get_context
from memories.sessions.conversations import ConversationFilter, list_conversations
from memories.sessions.conversations.move import assign
from memories.sessions.thread_page import read_thread
from memories.store import store
from tests.loci_site.api.conversations.conftest import TURNS, Browser
from tests.people import make_token, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


class Program:
    """A program with a token of a user's; without scopes, the user in a browser."""

    def __init__(self, user: User, scopes: Iterable[str] = ("read", "write")) -> None:
        headers = {}
        if scopes:
            secret = make_token(user, name="-".join(scopes), scopes=scopes)[1]
            headers["Authorization"] = f"Bearer {secret}"
        self.client = Client(headers=headers, raise_request_exception=False)
        if not scopes:
            self.client.force_login(user)

    def call(self, method: str, path: str, sent: Any = None) -> tuple[int, Any]:
        body = {} if sent is None else {"data": json.dumps(sent), "content_type": "application/json"}
        answer = getattr(self.client, method)(f"/api{path}", **body)
        return answer.status_code, answer.json()


@pytest.fixture
def program(bob: User) -> Program:
    return Program(bob)


@pytest.fixture
def kept(browser: Browser) -> Thread:
    browser.keep(*TURNS)
    return Thread.objects.get(name="claude.ai/c-1")


def test_conversations_are_listed_by_their_filters(
    browser: Browser, kept: Thread, program: Program, bob: User
) -> None:
    browser.keep(("x", "user", "The boiler hums."), platform="chatgpt.com", id="g", url="", title="Boiler")
    store(person(bob), Draft("We met on Monday.", type="episodic", group="ledger", thread="standup"))

    def listed(query: str = "") -> list[str]:
        status, body = program.call("get", f"/conversations{query}")
        assert status == 200
        return [each["thread"] for each in body["items"]]

    assert listed() == ["standup", "chatgpt.com/g", "claude.ai/c-1"]
    assert listed("?platform=claude.ai") == ["claude.ai/c-1"]
    assert listed("?platform=") == ["standup"]
    assert listed("?group=ledger") == ["standup"]
    assert listed("?q=boil") == ["chatgpt.com/g"]
    assert listed("?before=2026-03-02&platform=claude.ai") == ["claude.ai/c-1"]
    assert listed("?after=2026-03-02&platform=claude.ai") == []
    assert program.call("patch", f"/conversations/{kept.id}", {"tags": ["Mail", "mail"]})[0] == 200
    assert listed("?tag=mail") == ["claude.ai/c-1"]


def test_a_conversation_is_read_in_order(kept: Thread, program: Program, charlie: User) -> None:
    status, body = program.call("get", f"/conversations/{kept.id}")
    assert (status, body["conversation"]["title"], body["conversation"]["turns"]) == (200, kept.title, 2)
    assert [turn["content"].split(":")[0] for turn in body["turns"]] == ["User", "Assistant"]
    assert Program(charlie).call("get", f"/conversations/{kept.id}")[0] == 404


def test_assigning_moves_every_turn(kept: Thread, bob: User, alice: User, ledger: Group) -> None:
    asked = RecallRequest("Where does the mail server move to?", group="ledger")
    assert recall(person(alice), asked).abstained
    before = Memory.objects.filter(thread=kept).order_by("key").first()
    assert before is not None
    moved = assign(person(bob), kept.id, "ledger")
    assert (moved.former, moved.group, moved.memories) == ("bob-conversations", "ledger", 2)
    assert {row.group for row in Memory.objects.filter(thread=kept)} == {ledger}
    answer = recall(person(alice), asked)
    assert any("brass" in item.text for item in answer.items)
    assert memory_at(person(alice), before.id, before.created_at).fields["group"] == "bob-conversations"
    back = assign(person(bob), kept.id, "bob-conversations")
    assert back.memories == 2
    assert recall(person(alice), asked).abstained


def test_later_turns_follow_the_conversation(
    browser: Browser, kept: Thread, bob: User, ledger: Group
) -> None:
    assign(person(bob), kept.id, "ledger")
    result = browser.keep(*TURNS, ("m3", "user", "Then brass it is."))
    assert (result["group"], [turn["outcome"] for turn in result["turns"]]) == (
        "ledger", ["unchanged", "unchanged", "created"],
    )  # fmt: skip
    assert Thread.objects.filter(name="claude.ai/c-1").count() == 1


def test_only_its_owner_or_a_curator_moves_it(kept: Thread, bob: User, charlie: User, ledger: Group) -> None:
    assign(person(bob), kept.id, "ledger")
    Membership.objects.create(user=charlie, group=ledger, role=Role.CONTRIBUTOR)
    create_group(operator(), "hall")
    Membership.objects.create(user=charlie, group=Group.objects.get(slug="hall"), role=Role.CONTRIBUTOR)
    browser = Program(charlie, ())
    status, said = browser.call("patch", f"/conversations/{kept.id}", {"group": "hall"})
    assert (status, said["code"]) == (403, "not_permitted")
    Membership.objects.filter(user=charlie, group=ledger).update(role=Role.CURATOR)
    assert browser.call("patch", f"/conversations/{kept.id}", {"group": "hall"})[0] == 200


@pytest.mark.parametrize("scopes", [("read", "write"), ("read", "write", "curate"), ("capture", "read")])
@pytest.mark.parametrize("captured", [True, False])
def test_only_a_person_moves_it(
    kept: Thread,
    bob: User,
    alice: User,
    ledger: Group,
    garden: Group,
    scopes: tuple[str, ...],
    captured: bool,
) -> None:
    Membership.objects.create(user=bob, group=garden, role=Role.ADMIN)
    if not captured:
        made = store(person(alice), Draft("The sluice opens at six.", group="garden", thread="sluice")).memory
        assert made is not None
        assert made.thread is not None
        verify(person(alice), made.id)
        kept = made.thread
    status, said = Program(bob, scopes).call("patch", f"/conversations/{kept.id}", {"group": "ledger"})
    assert (status, said["code"]) == (403, "not_permitted")
    assert Thread.objects.get(pk=kept.pk).group_id == kept.group_id
    assert Program(bob, ()).call("patch", f"/conversations/{kept.id}", {"group": "ledger"})[0] in (200, 202)


def test_trust_of_another_group_waits_for_a_curator_of_this_one(
    kept: Thread, bob: User, alice: User, ledger: Group
) -> None:
    turn = Memory.objects.filter(thread=kept).order_by("key")[0]
    verify(person(bob), turn.id)
    moved = assign(person(bob), kept.id, "ledger")
    assert moved.queued
    turn.refresh_from_db()
    assert turn.group_id == kept.group_id
    decide(person(alice), ReviewDecision("approve", proposal=moved.proposal))
    turn.refresh_from_db()
    assert turn.group == ledger


def test_what_its_curators_judge_does_not_leave_them(
    kept: Thread, bob: User, alice: User, ledger: Group
) -> None:
    assign(person(bob), kept.id, "ledger")
    turn = Memory.objects.filter(thread=kept).order_by("key")[0]
    quarantine(person(alice), turn.id)
    with pytest.raises(NotPermitted):
        assign(person(bob), kept.id, "bob-conversations")
    client = Client()
    client.force_login(bob)
    assert "/move/" not in client.get(f"/admin/conversations/{kept.id}/").content.decode()


def test_a_group_that_holds_writes_back_has_one_item_to_decide(
    browser: Browser, kept: Thread, bob: User, alice: User, ledger: Group
) -> None:
    browser.keep(*((f"n{n}", "user", f"Turn {n} about disk {n}.") for n in range(20)))
    update_group(operator(), "ledger", GroupChange(policy="all"))
    moved = assign(person(bob), kept.id, "ledger")
    assert moved.queued
    assert assign(person(bob), kept.id, "ledger").proposal == moved.proposal  # asked twice: the same one
    proposal = Proposal.objects.get()
    assert (proposal.verb, proposal.arguments["turns"]) == ("assign", 22)
    assert find_waiting_proposals([ledger.key]) == [proposal]
    assert proposal_card(person(alice), proposal.id).choices
    decide(person(alice), ReviewDecision("approve", proposal=proposal.id))
    assert {row.group.slug for row in Memory.objects.filter(thread=kept)} == {"ledger"}


def test_what_the_target_does_not_take_stays_as_a_whole(
    kept: Thread, bob: User, alice: User, ledger: Group
) -> None:
    wrong = store(person(alice), Draft(f"Assistant: {TURNS[1][2]}", type="episodic", group="ledger")).memory
    assert wrong is not None
    retract(person(alice), wrong.id, reason="it was copper")
    status, said = Program(bob, ()).call("patch", f"/conversations/{kept.id}", {"group": "ledger"})
    assert (status, said["field"]) == (409, "group")
    assert "withdrawn" in said["message"]
    assert {row.group.slug for row in Memory.objects.filter(thread=kept)} == {"bob-conversations"}


@pytest.mark.parametrize("verb", [retract, purge])
def test_no_change_of_it_takes_a_withdrawn_text(
    kept: Thread, bob: User, alice: User, verb: Callable[..., Any]
) -> None:
    text = "Cobalt tops the quarry wall."
    gone = store(person(alice), Draft(text, group="bob-conversations")).memory
    assert gone is not None
    verb(person(alice), gone.id)
    browser, address = Program(bob, ()), f"/conversations/{kept.id}"
    for sent in ({"tags": [text]}, {"tags": ["wall"], "reason": text}, {"group": "ledger", "reason": text}):
        assert browser.call("patch", address, sent)[0] == 409, sent
    kept.refresh_from_db()
    assert (kept.tags, kept.group.slug) == ([], "bob-conversations")
    assert browser.call("patch", address, {"tags": ["cobalt"]})[0] == 200  # a word of it


def test_a_full_group_takes_no_conversation_and_brings_none_back(
    kept: Thread, bob: User, ledger: Group
) -> None:
    update_group(operator(), "ledger", GroupChange(max_memories=2))
    store(person(bob), Draft("The quarry closes at noon.", group="ledger"))
    browser, address = Program(bob, ()), f"/conversations/{kept.id}"
    status, said = browser.call("patch", address, {"group": "ledger"})
    assert (status, said["code"]) == (409, "group_full")
    update_group(operator(), "ledger", GroupChange(max_memories=3))
    assert browser.call("patch", address, {"group": "ledger"})[0] == 200
    assert browser.call("delete", address)[0] == 200
    store(person(bob), Draft("The quarry opens at six.", group="ledger"))
    assert browser.call("post", f"{address}/undelete", {})[1]["code"] == "group_full"
    assert browser.call("get", address)[0] == 404


def test_deleting_forgets_the_turns_and_can_be_undone(
    browser: Browser, kept: Thread, program: Program
) -> None:
    since = browser.ask("/captures/removed", {})["until"]
    assert program.call("delete", f"/conversations/{kept.id}") == (
        200, {"id": str(kept.id), "memories": 2, "consequences": [], "dry_run": False},
    )  # fmt: skip
    assert {row.state for row in Memory.objects.filter(thread=kept)} == {"forgotten"}
    assert program.call("get", f"/conversations/{kept.id}")[0] == 404
    assert program.call("get", "/conversations")[1]["items"] == []
    assert len(browser.ask("/captures/removed", {"since": since})["items"]) == 2
    later = browser.keep(("m9", "user", "One more thing."))
    assert (later["turns"][0]["outcome"], later["turns"][0]["why"]) == (
        "refused", "the conversation was deleted here",
    )  # fmt: skip
    assert program.call("post", f"/conversations/{kept.id}/undelete", {})[1]["memories"] == 2
    assert {row.state for row in Memory.objects.filter(thread=kept)} == {"live"}
    assert browser.keep(("m9", "user", "One more thing."))["turns"][0]["outcome"] == "created"


def test_agents_meet_conversations_in_the_pack_and_in_the_thread(
    kept: Thread, bob: User, ledger: Group
) -> None:
    assign(person(bob), kept.id, "ledger")
    pack = get_context(person(bob), group="ledger")
    assert "'claude.ai/c-1' (Moving the mail server, 2026-03-01): 2 memories" in pack.text
    page = read_thread(person(bob), "claude.ai/c-1", group="ledger")
    assert page.text.startswith("Thread 'claude.ai/c-1' (Moving the mail server, https://claude.ai/chat/c-1)")


def test_the_pages_list_read_move_tag_delete_and_bring_back(kept: Thread, bob: User, ledger: Group) -> None:
    client = Client()
    client.force_login(bob)
    address = f"/admin/conversations/{kept.id}/"
    listed = client.get("/admin/conversations/").content.decode()
    assert "Moving the mail server" in listed
    assert 'data-drop="ledger"' in listed
    shown = client.get(address).content.decode()
    assert "Brass has the room" in shown
    assert '<option value="ledger">' in shown
    assert client.post(f"{address}tags/", {"tags": "mail, hosts"}).status_code == 302
    assert "mail" in client.get("/admin/conversations/?tag=hosts").content.decode()
    assert client.post(f"{address}move/", {"group": "ledger", "from": "list"}).status_code == 302
    kept.refresh_from_db()
    assert (kept.group, kept.tags) == (ledger, ["mail", "hosts"])
    assert client.post(f"{address}move/", {"group": "ledger"}).status_code == 409
    assert "2 turns" in client.get(f"{address}delete/").content.decode()
    assert "Undo" in client.post(f"{address}delete/").content.decode()
    assert client.get(address).status_code == 404
    assert client.post(f"{address}restore/").status_code == 302
    assert client.get(address).status_code == 200
    assert f"{address}purge/" not in client.get(f"{address}delete/").content.decode()
    assert client.get(f"{address}purge/").status_code == 403
    Membership.objects.filter(user=bob, group=ledger).update(role=Role.CURATOR)
    assert f"{address}purge/" in client.get(f"{address}delete/").content.decode()
    assert "2 turns" in client.get(f"{address}purge/").content.decode()
    assert client.get(address).status_code == 200
    assert "Certificate" in client.post(f"{address}purge/").content.decode()
    assert client.get(address).status_code == 404
    assert client.post(f"{address}restore/").status_code == 409


def test_a_person_is_shown_a_code(bob: User) -> None:
    client = Client()
    client.force_login(bob)
    assert "Connect a browser" in client.get("/admin/account/").content.decode()
    shown = client.post("/admin/account/browsers/pair/").content.decode()
    code = shown.partition("<output>")[2].partition("</output>")[0].replace(" ", "")
    assert len(code) == 6
    assert Browser().post("/pair", {"code": code})[0] == 201
    assert show_code(person(bob), bob).code.isdigit()


def test_a_stranger_s_list_is_empty(kept: Thread, charlie: User) -> None:
    assert list_conversations(person(charlie), ConversationFilter()).rows == ()
