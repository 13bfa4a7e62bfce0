"""Invitations: one person or many, by a link that works once; and what happens when a person leaves."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.admin.people import InviteForm
from access.errors import Conflict, InvalidInput, LociError, NotPermitted
from access.groups import create_everyone
from access.models import AuditEntry, Group, Membership, Role
from access.sign_in.invitations import (
    Invitation,
    Invited,
    deactivate,
    invite,
    invite_many,
    read_invitations,
    renew_link,
    what_ends,
)
from access.sign_in.users import PersonChange, change_person
from access.tokens import operator
from tests.people import alice, bob, charlie, garden, ledger, make_token, person

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]
NEW = {"new_password1": "three-green-lanterns", "new_password2": "three-green-lanterns"}


def opened(link: str) -> tuple[Client, str, int]:
    """A browser at the link's form, the form's address, and the status."""
    client = Client()
    answer = client.get(urlsplit(link).path, follow=True)
    return client, answer.redirect_chain[-1][0] if answer.redirect_chain else link, answer.status_code


def invite_ann(**fields: object) -> Invited:
    return invite(operator(), Invitation("Ann@example.org", {"ledger": "curator"}, **fields))  # type: ignore[arg-type]


def test_an_invited_person_has_groups_and_chooses_a_password(ledger: Group) -> None:
    made = invite_ann()
    ann = made.user
    assert (ann.username, ann.email, ann.has_usable_password()) == ("ann", "Ann@example.org", False)
    assert Membership.objects.get(user=ann, group=ledger).role == "curator"
    client, form, _ = opened(made.link)
    assert client.post(form, NEW).headers["Location"] == "/admin/account/"
    assert client.get("/admin/account/").status_code == 200
    ann.refresh_from_db()
    assert ann.check_password(NEW["new_password1"])
    logged = [(row.actor, row.via) for row in AuditEntry.objects.filter(subject="user:ann").order_by("key")]
    assert logged == [("operator", "command")] * 2 + [("ann", "app")]


def test_a_link_works_once(ledger: Group) -> None:
    made = invite_ann()
    client, form, _ = opened(made.link)
    client.post(form, NEW)
    assert opened(made.link)[2] == 410


def test_a_new_link_ends_the_old_one_and_deactivation_ends_both(ledger: Group) -> None:
    made = invite_ann()
    newer = renew_link(operator(), made.user)
    assert [opened(link)[2] for link in (made.link, newer)] == [410, 200]
    deactivate(operator(), made.user)
    assert opened(newer)[2] == 410
    with pytest.raises(Conflict):
        renew_link(operator(), made.user)


def test_a_weak_password_is_refused_and_the_link_lives_on(ledger: Group) -> None:
    client, form, _ = opened(invite_ann().link)
    weak = client.post(form, {"new_password1": "short", "new_password2": "short"})
    assert "too short" in weak.content.decode()
    assert client.post(form, NEW).status_code == 302


def test_a_made_up_password_logs_in(ledger: Group) -> None:
    made = invite(operator(), Invitation("ann"), by_link=False)
    assert Client().post("/login/", {"username": "ann", "password": made.password}).status_code == 302
    assert made.link == ""


def test_of_two_addresses_with_one_name_the_second_logs_in_with_all_of_it(db: None) -> None:
    names = [
        invite(operator(), Invitation(each)).user.username for each in ("ann@a.example", "ann@b.example")
    ]
    assert names == ["ann", "ann@b.example"]
    with pytest.raises(Conflict, match="address"):
        invite(operator(), Invitation("ANN@a.example"))


@pytest.mark.parametrize(
    ("invitation", "named"),
    [
        (Invitation(" "), "person"),
        (Invitation("not an address@"), "person"),
        (Invitation("ann", {"nowhere": "viewer"}), "group"),
        (Invitation("ann", {"ledger": "king"}), "role"),
    ],
)
def test_a_wrong_invitation_makes_nobody(ledger: Group, invitation: Invitation, named: str) -> None:
    before = User.objects.count()
    with pytest.raises(LociError) as refused:
        invite(operator(), invitation)
    assert (refused.value.field, User.objects.count()) == (named, before)


def test_only_who_administers_everything_invites(bob: User) -> None:
    for attempt in (
        lambda: invite(person(bob), Invitation("ann")),
        lambda: invite_many(person(bob), [Invitation("ann")]),
        lambda: renew_link(person(bob), bob),
        lambda: deactivate(person(bob), bob),
    ):
        with pytest.raises(NotPermitted):
            attempt()


def test_many_are_read_from_csv_and_invited(ledger: Group, garden: Group) -> None:
    text = "person,groups\nann@example.org, ledger=curator garden=viewer\nben,\n"
    ann, ben = (made.user for made in invite_many(operator(), read_invitations(text)))
    assert dict(ann.memberships.values_list("group__slug", "role")) == {
        "ledger": "curator",
        "garden": "viewer",
    }
    assert ben.memberships.count() == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name\nann", "The first line must name the columns"),
        ("person,groups\nann,ledger=king", "Line 2: 'ledger=king'"),
        ("person,groups\nann", "Line 2 does not have"),
        ("person", "There are 0 people"),
    ],
)
def test_a_wrong_csv_names_its_line(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        read_invitations(text)


def test_many_are_invited_or_nobody(bob: User) -> None:
    before = User.objects.count()
    with pytest.raises(InvalidInput, match=r"Person 2 \(bob\)"):
        invite_many(operator(), [Invitation("ann"), Invitation("bob")])
    assert User.objects.count() == before


def test_who_leaves_hands_over_what_nobody_else_has(bob: User, charlie: User, ledger: Group) -> None:
    Membership.objects.filter(group=ledger).delete()
    Membership.objects.create(user=bob, group=ledger, role="admin")
    make_token(bob)
    leaving = what_ends(bob)
    assert (leaving.tokens, leaving.sole_admin_of) == (1, (ledger,))
    deactivate(operator(), bob, successor=charlie)
    bob.refresh_from_db()
    assert not bob.is_active
    assert Membership.objects.get(user=charlie, group=ledger).role == "admin"
    with pytest.raises(Conflict):
        deactivate(operator(), bob)


def test_the_switch_on_the_persons_page_ends_tokens_and_sessions_too(alice: User, bob: User) -> None:
    token, _ = make_token(bob)
    owner, browser = Client(), Client()
    owner.force_login(alice)
    browser.force_login(bob)
    answer = owner.post(f"/admin/auth/user/{bob.pk}/change/", {"username": "bob"})
    assert (answer.status_code, User.objects.get(pk=bob.pk).is_active) == (302, False)
    token.refresh_from_db()
    assert token.state == "revoked"
    User.objects.filter(pk=bob.pk).update(is_active=True)
    assert browser.get("/admin/").status_code == 302


def test_the_last_active_superuser_stays(alice: User) -> None:
    for change in (PersonChange(is_active=False), PersonChange(is_superuser=False)):
        with pytest.raises(Conflict, match="No active superuser would be left"):
            change_person(operator(), alice, change)
    assert User.objects.get(is_superuser=True, is_active=True) == alice


def test_nobody_takes_over_from_themselves(bob: User) -> None:
    with pytest.raises(InvalidInput, match="cannot take over"):
        deactivate(operator(), bob, successor=bob)
    bob.refresh_from_db()
    assert bob.is_active


def pages(bob: User) -> Iterator[tuple[str, dict[str, str]]]:
    yield "/admin/auth/user/add/", {"person": "ann", "role-ledger": "viewer", "how": "link"}
    yield "/admin/auth/user/invite-many/", {"csv": "person,groups\nben,ledger=viewer"}
    yield f"/admin/auth/user/{bob.pk}/link/", {}


def test_the_pages_show_each_link_once(alice: User, bob: User) -> None:
    owner = Client()
    owner.force_login(alice)
    for address, sent in pages(bob):
        answer = owner.post(address, sent)
        links = set(re.findall(r"http://[^<\"]+/invited/[^<\"]+", answer.content.decode()))
        assert len(links) == 1, address
        assert "no-store" in answer["Cache-Control"]
        assert opened(links.pop())[2] == 200
    assert "/invited/" not in owner.get(f"/admin/auth/user/{bob.pk}/change/").content.decode()
    wrong = owner.post("/admin/auth/user/add/", {"person": "ann", "how": "link"}).content.decode()
    assert "already a user" in wrong
    assert owner.post(f"/admin/auth/user/{bob.pk}/leave/", {}).status_code == 302
    bob.refresh_from_db()
    assert not bob.is_active


def test_the_form_says_that_everybody_joins_everyone(alice: User, ledger: Group) -> None:
    create_everyone(operator())
    fields = InviteForm(operator()).fields
    assert fields["role-everyone"].initial == "contributor"
    assert [value for value, _ in fields["role-everyone"].choices] == [role.value for role in Role]
    assert next(value for value, _ in fields["role-ledger"].choices) == ""
    form = InviteForm(operator(), {"person": "zoe", "role-everyone": "viewer", "how": "link"})
    assert form.is_valid()
    form.invite(operator())
    roles = Membership.objects.filter(user__username="zoe").values_list("group__slug", "role")
    assert list(roles) == [("everyone", "viewer")]
