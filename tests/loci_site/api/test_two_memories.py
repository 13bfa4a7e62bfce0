"""Merging, superseding and retracting with a successor over REST: rights, answers, refusals."""

import pytest
from django.contrib.auth.models import User

from access.models import Group, Membership
from memories.models import Memory
from tests.loci_site.admin.conftest import browser_of
from tests.loci_site.api.conftest import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.model]
ONE, TWO = "The office is in Berlin.", "Our office stands in Kreuzberg."


class Browser(Caller):
    """A logged-in person: the session replaces a token."""

    def __init__(self, user: User) -> None:
        super().__init__()
        self.client = browser_of(user)


@pytest.fixture
def two(owner: Caller) -> tuple[str, str]:
    """The ids of two memories."""
    return owner.store(ONE)["id"], owner.store(TWO)["id"]


def test_a_person_merges_two_and_takes_them_apart(alice: User, ledger: Group, two: tuple[str, str]) -> None:
    one, other = two
    browser = Browser(alice)
    would = browser.post(f"/memories/{one}/merge", {"into": other, "dry_run": True})
    assert (would["state"], would["changed"], would["dry_run"]) == ("merged", 0, True)
    done = browser.post(
        f"/memories/{one}/merge", {"into": other, "content": "We sit in Kreuzberg.", "reason": "x"}
    )
    assert (done["verb"], done["id"], done["state"], done["changed"]) == ("merge", one, "merged", 2)
    assert browser.get(f"/memories/{one}")["head"] == done["successor"]
    assert browser.get(f"/memories/{done['successor']}")["content"] == "We sit in Kreuzberg."
    restored = browser.post(f"/memories/{one}/restore", {})
    assert restored["state"] == "live"
    head = browser.get(f"/memories/{other}")["head"]
    assert browser.get(f"/memories/{head}")["content"] == TWO


def test_a_memory_takes_anothers_place(owner: Caller, two: tuple[str, str]) -> None:
    one, other = two
    done = owner.post(f"/memories/{one}/supersede", {"by": other})
    assert (done["state"], done["successor"]) == ("superseded", other)
    again = owner.post(f"/memories/{other}/supersede", {"by": one}, status=409)
    assert (again["code"], again["field"]) == ("conflict", "by")


def test_what_is_right_stands_in_a_retracted_ones_place(owner: Caller, two: tuple[str, str]) -> None:
    done = owner.post(f"/memories/{two[0]}/retract", {"successor": "The office is in Hamburg."})
    assert done["state"] == "retracted"
    assert owner.get(f"/memories/{two[0]}")["head"] == done["successor"]
    found = owner.post("/recall", {"ids": [two[0]]})["results"]
    assert [item["content"] for item in found] == ["The office is in Hamburg."]
    plain = owner.post(f"/memories/{two[1]}/retract", {})
    assert "successor" not in plain


def test_a_token_only_proposes_a_merge_and_a_contributor_may_not_merge(
    owner: Caller, member: Caller, bob: User, ledger: Group, two: tuple[str, str]
) -> None:
    for caller in (owner, member):
        assert caller.post(f"/memories/{two[0]}/merge", {"into": two[1]}, status=202)["outcome"] == "queued"
    refused = Browser(bob).post(f"/memories/{two[0]}/merge", {"into": two[1]}, status=403)
    assert refused["code"] == "not_permitted"
    assert set(Memory.objects.values_list("state", flat=True)) == {"live"}
    Membership.objects.filter(user=bob).update(role="curator")
    assert Browser(bob).post(f"/memories/{two[0]}/merge", {"into": two[1]})["state"] == "merged"


def test_a_stranger_does_not_learn_that_they_are_there(stranger: Caller, two: tuple[str, str]) -> None:
    for verb, body in (("supersede", {"by": two[1]}), ("retract", {"successor": "x"})):
        assert stranger.post(f"/memories/{two[0]}/{verb}", body, status=404)["code"] == "not_found"
    assert set(Memory.objects.values_list("state", flat=True)) == {"live"}


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("merge", {}, "into"),
        ("merge", {"into": "nonsense"}, "into"),
        ("supersede", {"by": 7}, "by"),
        ("supersede", {"by": "nonsense"}, "by"),
        ("retract", {"successor": ONE}, "successor"),
        ("retract", {"succesor": "x"}, "succesor"),
    ],
)
def test_what_is_wrong_is_named(
    alice: User, two: tuple[str, str], verb: str, body: dict[str, object], field: str
) -> None:
    error = Browser(alice).post(f"/memories/{two[0]}/{verb}", body, status=422)
    assert error["field"] == field
    assert set(Memory.objects.values_list("state", flat=True)) == {"live"}
