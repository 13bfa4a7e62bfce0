"""A memory's page: its actions, its origin in one sentence, its story; titles and numbers in words."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.errors import LociError, NotPermitted
from access.groups.members import set_member
from access.models import Group
from access.tokens import operator
from memories.admin.memory_page import number_words
from memories.lifecycle import verbs
from memories.lifecycle.verbs import VERBS
from memories.models import Memory
from tests.loci_site.admin.conftest import Remember, browser_of, page
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def actions(client: Client, address: str) -> tuple[list[str], list[str]]:
    """Labels of the actions shown at once, and of those in the menu."""
    body = client.get(address).content.decode()
    whole = re.search(r'<div class="loci-actions">(.*?)</div>', body, re.DOTALL)
    shown, _, menu = (whole[1] if whole else "").partition('<details class="loci-more-verbs">')
    return re.findall(r"</span>([^<]+)</a>", shown), re.findall(r"<b>([^<]+)</b>", menu)


ASK, REPLACE = "Would a question find it?", "Replace by a new memory"


def test_three_actions_are_shown_and_the_rest_are_in_a_menu(owner: Client, remember: Remember) -> None:
    live = remember("The port is 8443.")
    assert actions(owner, page(live)) == (
        ["Correct", "Flag", "Verify"],
        [ASK, REPLACE, "Reject", "Quarantine", "Pin", "Merge into another", "Replace by another",
         "Move to another group", "Forget", "Retract", "Purge"],
    )  # fmt: skip
    doubted = remember("The port is 9443.")
    type(live).objects.filter(pk=doubted.pk).update(trust="candidate")
    assert actions(owner, page(doubted))[0] == ["Correct", "Approve"]
    type(live).objects.filter(pk=live.pk).update(state="forgotten")
    assert actions(owner, page(live)) == (["Restore"], [ASK, "Retract", "Purge"])


@pytest.mark.parametrize("role", ["viewer", "contributor", "curator", "admin"])
@pytest.mark.parametrize(
    "of", [{}, {"trust": "candidate"}, {"pinned": True}, {"state": "forgotten"}, {"trust": "quarantined"}]
)
def test_each_role_is_offered_what_it_may_do_and_nothing_else(
    bob: User, ledger: Group, remember: Remember, role: str, of: dict[str, Any]
) -> None:
    """The buttons against the services: what is offered passes a dry run, what is not is refused or does not fit."""
    set_member(operator(), ledger, user=bob, role=role)
    memory, other = remember("The port is 8443."), remember("Quite another sentence about boats.")
    Memory.objects.filter(pk=memory.pk).update(**of)
    memory.refresh_from_db()
    client, actor = browser_of(bob), person(bob)
    shown, menu = actions(client, page(memory))
    body = client.get(page(memory)).content.decode()
    for verb in VERBS.values():
        is_offered = f"/{memory.id}/{verb.name}/" in body
        second = "garden" if verb.button.takes_group else str(other.id)
        try:
            verb.apply(actor, memory.id, other=second if verb.other else "", reason="why", dry_run=True)
            may = True
        except NotPermitted:
            may = verb.name == "move"  # refused by the other group, where one may not curate either
        except LociError:
            may = verb.button.fits(memory)
        expected = may and verb.button.fits(memory) and actor.may(verb.people_right or verb.right, ledger.key)
        assert is_offered == expected, (verb.name, role, of)
    is_writer = role != "viewer" and memory.state == "live"
    assert ("Correct" in shown, REPLACE in menu) == (is_writer, is_writer)
    assert client.get(page(memory, "edit")).status_code == (403 if role == "viewer" else 200)
    assert ("You may read this, but not change it." in body) == (role == "viewer")


def test_a_title_is_the_beginning_of_the_text_unless_it_is_quarantined(
    owner: Client, remember: Remember
) -> None:
    memory = remember("The port is 8443.")
    assert "<title> The port is 8443. | Loci" in " ".join(owner.get(page(memory)).content.decode().split())
    type(memory).objects.filter(pk=memory.pk).update(trust="quarantined")
    assert "<title> Memory | Loci" in " ".join(owner.get(page(memory)).content.decode().split())


def test_numbers_have_names_in_words_and_ranks_are_whole() -> None:
    numbers = {"keyword": 9.0291, "keyword_rank": 1.0, "meaning": 0.9, "neighbours": 0.006, "final": 1.01}
    assert number_words(numbers) == [
        ("score", "1.010"), ("match of words", "9.029"), ("place by words", "1"),
        ("for its meaning", "0.900"), ("for what was stored next to it", "0.006"),
    ]  # fmt: skip


def test_the_page_draws_the_story_on_one_line_of_time(
    owner: Client, remember: Remember, alice: User, bob: User
) -> None:
    memory = remember("The port is 8443.", confidence=0.6)
    verbs.dispute(person(bob), memory.id, reason="it moved")
    verbs.verify(person(alice), memory.id)
    shown = owner.get(page(memory)).content.decode()
    assert f"Confidence over time: 0.60 on {memory.created_at:%Y-%m-%d}, 0.60 today" in shown
    told = "\n".join(re.findall(r'<circle class="memory-is-\w+".*?<title>(.*?)</title>', shown, re.DOTALL))
    assert [line.split(" ", 2)[2] for line in told.split("\n")] == [
        "store: alice",
        "dispute: bob",
        "verify: alice",
    ]
    assert "does not decay: verified" in shown
    other = owner.get(page(remember("Quite another sentence about boats.", confidence=0.6))).content.decode()
    assert re.search(r"below 0\.05 about \d{4}-\d\d-\d\d, unless recalled", other)


def test_one_sentence_says_where_it_comes_from_and_what_is_not_set_is_not_shown(
    owner: Client, remember: Remember, alice: User, bob: User
) -> None:
    memory = remember("The port is 8443.")
    body = owner.get(page(memory)).content.decode()
    sentence = re.sub(r"<[^>]*>", "", re.search(r'<p class="memory-origin">(.*?)</p>', body, re.DOTALL)[1])  # type: ignore[index]
    assert sentence == "alice stored it just now in ledger; recall returns it because it is live and active."
    assert "—" not in re.sub(r"<[^>]*>", "", body.split('id="content"')[1])
    verbs.verify(person(alice), memory.id)
    verbs.dispute(person(bob), memory.id, reason="it <moved>")
    body = owner.get(page(memory)).content.decode()
    assert "; verified by alice; bob doubts it: “it &lt;moved&gt;”; recall returns it" in body
