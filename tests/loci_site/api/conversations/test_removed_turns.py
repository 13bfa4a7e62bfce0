"""What a browser has to delete is told to it, each time and as a whole, and nothing purged comes back with later calls."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.audit.verify import verify_log
from access.errors import Conflict, NotFound
from access.tokens import operator
from memories.lifecycle.verbs import purge
from memories.models import Checkpoint, Memory, Thread
from memories.sessions.conversations.change import bring_back, delete
from memories.sessions.conversations.change import purge as purge_conversation
from sources.captures.removed import MAX_ROWS
from sources.models import CapturedTurn
from tests.loci_site.api.conversations.conftest import TURNS, Browser, conversation
from tests.people import make_token, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def remove_turns(user: User, count: int, *, seconds_ago: int = 0) -> None:
    """Turns that one deletion removed."""
    at = timezone.now() - timedelta(seconds=seconds_ago)
    CapturedTurn.objects.bulk_create(
        CapturedTurn(
            user=user, platform="claude.ai", conversation=f"c-{seconds_ago}", turn=f"t{number}", memory_id=uuid4(), removed_at=at
        )
        for number in range(count)
    )  # fmt: skip


def removed(browser: Browser, since: str | None = None) -> list[str]:
    return [each["turn"] for each in browser.ask("/captures/removed", {"since": since})["items"]]


def test_a_long_conversation_that_is_deleted_at_once_is_told_as_a_whole(browser: Browser, bob: User) -> None:
    remove_turns(bob, 5, seconds_ago=60)
    remove_turns(bob, MAX_ROWS + 300)
    seen, answer = 0, {"until": None, "more": True}
    while answer["more"]:
        answer = browser.ask("/captures/removed", {"since": answer["until"]})
        seen += len(answer["items"])
    assert seen == MAX_ROWS + 305
    assert removed(browser, answer["until"]) == []


def test_a_deletion_that_is_written_during_a_call_is_part_of_the_next_answer(
    browser: Browser, bob: User
) -> None:
    until = browser.ask("/captures/removed", {"since": None})["until"]
    remove_turns(bob, 1, seconds_ago=2)
    assert removed(browser, until) == ["t0"]


def test_a_conversation_that_is_deleted_again_is_told_again(browser: Browser, bob: User) -> None:
    browser.keep(*TURNS)
    thread = Thread.objects.get(name="claude.ai/c-1")
    delete(person(bob), thread.id)
    until = browser.ask("/captures/removed", {"since": None})["until"]
    bring_back(person(bob), thread.id)
    assert removed(browser) == []
    delete(person(bob), thread.id)
    assert removed(browser, until) == ["m1", "m2"]


def test_a_turn_that_is_kept_anew_after_a_purge_is_told_when_it_is_purged_again(browser: Browser) -> None:
    browser.keep(*TURNS)
    purge(operator(), Memory.objects.get(content__startswith="Assistant").id)
    browser.keep(("m2", "assistant", "Copper has far more room than that, and a second disk."))
    assert removed(browser) == []
    again = Memory.objects.get(content__startswith="Assistant")
    purge(operator(), again.id)
    assert removed(browser) == ["m2"]


def test_a_title_of_a_purged_turn_s_words_goes_and_stays_away(browser: Browser) -> None:
    browser.keep(*TURNS, title=TURNS[0][2])
    purge(operator(), Memory.objects.get(content__startswith="User").id)
    assert Thread.objects.get().title == "[purged]"
    browser.keep(TURNS[1], title=TURNS[0][2])  # the site still calls it so
    assert Thread.objects.get().title == "[purged]"


def test_an_address_with_a_secret_is_not_kept(browser: Browser) -> None:
    key = "AKIA" + "QYLPMN5HHHFPZAM2"
    browser.keep(*TURNS, url=f"https://claude.ai/chat/c-1?key={key}")
    assert Thread.objects.get().url == ""
    assert browser.keep(*TURNS)["turns"][0]["outcome"] == "unchanged"
    assert Thread.objects.get().url == "https://claude.ai/chat/c-1"


def test_an_address_that_is_none_is_refused_by_name(browser: Browser) -> None:
    sent = conversation(*TURNS, url="https://[claude.ai/chat/c-1")
    status, said = browser.post("/captures", {"conversations": [sent]})
    assert (status, said["field"]) == (422, "url")
    assert not Memory.objects.exists()


def curating(user: User, path: str) -> Any:
    """What a token that may curate gets for a DELETE."""
    secret = make_token(user, name="curating", scopes=("read", "write", "curate"))[1]
    answer = Client(headers={"Authorization": f"Bearer {secret}"}).delete(f"/api{path}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_conversation_is_purged_as_a_whole(browser: Browser, bob: User) -> None:
    browser.keep(*TURNS)
    thread = Thread.objects.get(name="claude.ai/c-1")
    Checkpoint.objects.create(group=thread.group, thread=thread, state={"goal": TURNS[0][2]})
    path = f"/conversations/{thread.id}?verb=purge"

    preview = curating(bob, f"{path}&dry_run=true")
    assert (preview["memories"], preview["dry_run"], "certificate" in preview) == (2, True, False)
    assert preview["consequences"][0].startswith("2 turns")
    assert "1 checkpoint: destroyed" in preview["consequences"]
    assert Memory.objects.filter(thread=thread).count() == 2

    purged = curating(bob, path)
    assert purged["certificate"]["memories"] == 2
    assert not Memory.objects.filter(thread=thread).exists()
    assert not Checkpoint.objects.exists()
    thread.refresh_from_db()
    assert (thread.title, thread.url, thread.tags) == ("", "", [])
    assert removed(browser) == ["m1", "m2"]
    # Nothing comes back: not with the browser's next call, nor by undoing a deletion.
    assert {each["outcome"] for each in browser.keep(*TURNS, title="Mail")["turns"]} == {"refused"}
    assert Thread.objects.get().title == ""
    with pytest.raises(Conflict, match="purged"):
        bring_back(person(bob), thread.id)
    assert all(chain.is_whole for chain in verify_log())


def test_a_deleted_conversation_can_be_purged_by_those_who_curate(browser: Browser, bob: User) -> None:
    browser.keep(*TURNS)
    thread = Thread.objects.get(name="claude.ai/c-1")
    delete(person(bob), thread.id)
    with pytest.raises(NotFound):
        purge_conversation(person(User.objects.create_user("eve")), thread.id)
    assert purge_conversation(person(bob), thread.id).memories == 2
    assert not Memory.objects.exists()
