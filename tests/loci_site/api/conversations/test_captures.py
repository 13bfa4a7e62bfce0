"""What a browser sends is kept once, in a private group of its person, and found again by the panel."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.actor import CAPTURE
from access.models import Group, Membership
from access.tokens import operator
from memories.draft import Draft
from memories.lifecycle.verbs import purge, retract
from memories.models import Memory, Thread
from memories.store import store
from memories.store.places import PurgedTexts
from sources.captures.inbox import make_inbox
from sources.captures.keep import MAX_TURNS
from sources.captures.removed import BrowserCopies
from tests.guard.samples import secret_samples
from tests.loci_site.api.conversations.conftest import TURNS, Browser, conversation, pair_browser
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def outcomes(kept: dict[str, Any]) -> list[str]:
    return [turn["outcome"] for turn in kept["turns"]]


def test_a_conversation_is_kept_once_in_a_private_group(browser: Browser, bob: User) -> None:
    kept = browser.keep(*TURNS)
    assert (kept["thread"], kept["group"]) == ("claude.ai/c-1", "bob-conversations")
    assert outcomes(kept) == ["created", "created"]
    assert outcomes(browser.keep(*TURNS)) == ["unchanged", "unchanged"]
    thread = Thread.objects.get(name="claude.ai/c-1")
    assert (thread.title, thread.platform) == ("Moving the mail server", "claude.ai")
    assert (thread.url, thread.owner) == ("https://claude.ai/chat/c-1", bob)
    group = Group.objects.get(slug="bob-conversations")
    assert group.private
    assert [member.user for member in Membership.objects.filter(group=group)] == [bob]
    first, second = Memory.objects.filter(thread=thread).order_by("position")
    assert (first.content, first.type) == (f"User: {TURNS[0][2]}", "episodic")
    assert (second.metadata, second.source, second.outside) == (
        {"speaker": "Assistant"},
        "browser:claude.ai",
        True,
    )
    assert f"{second.valid_from:%Y-%m-%d %H:%M}" == "2026-03-01 10:01"


@pytest.mark.parametrize("withdraw", [purge, retract])
@pytest.mark.parametrize("form", ["{}", "Note: {}"])
def test_a_title_that_says_a_withdrawn_text_is_left_out(
    browser: Browser, form: str, withdraw: Callable[..., object]
) -> None:
    browser.keep(*TURNS, title="Mail")
    text = "Copper has no room for the mail server."
    told = store(operator(), Draft(text, group="bob-conversations", scope="group")).memory
    assert told is not None
    withdraw(operator(), told.id)
    more = ("m3", "user", "Which day is the move?")
    assert outcomes(browser.keep(*TURNS, more, title=form.format(text)))[-1] == "created"
    assert Thread.objects.get().title == "Mail"


def test_an_edited_message_is_a_new_version(browser: Browser) -> None:
    browser.keep(*TURNS)
    edited = (TURNS[0], ("m2", "assistant", "Copper has the room: move the mail server to copper."))
    assert outcomes(browser.keep(*edited)) == ["unchanged", "changed"]
    assert outcomes(browser.keep(*edited)) == ["unchanged", "unchanged"]
    old, new = Memory.objects.filter(content__startswith="Assistant").order_by("key")
    assert (old.state, old.superseded_by) == ("superseded", new)
    assert new.position == old.position


def test_a_turn_with_a_secret_is_refused_alone(browser: Browser) -> None:
    secret = ("m3", "user", "My key is AKIA" + "QYLPMN5HHHFPZAM2, keep it.")
    kept = browser.keep(*TURNS, secret)
    assert outcomes(kept)[:2] == ["created", "created"]
    text = " ".join(Memory.objects.values_list("content", flat=True))
    assert "QYLPMN5HHHFPZAM2" not in text
    assert kept["turns"][2]["outcome"] in ("refused", "created", "queued")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"platform": "Claude AI"}, "platform"),
        ({"platform": ""}, "platform"),
        ({"id": "../x"}, "id"),
        ({"url": "javascript:alert(1)"}, "url"),
        ({"url": "https://evil.example/c-1"}, "url"),
        ({"turns": [{"id": "a b", "role": "user", "text": "x"}]}, "turns"),
        ({"turns": [{"id": "a", "role": "tool", "text": "x"}]}, "conversations"),
        (
            {"turns": [{"id": str(n), "role": "user", "text": "x"} for n in range(MAX_TURNS + 1)]},
            "conversations",
        ),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    browser: Browser, changed: dict[str, Any], field: str
) -> None:
    good = conversation(*TURNS, id="good")
    status, said = browser.post("/captures", {"conversations": [good, conversation(*TURNS) | changed]})
    assert (status, said["field"]) == (422, field)
    assert not Memory.objects.exists()


def test_two_people_s_captures_of_one_conversation_stay_apart(browser: Browser, charlie: User) -> None:
    browser.keep(*TURNS)
    other = pair_browser(charlie)
    assert other.keep(*TURNS)["group"] == "charlie-conversations"
    assert other.ask("/captures/search", {"query": "brass", "group": None})["items"][0]["group"] == (
        "charlie-conversations"
    )
    assert other.post("/captures/search", {"query": "brass", "group": "bob-conversations"})[0] == 404


def test_the_panel_finds_conversations_and_memories(browser: Browser, ledger: Group) -> None:
    browser.keep(*TURNS)
    browser.keep(
        ("x1", "user", "Who mends the boiler?"), platform="chatgpt.com", id="g-1", url="", title="Boiler"
    )
    store(operator(), Draft("The mail server has two disks.", group="ledger", scope="group"))
    found = browser.ask("/captures/search", {"query": "mail serv"})["items"]
    assert {item["kind"] for item in found} == {"conversation", "turn", "memory"}
    assert found[0]["kind"] == "conversation"
    [titled] = [item for item in found if item["kind"] == "conversation"]
    assert (titled["title"], titled["platform"], titled["date"]) == (
        "Moving the mail server", "claude.ai", "2026-03-01",
    )  # fmt: skip
    at, to = titled["marks"][0]
    assert titled["excerpt"][at:to] == "mail"
    only = browser.ask("/captures/search", {"query": "boiler", "platform": "claude.ai"})["items"]
    assert only == []
    [turn] = browser.ask("/captures/search", {"query": "boiler mends", "platform": "chatgpt.com"})["items"]
    assert (turn["kind"], turn["platform"]) == ("turn", "chatgpt.com")
    late = browser.ask(
        "/captures/search", {"query": "mail", "after": "2026-04-01T00:00:00Z", "platform": "claude.ai"}
    )
    assert late["items"] == []


def test_what_the_team_knows_leaves_the_open_conversation_out(browser: Browser, ledger: Group) -> None:
    browser.keep(*TURNS)
    store(operator(), Draft("The mail server runs on the host brass.", group="ledger", scope="group"))
    open_now = {"platform": "claude.ai", "id": "c-1", "title": "Moving the mail server"}
    found = browser.ask(
        "/captures/related", {"conversation": open_now, "text": "Where does the mail server run?"}
    )["items"]
    assert [item["excerpt"] for item in found] == ["The mail server runs on the host brass."]


def test_a_selection_becomes_one_fact(browser: Browser) -> None:
    browser.keep(*TURNS)
    place = {"platform": "claude.ai", "id": "c-1", "url": "https://claude.ai/chat/c-1"}
    status, said = browser.post("/captures/remember", {"conversation": place, "text": "Brass has the room."})
    assert (status, said["outcome"]) == (201, "created")
    fact = Memory.objects.get(type="semantic")
    assert (fact.group.slug, fact.scope, fact.outside) == ("bob-conversations", "group", True)
    assert fact.metadata["conversation"] == "claude.ai/c-1"


def test_purged_turns_are_told_to_the_browser(browser: Browser) -> None:
    browser.keep(*TURNS)
    before = browser.ask("/captures/removed", {})
    assert (before["items"], before["more"]) == ([], False)
    doomed = Memory.objects.get(content__startswith="Assistant")
    purge(operator(), doomed.id)
    [told] = BrowserCopies().find(PurgedTexts((), (), (doomed.id,)))  # part of a certificate after the commit
    assert "1 paired browser may hold a copy" in told
    assert BrowserCopies().find(PurgedTexts((), ())) == ()
    after = browser.ask("/captures/removed", {"since": before["until"]})
    assert [(row["conversation"], row["turn"]) for row in after["items"]] == [("c-1", "m2")]
    assert browser.ask("/captures/removed", {"since": after["until"]})["items"] == []
    assert outcomes(browser.keep(*TURNS)) == ["unchanged", "refused"]  # it may not come back


def test_a_first_capture_uses_the_group_that_another_has_just_made(browser: Browser, bob: User) -> None:
    before = person(bob)  # its rights were read before the group was made
    browser.keep(*TURNS)
    actor = replace(before, scopes=before.scopes | {CAPTURE})
    group = make_inbox(actor, bob)
    assert group.slug == "bob-conversations"
    assert actor.roles[group.key] == "admin"
    assert Group.objects.filter(slug__startswith="bob-conv").count() == 1


def test_an_id_with_a_secret_is_refused(browser: Browser) -> None:
    token = secret_samples()["github-token"]
    for sent in (conversation(*TURNS, id=token), conversation((token, *TURNS[0][1:]))):
        status, body = browser.post("/captures", {"conversations": [sent]})
        assert (status, body["code"]) == (422, "sensitive_text")
        assert token not in str(body)
    assert not Memory.objects.exists()
