"""The dashboard counts what the Review shows: proposals too, and no links to withdrawn texts and candidates."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memories.lifecycle import verbs
from memories.models import Link, Memory
from memories.review.queue import CardKind, review_deck
from memories.review.stats import memory_stats
from tests.loci_site.admin.conftest import Remember
from tests.people import agent, person

pytestmark = pytest.mark.django_db


def needs(client: Client, url: str = "/admin/") -> dict[str, int]:
    return {need.label: need.value for need in client.get(url).context["needs"]}


@pytest.fixture
def links(remember: Remember) -> None:
    """One conflict and one duplicate between memories that count, and others that the deck leaves out."""
    first, second, waiting, gone = (remember(f"fact {name}") for name in ("one", "two", "three", "four"))
    Memory.objects.filter(pk=waiting.pk).update(trust="candidate")
    Memory.objects.filter(pk=gone.pk).update(state="retracted")
    for kind in ("conflict", "duplicate"):
        for source, target in ((second, first), (waiting, first), (gone, second)):
            Link.objects.create(kind=kind, source=source, target=target)


@pytest.mark.usefixtures("links")
def test_the_dashboard_counts_what_the_deck_counts(owner: Client, member: Client, alice: User) -> None:
    deck = review_deck(person(alice))
    assert {kind.value: deck.counts[kind].value for kind in (CardKind.CONFLICT, CardKind.DUPLICATE)} == {
        "conflict": 1,
        "duplicate": 1,
    }
    for client in (owner, member):
        found = needs(client)
        assert (found["open conflicts"], found["possible duplicates"]) == (1, 1)
    assert "open conflicts" not in needs(owner, "/admin/?group=garden")
    [waits] = [
        tab.count
        for tab in owner.get(reverse("admin:explore_group", args=["ledger"])).context["group_tabs"]
        if tab.count
    ]
    assert waits == str(review_deck(person(alice), group="ledger").total)
    stats = memory_stats(person(alice), group="ledger")
    assert (stats.conflicts, stats.duplicates) == (1, 1)


def test_the_dashboard_counts_the_proposals_that_wait(
    owner: Client, member: Client, stranger: Client, alice: User, bob: User, remember: Remember
) -> None:
    memory = remember("the port is 8082")
    verbs.verify(person(alice), memory.id)
    verbs.forget(agent(bob), memory.id)
    for client in (owner, member):
        assert needs(client)["proposed changes"] == 1
        [need] = [n for n in client.get("/admin/").context["needs"] if n.label == "proposed changes"]
        assert need.text == "proposed change"
        assert client.get(need.link).context["deck"].filtered.value == 1
    assert "proposed changes" not in needs(stranger)
    assert "proposed changes" not in needs(owner, "/admin/?group=garden")
    verbs.forget(person(alice), memory.id)  # the proposal is stale
    assert "proposed changes" not in needs(owner)
