"""What the owner, a member and a stranger see and may do in the browser."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.groups.members import set_member
from access.models import ApiToken, AuditEntry, Group
from access.tokens import operator
from memories.lifecycle.verbs import VERBS
from memories.models import Link, LinkKind
from memories.review.links import close_link
from tests.loci_site.admin.conftest import Remember, browser_of, page
from tests.people import make_token, person


def test_nobody_sees_anything_without_logging_in(db: None) -> None:
    for address in ("/admin/", "/admin/memories/memory/", "/admin/access/auditentry/"):
        assert Client().get(address)["Location"].startswith("/admin/login/")


def test_who_may_only_read_enters_and_sees_her_rows(charlie: User, ledger: Group, remember: Remember) -> None:
    set_member(operator(), ledger, user=charlie, role="viewer")
    client, mine, foreign = browser_of(charlie), remember("Ours."), remember("Theirs.", group="garden")
    listed = client.get("/admin/memories/memory/").content.decode()
    assert str(mine.id) in listed
    assert str(foreign.id) not in listed
    assert client.get(page(mine)).status_code == 200
    assert client.get("/admin/memories/memory/add/").status_code == 403


def test_a_switched_off_account_is_sent_to_the_login(charlie: User) -> None:
    client = browser_of(charlie)
    User.objects.filter(pk=charlie.pk).update(is_active=False)
    assert client.get("/admin/memories/memory/").status_code == 302


def test_a_member_sees_the_groups_entered_and_no_other(member: Client, remember: Remember) -> None:
    mine, foreign = remember("Ours."), remember("Theirs.", group="garden")
    listed = member.get("/admin/memories/memory/").content.decode()
    assert str(mine.id) in listed
    assert str(foreign.id) not in listed
    assert "garden" not in listed
    assert member.get(page(mine)).status_code == 200
    assert member.get(page(foreign)).status_code == 404
    assert "Theirs" not in member.get("/admin/memories/memory/?q=theirs").content.decode()


def test_a_stranger_sees_global_memories_alone(stranger: Client, remember: Remember) -> None:
    hidden, shared = remember("Ours."), remember("Everybody's.", scope="global")
    assert stranger.get(page(hidden)).status_code == 404
    assert stranger.get(page(shared)).status_code == 200
    assert "Ours" not in stranger.get("/admin/").content.decode()


@pytest.mark.parametrize("verb", [name for name, verb in VERBS.items() if not verb.other])
def test_a_verb_on_what_one_may_not_know_of_is_not_found(
    member: Client, remember: Remember, verb: str
) -> None:
    foreign = remember("Theirs.", group="garden")
    for answer in (member.get(page(foreign, verb)), member.post(page(foreign, verb), {"reason": "because"})):
        assert answer.status_code == 404
    foreign.refresh_from_db()
    assert (foreign.state, foreign.trust, foreign.pinned) == ("live", "active", False)


@pytest.mark.parametrize("verb", ["forget", "reject", "purge", "dispute"])
def test_a_verb_without_the_right_is_refused(stranger: Client, remember: Remember, verb: str) -> None:
    shared = remember("Everybody's.", scope="global")
    answer = stranger.post(page(shared, verb), {"reason": "because"})
    assert answer.status_code == 403
    assert "in the group &#x27;ledger&#x27;" in answer.content.decode()
    shared.refresh_from_db()
    assert (shared.state, shared.trust) == ("live", "active")
    assert "loci-redish" not in stranger.get(page(shared)).content.decode()
    assert stranger.get(page(shared, "edit")).status_code == 403


def test_list_actions_do_not_reach_beyond_the_rows_seen(member: Client, remember: Remember) -> None:
    foreign = remember("Theirs.", group="garden")
    member.post("/admin/memories/memory/", {"action": "forget_selected", "_selected_action": [foreign.pk]})
    foreign.refresh_from_db()
    assert foreign.state == "live"


def test_adding_needs_the_right_to_write_somewhere(
    member: Client, stranger: Client, remember: Remember
) -> None:
    assert member.get("/admin/memories/memory/add/").status_code == 200
    assert stranger.get("/admin/memories/memory/add/").status_code == 403
    answer = member.post(
        "/admin/memories/memory/add/", {"content": "x", "group": "garden", "type": "semantic"}
    )
    assert "garden is not one of the available choices" in answer.content.decode()


@pytest.mark.parametrize(
    "address",
    ["/admin/auth/user/", "/admin/auth/user/add/"],
)
def test_people_and_new_groups_are_for_superusers(owner: Client, member: Client, address: str) -> None:
    assert owner.get(address).status_code == 200
    assert member.get(address).status_code == 403


def test_the_log_shows_what_was_done_in_ones_own_groups(
    member: Client, stranger: Client, remember: Remember
) -> None:
    mine, foreign = remember("Ours."), remember("Theirs.", group="garden")
    rows = {entry.memory_id: entry.name for entry in AuditEntry.objects.filter(operation="store")}
    assert member.get(f"/admin/access/auditentry/{rows[mine.id]}/change/").status_code == 200
    assert member.get(f"/admin/access/auditentry/{rows[foreign.id]}/change/").status_code == 404
    assert stranger.get(f"/admin/access/auditentry/{rows[mine.id]}/change/").status_code == 404
    assert member.post("/admin/access/auditentry/verify/").status_code == 403


def test_a_link_is_seen_where_both_ends_are(
    member: Client, alice: User, bob: User, remember: Remember
) -> None:
    mine, near, foreign = (
        remember("Ours."),
        remember("Also ours, but different."),
        remember("Theirs.", group="garden"),
    )
    inside = Link.objects.create(kind=LinkKind.CONFLICT, source=mine, target=near)
    across = Link.objects.create(kind=LinkKind.CONFLICT, source=mine, target=foreign)
    body = member.get(page(mine)).content.decode()
    assert "Also ours, but different." in body
    assert "Theirs." not in body
    assert member.get(f"/admin/memories/memory/links/{inside.id}/dismiss/").status_code == 200
    for answer in (member.get, member.post):
        assert answer(f"/admin/memories/memory/links/{across.id}/dismiss/", {"reason": ""}).status_code == 404
    assert close_link(person(bob), inside.id, status="dismissed").settled_by == "bob"


def test_tokens_are_seen_by_their_owner(member: Client, stranger: Client, owner: Client, bob: User) -> None:
    token, _ = make_token(bob)
    address = f"/admin/access/apitoken/{token.id}/change/"
    assert [client.get(address).status_code for client in (owner, member, stranger)] == [200, 200, 404]
    assert stranger.post(f"/admin/access/apitoken/{token.id}/revoke/").status_code == 404
    assert ApiToken.objects.get().revoked_at is None


@pytest.mark.parametrize("address", ["memories/memory", "access/apitoken"])
def test_rows_are_never_deleted_by_the_admin(owner: Client, remember: Remember, address: str) -> None:
    memory = remember("stays")
    assert owner.get(page(memory, "delete")).status_code == 403
    assert "delete_selected" not in owner.get(f"/admin/{address}/").content.decode()


def test_a_refusal_says_what_it_takes(stranger: Client, owner: Client, remember: Remember) -> None:
    shared = remember("Everybody's.", scope="global")
    for address, takes in (
        ("/admin/memories/memory/add/", "Ask an admin of a group to make you a contributor."),
        (page(shared, "edit"), "Ask an admin of that group to make you a contributor."),
        (page(shared, "merge"), "the right to curate in the memory"),
        ("/admin/sources/upload/add/", "the role contributor in a group. Ask"),
        ("/admin/auth/user/", "or a superuser"),
    ):
        answer = stranger.get(address)
        assert answer.status_code == 403, address
        assert takes in answer.content.decode(), address
        assert takes not in owner.get(address).content.decode()
