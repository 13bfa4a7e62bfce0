"""Rights of people and tokens in groups."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.errors import Conflict, GroupNotFound, GroupRequired, InvalidInput, NotAuthenticated, NotPermitted
from access.groups import create_group, find_group
from access.groups.members import remove_member, set_member
from access.models import ApiToken, Group, Membership, Role
from access.tokens import actor_for_secret, create_token, revoke_token
from access.visibility import visible_to
from tests.people import agent, make_token, person

pytestmark = pytest.mark.django_db
RIGHTS = ("read", "write", "curate", "admin")


@pytest.mark.parametrize(
    ("role", "allowed"),
    [("viewer", 1), ("contributor", 2), ("curator", 3), ("admin", 4)],
)
def test_a_role_includes_those_before_it(bob: User, ledger: Group, role: str, allowed: int) -> None:
    Membership.objects.filter(user=bob).update(role=role)
    actor = person(bob)
    assert [right for right in RIGHTS if actor.may(right, ledger.key)] == list(RIGHTS[:allowed])
    assert not actor.may("create-group")


def test_a_token_has_no_more_than_its_scopes_and_its_users_role(
    bob: User, ledger: Group, garden: Group
) -> None:
    actor = agent(bob, scopes=["read", "write", "curate", "admin"])
    assert [r for r in RIGHTS if actor.may(r, ledger.key)] == ["read", "write"]
    assert not any(actor.may(r, garden.key) for r in RIGHTS)
    reader = agent(bob, name="reader", scopes=["read"])
    assert [r for r in RIGHTS if reader.may(r, ledger.key)] == ["read"]


def test_a_superuser_may_everything_and_a_bound_token_of_hers_only_there(
    alice: User, ledger: Group, garden: Group
) -> None:
    assert all(person(alice).may(r, g.key) for r in RIGHTS for g in (ledger, garden))
    bound = agent(alice, groups=[ledger])
    assert (bound.may("write", ledger.key), bound.may("read", garden.key)) == (True, False)
    with pytest.raises(GroupNotFound):
        find_group(bound, "garden")


def test_nobody_gives_a_token_more_than_they_have(bob: User, ledger: Group, garden: Group) -> None:
    with pytest.raises(NotPermitted, match="create-group"):
        create_token(person(bob), user=bob, name="x", scopes=["read", "create-group"])
    with pytest.raises(NotPermitted, match="write"):
        create_token(agent(bob, name="r", scopes=["read"]), user=bob, name="x", scopes=["read", "write"])
    with pytest.raises(NotPermitted, match="garden"):
        create_token(person(bob), user=bob, name="x", groups=[garden])
    with pytest.raises(NotPermitted, match="for groups that it reaches"):
        create_token(agent(bob, name="b", groups=[ledger]), user=bob, name="x")
    assert ApiToken.objects.filter(name="x").count() == 0
    assert create_token(person(bob), user=bob, name="x").token.scopes == ["read", "write"]


def test_nobody_makes_or_ends_a_token_for_somebody_else(alice: User, bob: User) -> None:
    token, _ = make_token(alice)
    with pytest.raises(NotPermitted):
        create_token(person(bob), user=alice, name="x")
    with pytest.raises(NotPermitted):
        revoke_token(person(bob), token)


def test_a_secret_is_known_until_it_ends(bob: User) -> None:
    token, secret = make_token(bob)
    assert secret not in str(ApiToken.objects.filter(pk=token.pk).values())
    assert actor_for_secret(secret).name == "bob/agent"
    for wrong in ("", "loci_wrong", secret.upper()):
        with pytest.raises(NotAuthenticated):
            actor_for_secret(wrong)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotAuthenticated, match="revoked or has expired"):
        actor_for_secret(secret)


def test_a_token_of_an_inactive_user_is_not_known(bob: User) -> None:
    _, secret = make_token(bob)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    with pytest.raises(NotAuthenticated):
        actor_for_secret(secret)


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"name": " "}, "name"), ({"scopes": []}, "scopes"), ({"scopes": ["fly"]}, "scopes")],
)
def test_a_wrong_token_is_refused(bob: User, fields: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        create_token(person(bob), **({"user": bob, "name": "x"} | fields))  # type: ignore[arg-type]
    assert error.value.field == field


def test_a_missing_group_lists_the_choices_of_the_caller_alone(bob: User, garden: Group) -> None:
    with pytest.raises(GroupRequired) as error:
        find_group(agent(bob), None)
    assert error.value.hint == "Name one of: ledger."


def test_a_token_brings_its_default_group(bob: User, ledger: Group) -> None:
    assert find_group(agent(bob, default_group=ledger), None) == ledger


def test_an_unknown_and_a_hidden_group_are_told_alike(bob: User, garden: Group) -> None:
    messages = []
    for slug in ("garden", "gardem"):
        with pytest.raises(GroupNotFound) as error:
            find_group(agent(bob, name=slug), slug)
        messages.append(error.value.message.replace(slug, "…"))
    assert messages[0] == messages[1]


def test_what_is_seen_can_be_narrowed_and_not_widened(
    bob: User, charlie: User, ledger: Group, garden: Group
) -> None:
    kinds = {"states": frozenset({"live"}), "trusts": frozenset({"active"})}
    assert visible_to(person(bob), None, **kinds).groups == frozenset({ledger.key})
    assert visible_to(person(charlie), None, **kinds).groups == frozenset()
    with pytest.raises(NotPermitted):
        visible_to(person(bob), garden, **kinds)


def test_a_group_is_made_once_under_an_allowed_name(alice: User, bob: User) -> None:
    with pytest.raises(NotPermitted):
        create_group(person(bob), "orchard")
    with pytest.raises(InvalidInput):
        create_group(person(alice), "No Spaces")
    made = create_group(person(alice), "orchard")
    assert Membership.objects.get(group=made).role == "admin"
    with pytest.raises(Conflict) as caught:
        create_group(person(alice), "orchard")
    assert caught.value.hint == "Change that group, or choose another name."


def test_an_admin_of_the_group_changes_its_members_and_a_curator_does_not(
    bob: User, charlie: User, ledger: Group
) -> None:
    Membership.objects.filter(user=bob).update(role=Role.CURATOR)
    with pytest.raises(NotPermitted, match="may not change the members of 'ledger'"):
        set_member(person(bob), ledger, user=charlie, role=Role.VIEWER)
    Membership.objects.filter(user=bob).update(role=Role.ADMIN)
    set_member(person(bob), ledger, user=charlie, role=Role.VIEWER)
    with pytest.raises(NotPermitted, match="may not change the members of 'ledger'"):
        remove_member(person(charlie), ledger, user=bob)
    assert Membership.objects.filter(group=ledger).exclude(role=Role.ADMIN).get().user == charlie
