"""Saved filters of the memory list: private to each person, and never wider than their rights."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from access import saved_filters as service
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry, SavedFilter
from access.saved_filters import delete_filter, save_filter, saved_filters
from access.tokens import operator
from memories.lifecycle.verbs import purge
from tests.loci_site.admin.conftest import Remember
from tests.people import agent, person

pytestmark = pytest.mark.django_db
LIST = "/admin/memories/memory/"
SAVE = f"{LIST}filters/save/"
MEMORIES = "memories.memory"
FACTS = [("type__exact", "semantic")]


def body_of(client: Client, address: str = LIST) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def save(client: Client, name: str, query: str) -> str:
    """Save a filter in the browser; the message that follows."""
    answer = client.post(SAVE, {"name": name, "query": query}, follow=True)
    assert answer.status_code == 200
    return " ".join(str(message) for message in answer.context["messages"])


def test_a_filter_is_saved_shown_above_the_list_and_deleted(owner: Client, remember: Remember) -> None:
    remember("A fact.")
    remember("A way.", type="procedural")
    assert "Save this filter" not in body_of(owner)
    narrowed = body_of(owner, f"{LIST}?type__exact=procedural")
    assert "Save this filter" in narrowed
    assert "Saved as “Ways of ours”" in save(owner, " Ways  of ours ", "type__exact=procedural&p=3")
    here = body_of(owner, f"{LIST}?type__exact=procedural")
    assert "Save this filter" not in here  # it is saved already
    assert 'aria-current="page">Ways of ours</a>' in here
    assert f'<a href="{LIST}?type__exact=procedural">Ways of ours</a>' in body_of(owner)
    saved = SavedFilter.objects.get()
    assert (saved.name, saved.list_name, saved.asked) == (
        "Ways of ours",
        MEMORIES,
        [["type__exact", "procedural"]],
    )
    gone = owner.post(f"{LIST}filters/{saved.id}/delete/", follow=True)
    assert "is deleted" in str(next(iter(gone.context["messages"])))
    assert "Ways of ours" not in body_of(owner)


def test_a_filter_is_known_again_whatever_the_order_of_the_address(owner: Client, remember: Remember) -> None:
    save(owner, "Facts of ledger", "type__exact=semantic&group=ledger")
    assert 'aria-current="page">Facts of ledger' in body_of(
        owner, f"{LIST}?group=ledger&type__exact=semantic"
    )
    assert (
        "aria-current"
        not in body_of(owner, f"{LIST}?group=ledger").split('aria-label="Saved filters"')[1][:900]
    )


def test_the_same_name_takes_the_new_filter(owner: Client, db: None) -> None:
    save(owner, "Mine", "type__exact=semantic")
    assert "It replaces the one of that name" in save(owner, "Mine", "type__exact=entity")
    assert SavedFilter.objects.get().asked == [["type__exact", "entity"]]


@pytest.mark.parametrize(
    ("name", "query", "said"),
    [
        ("", "type__exact=semantic", "has no name"),
        ("x" * 61, "type__exact=semantic", "longer than 60"),
        ("Mine", "", "not filtered"),
        ("Mine", "p=2", "not filtered"),
        ("Mine", "pinned__exact=maybe", "no such filter"),
        ("Mine", "group__members=1", "no such filter"),
        ("Mine", f"q={'x' * 501}", "too long"),
    ],
)
def test_what_is_no_filter_is_not_saved(owner: Client, db: None, name: str, query: str, said: str) -> None:
    assert said in save(owner, name, query)
    assert not SavedFilter.objects.exists()
    assert not AuditEntry.objects.filter(operation="filter").exists()


def test_filters_are_private_to_the_person(member: Client, owner: Client, alice: User, bob: User) -> None:
    save(owner, "Alice's own", "group=ledger")
    saved = SavedFilter.objects.get()
    assert "Alice" not in body_of(member).split("<main")[-1]
    assert saved_filters(person(bob), MEMORIES) == []
    address = f"{LIST}filters/{saved.id}/delete/"
    assert member.post(address).status_code == 404
    assert member.get(address).status_code == 404
    with pytest.raises(NotFound):
        delete_filter(person(bob), saved.id)
    assert SavedFilter.objects.filter(pk=saved.pk).exists()
    assert owner.get(address).status_code == 405
    assert owner.post(f"{LIST}filters/nothing/delete/").status_code == 404


def test_a_saved_filter_shows_no_more_than_one_may_see_now(
    member: Client, bob: User, remember: Remember
) -> None:
    remember("Ours.")
    remember("Theirs.", group="garden")
    save(member, "All that is live", "state__exact=live")
    assert "Ours." in body_of(member, f"{LIST}?state__exact=live")
    assert "Theirs." not in body_of(member, f"{LIST}?state__exact=live")
    bob.memberships.all().delete()
    assert "Ours." not in body_of(member, f"{LIST}?state__exact=live")


def test_agents_and_operators_keep_none(alice: User) -> None:
    for actor in (agent(alice), operator()):
        with pytest.raises(NotPermitted):
            save_filter(actor, list_name=MEMORIES, name="Mine", values=FACTS)
        assert saved_filters(actor, MEMORIES) == []


def test_no_more_than_a_number_are_kept(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_PER_LIST", 2)
    for name in ("one", "two"):
        save_filter(person(alice), list_name=MEMORIES, name=name, values=FACTS)
    with pytest.raises(Conflict, match="2 filters"):
        save_filter(person(alice), list_name=MEMORIES, name="three", values=FACTS)
    assert save_filter(person(alice), list_name=MEMORIES, name="two", values=[("q", "x")]).is_replaced
    with pytest.raises(InvalidInput):
        save_filter(person(alice), list_name=MEMORIES, name="bro\ud800ken", values=FACTS)


def test_saving_and_deleting_is_logged_without_the_words_searched_for(owner: Client, db: None) -> None:
    save(owner, "Pears", "q=secret+pear&state__exact=live")
    owner.post(f"{LIST}filters/{SavedFilter.objects.get().id}/delete/")
    rows = AuditEntry.objects.filter(operation="filter").order_by("key").select_related("payload_row")
    assert [(row.actor, row.payload_row.payload["action"]) for row in rows] == [
        ("alice", "save"),
        ("alice", "delete"),
    ]
    assert rows[0].payload_row.payload["filters"] == [["state__exact", "live"]]
    assert "secret" not in str([row.payload_row.payload for row in rows])


def test_a_purge_reaches_the_filters_that_hold_the_text(alice: User, remember: Remember) -> None:
    doomed = remember("the code is 4711")
    for name, words in (("one", "the code is 4711"), ("two", "the code"), ("the code is 4711", "x")):
        save_filter(person(alice), list_name=MEMORIES, name=name, values=[("q", words)])
    purge(person(alice), doomed.id, reason="a secret")
    assert [kept.name for kept in saved_filters(person(alice), MEMORIES)] == ["two"]


def test_the_list_costs_one_query_more_however_many_filters_are_kept(owner: Client, alice: User) -> None:
    body_of(owner)
    counts = []
    for number in range(3):
        with CaptureQueriesContext(connection) as seen:
            body_of(owner)
        counts.append(len(seen))
        for each in range(5):
            save_filter(person(alice), list_name=MEMORIES, name=f"{number} {each}", values=FACTS)
    assert len(set(counts)) == 1
