"""The actions on a memory's page: three at once, the rest in a menu; titles and numbers in words."""

import re

import pytest
from django.test import Client

from memories.admin.memory_page import number_words
from tests.loci_site.admin.conftest import Remember, page

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def actions(client: Client, address: str) -> tuple[list[str], list[str]]:
    """Labels of the actions shown at once, and of those in the menu."""
    shown, menu = re.search(
        r'<div class="loci-actions">(.*?)<details class="loci-more-verbs">(.*?)</details>',
        client.get(address).content.decode(),
        re.DOTALL,
    ).groups()  # type: ignore[union-attr]
    return re.findall(r"</span>([^<]+)</a>", shown), re.findall(r"<b>([^<]+)</b>", menu)


def test_three_actions_are_shown_and_the_rest_are_in_a_menu(owner: Client, remember: Remember) -> None:
    live = remember("The port is 8443.")
    assert actions(owner, page(live)) == (
        ["Edit", "Replace by a new memory", "Retract"],
        [
            "Verify",
            "Reject",
            "Quarantine",
            "Dispute",
            "Pin",
            "Merge into another",
            "Replace by another",
            "Move to another group",
            "Forget",
            "Purge",
        ],
    )
    doubted = remember("The port is 9443.")
    type(live).objects.filter(pk=doubted.pk).update(trust="candidate")
    assert actions(owner, page(doubted))[0][-1] == "Approve"
    type(live).objects.filter(pk=live.pk).update(state="forgotten")
    assert actions(owner, page(live)) == (["Restore", "Retract"], ["Purge"])


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


def test_the_page_draws_the_confidence_over_time(owner: Client, remember: Remember) -> None:
    memory = remember("The port is 8443.", confidence=0.6)
    shown = owner.get(page(memory)).content.decode()
    picture = re.search(r'<svg viewBox="0 0 240 48".*?</svg>', shown, re.DOTALL)
    assert picture is not None
    assert f'<desc id="curve-desc">0.60 on {memory.created_at:%Y-%m-%d}, 0.60 today</desc>' in picture[0]
    assert "below 0.05, unless recalled" in shown
    type(memory).objects.filter(pk=memory.pk).update(trust="verified", pinned=True)
    assert "<dt>Does not decay</dt><dd>pinned · verified</dd>" in owner.get(page(memory)).content.decode()
