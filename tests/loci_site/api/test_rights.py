"""Rights over REST: alice owns everything, bob contributes to one group, charlie belongs to none."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.models import ApiToken, Group, Membership, Role
from access.tokens import operator, revoke_token
from memories.models import Memory
from tests.loci_site.api.conftest import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def test_without_a_token_nothing_is_answered(nobody: Caller) -> None:
    for method, path in [
        ("get", "/memories"),
        ("post", "/memories"),
        ("get", "/log"),
        ("post", "/recall"),
        ("get", "/stats"),
    ]:
        error = nobody.send(method, path, {} if method == "post" else None, status=401)
        assert (error["code"], error["message"]) == ("not_authenticated", "A token is needed.")
        assert "Authorization: Bearer" in error["hint"]


def test_an_unknown_token_is_refused_before_the_body_is_read(nobody: Caller) -> None:
    nobody.secret = "loci_nonsense"
    error = nobody.post("/memories", {"contents": 7}, status=401)
    assert error["message"] == "The token is not known."
    response = nobody.client.get("/api/memories", HTTP_AUTHORIZATION="Bearer loci_nonsense")
    assert response["WWW-Authenticate"] == 'Bearer realm="loci"'


def test_a_revoked_token_says_so(member: Caller) -> None:
    revoke_token(operator(), ApiToken.objects.get())
    assert member.get("/groups", status=401)["message"] == "The token is revoked or has expired."


def test_a_stranger_sees_no_group_and_none_of_its_memories(owner: Caller, stranger: Caller) -> None:
    stored = owner.store("The vault code is in the blue folder.")
    assert stranger.get("/groups") == {"items": []}
    assert stranger.get("/memories?state=all")["items"] == []
    assert stranger.get("/log")["items"] == []
    assert stranger.get(f"/memories/{stored['id']}", status=404)["code"] == "not_found"
    assert stranger.get(f"/memories/{stored['id']}/inspect", status=404)["code"] == "not_found"
    assert stranger.delete(f"/memories/{stored['id']}", status=404)["code"] == "not_found"
    for path in ("/stats?group=ledger", "/log?group=ledger"):
        assert stranger.get(path, status=404)["code"] == "group_not_found"
    assert stranger.get("/recall?query=vault&group=ledger")["note"].startswith(
        "Nothing is stored yet in 'ledger'."
    )
    assert "vault" not in stranger.get("/context?query=vault&group=ledger")["text"]
    stranger.store("I was here.", status=404)
    assert Memory.objects.count() == 1


def test_a_viewer_reads_but_does_not_write(owner: Caller, member: Caller, bob: User) -> None:
    Membership.objects.filter(user=bob).update(role=Role.VIEWER)
    stored = owner.store("The deploy port is 8081.")
    assert member.get(f"/memories/{stored['id']}")["content"] == "The deploy port is 8081."
    error = member.store("The deploy port is 8082.", status=403)
    assert (error["code"], error["message"]) == ("not_permitted", "You may not write in the group 'ledger'.")
    for method, path in [("delete", ""), ("post", "/forget"), ("patch", "")]:
        body = {"content": "x"} if method == "patch" else None
        assert (
            member.send(method, f"/memories/{stored['id']}{path}", body, status=403)["code"]
            == "not_permitted"
        )


def test_a_contributor_does_not_curate_or_administer(owner: Caller, member: Caller) -> None:
    stored = owner.store("The deploy port is 8081.")
    for verb in ("purge", "unpin", "approve", "verify"):
        assert member.post(f"/memories/{stored['id']}/{verb}", status=403)["code"] == "not_permitted"
    assert member.post(f"/memories/{stored['id']}/pin", status=202)["outcome"] == "queued"  # it only asks
    assert member.patch("/groups/ledger", {"title": "Mine"}, status=403)["code"] == "not_permitted"
    assert member.post("/groups", {"slug": "mine"}, status=403)["message"] == "You may not create groups."


def test_a_tokens_scopes_narrow_what_its_owner_may(
    alice: User, owner: Caller, caller: Callable[..., Caller]
) -> None:
    stored = owner.store("The deploy port is 8081.")
    reader = caller(alice, scopes=["read"])
    assert reader.get(f"/memories/{stored['id']}")["id"] == stored["id"]
    assert reader.store("Another.", status=403)["code"] == "not_permitted"
    writer = caller(alice, scopes=["write"])
    assert writer.get("/memories", status=403)["message"] == "You may not read here."
    assert writer.get("/log", status=403)["code"] == "not_permitted"
    assert writer.get("/maintenance/runs", status=403)["code"] == "not_permitted"


def test_a_token_bound_to_groups_reaches_no_other(
    alice: User, ledger: Group, garden: Group, owner: Caller, caller: Callable[..., Caller]
) -> None:
    hidden = owner.store("The roses need water.", group="garden")
    bound = caller(alice, groups=[ledger])
    assert [group["slug"] for group in bound.get("/groups")["items"]] == ["ledger"]
    assert bound.get(f"/memories/{hidden['id']}", status=404)["code"] == "not_found"
    assert bound.get("/memories?group=garden", status=404)["hint"] == "Name one of: ledger."


def test_a_member_sees_the_log_of_his_groups_alone(owner: Caller, member: Caller, garden: Group) -> None:
    seen = owner.store("The deploy port is 8081.")
    owner.store("The roses need water.", group="garden")
    rows = member.get("/log")["items"]
    assert [(row["operation"], row["memory"]) for row in rows] == [("store", seen["id"]), ("group", None)]
    # Groups and tokens are alice's to know.
    assert {row["operation"] for row in owner.get("/log")["items"]} == {"store", "group", "token"}


def test_a_person_who_is_logged_in_needs_the_csrf_token_to_change_something(
    alice: User, ledger: Group
) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    assert browser.get("/api/groups").json()["items"][0]["slug"] == "ledger"
    body = {"content": "A person says so.", "group": "ledger"}
    refused = browser.post("/api/memories", body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf_missing")
    token = "a" * 32
    browser.cookies["csrftoken"] = token
    stored = browser.post(
        "/api/memories", body, content_type="application/json", headers={"X-CSRFToken": token}
    )
    assert stored.status_code == 201
    memory = Memory.objects.get()
    assert (memory.author_name, memory.token_id) == ("alice", None)
    verified = browser.post(
        f"/api/memories/{memory.id}/verify", content_type="application/json", headers={"X-CSRFToken": token}
    )
    assert verified.json()["trust"] == "verified"


def test_somebody_who_is_not_logged_in_is_told_of_the_token_not_of_csrf(nobody: Caller, db: None) -> None:
    browser = Client(enforce_csrf_checks=True)
    refused = browser.post("/api/memories", {}, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (401, "not_authenticated")
