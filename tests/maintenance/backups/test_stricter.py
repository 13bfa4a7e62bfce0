"""A restore brings back no person, right, token or setting that was taken away since; and nothing becomes wider."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken

from access import audit
from access.audit.retention import drop_log
from access.audit.verify import is_log_whole
from access.errors import NotAuthenticated
from access.groups import GroupChange, update_group
from access.groups.members import remove_member, set_member, set_private
from access.models import ApiToken, AuditEntry, Group, Membership, Role
from access.sign_in.invitations import deactivate
from access.sign_in.users import PersonChange, add_person, change_person, set_password
from access.tokens import actor_for_secret, operator, resume_token, revoke_token, suspend_token
from loci_site.app.notifications.choices import change_webhook
from loci_site.app.notifications.models import Webhook
from maintenance.backups import make_backup
from maintenance.backups.restore import RestoreResult, restore_backup
from maintenance.backups.stricter import in_words, strictest_guard
from memories.models import Memory
from sources.personal.erase import erase_person
from tests.memories.builders import kept
from tests.people import make_token, person

Remember = Callable[..., Memory]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_backups")]
OLD, NEW = "a-long-password", "another-long-password"


@pytest.fixture
def eve(alice: User) -> User:
    """A second superuser."""
    return add_person(operator(), "eve", PersonChange(is_superuser=True), password=OLD)


def restored(change: Callable[[], object]) -> RestoreResult:
    """The result of restoring a backup that was made before a change."""
    made = make_backup(operator())
    change()
    return restore_backup(operator(), made.path)


def again(row: Any) -> Any:
    return type(row).objects.get(pk=row.pk)


def test_people_stay_out_and_groups_closed(bob: User, eve: User, ledger: Group, remember: Remember) -> None:
    token, _ = make_token(bob)
    shared = remember("The port is 8081", scope="global")

    def change() -> None:
        remove_member(operator(), ledger, user=bob)
        deactivate(operator(), bob)
        change_person(operator(), eve, PersonChange(is_superuser=False))
        set_password(operator(), eve, NEW)
        Memory.objects.filter(pk=shared.pk).update(scope="group")
        set_private(operator(), "ledger", private=True)
        update_group(operator(), "ledger", GroupChange(policy="all", guard="personal=refuse"))

    done = restored(change)
    bob, eve, ledger = again(bob), again(eve), again(ledger)
    assert (bob.is_active, Membership.objects.filter(user=bob).count(), again(token).is_valid()) == (
        False,
        0,
        False,
    )
    assert (eve.is_superuser, eve.check_password(NEW)) == (False, True)
    assert (ledger.private, ledger.policy, ledger.guard) == (True, "all", "personal=refuse")
    assert again(shared).scope == "group"
    assert dict(done.carried.stricter) == {
        "auth.User.is_active": 1,
        "auth.User.is_superuser": 1,
        "auth.User.password": 1,
        "access.Group.private": 1,
        "access.Group.policy": 1,
        "access.Group.guard": 1,
        "access.Membership.gone": 1,
        "access.ApiToken.revoked_at": 1,
    }
    assert "1 person stays deactivated" in in_words(done.carried.stricter)
    assert done.carried.left == ()
    assert is_log_whole()
    logged = [str(entry.payload) for entry in AuditEntry.objects.filter(operation="person")]
    assert not any(again(eve).password in each for each in logged)


def test_the_command_says_what_it_kept(bob: User, eve: User) -> None:
    made = make_backup(operator())
    deactivate(operator(), bob)
    change_person(operator(), eve, PersonChange(is_active=False))
    call_command("restore", made.path.name, "--yes", stdout=(out := StringIO()))
    assert "Stricter since the backup, and kept: 2 people stay deactivated." in out.getvalue()


def test_an_erased_person_stays_out_until_erased_again(bob: User, eve: User, ledger: Group) -> None:
    _, secret = make_token(bob)
    kept(person(bob), "The key is under the mat.", group="ledger")
    restored(lambda: erase_person(operator(), bob, on_done=lambda _: None))
    assert (again(bob).username, again(bob).is_active) == ("bob", False)
    assert not Memory.objects.filter(content__contains="mat").exists()
    with pytest.raises(NotAuthenticated):
        actor_for_secret(secret)
    erase_person(operator(), again(bob), on_done=lambda _: None)
    assert not User.objects.filter(username="bob").exists()
    assert is_log_whole()


def test_nothing_becomes_wider(bob: User, eve: User, ledger: Group) -> None:
    change_person(operator(), bob, PersonChange(is_active=False))
    change_person(operator(), eve, PersonChange(is_superuser=False))
    set_private(operator(), "ledger", private=True)
    update_group(operator(), "ledger", GroupChange(policy="all", guard="personal=refuse", archived=True))
    token, _ = make_token(eve)
    suspend_token(operator(), token)

    def change() -> None:
        change_person(operator(), bob, PersonChange(is_active=True))
        change_person(operator(), eve, PersonChange(is_superuser=True))
        update_group(operator(), "ledger", GroupChange(archived=False, policy="none", guard="personal=allow"))
        set_private(operator(), "ledger", private=False)
        set_member(operator(), ledger, user=bob, role=Role.ADMIN)
        resume_token(operator(), token)

    done = restored(change)
    assert dict(done.carried.stricter) == {}
    bob, ledger = again(bob), again(ledger)
    assert (bob.is_active, again(eve).is_superuser, again(token).state) == (False, False, "suspended")
    assert (ledger.private, ledger.policy, ledger.guard, ledger.archived) == (
        True,
        "all",
        "personal=refuse",
        True,
    )
    assert Membership.objects.get(user=bob, group=ledger).role == Role.CONTRIBUTOR


def test_the_undo_brings_back_what_an_older_backup_lacked(bob: User, ledger: Group, garden: Group) -> None:
    change_person(operator(), bob, PersonChange(is_active=False))
    made = make_backup(operator())
    change_person(operator(), bob, PersonChange(is_active=True))
    set_password(operator(), bob, NEW)
    set_member(operator(), garden, user=bob, role=Role.CURATOR)
    set_member(operator(), ledger, user=bob, role=Role.CURATOR)
    done = restore_backup(operator(), made.path)
    assert (again(bob).is_active, again(bob).check_password(NEW)) == (False, True)
    assert done.before is not None
    undone = restore_backup(operator(), done.before)
    assert dict(undone.carried.stricter) == {}
    assert (again(bob).is_active, again(bob).check_password(NEW)) == (True, True)
    assert set(Membership.objects.filter(user=bob).values_list("group__slug", "role")) == {
        ("garden", "curator"),
        ("ledger", "curator"),
    }


def test_a_second_restore_keeps_it_too(bob: User, ledger: Group) -> None:
    made = make_backup(operator())
    change_person(operator(), bob, PersonChange(is_active=False))
    remove_member(operator(), ledger, user=bob)
    set_password(operator(), bob, NEW)
    for _ in range(2):
        done = restore_backup(operator(), made.path)
        assert dict(done.carried.stricter) == {
            "auth.User.is_active": 1,
            "auth.User.password": 1,
            "access.Membership.gone": 1,
        }
    assert (again(bob).is_active, again(bob).check_password(NEW)) == (False, True)


def test_a_person_is_known_by_the_account_not_by_the_name(bob: User, alice: User) -> None:
    def change() -> None:
        change_person(operator(), bob, PersonChange(is_active=False))
        renamed = {"action": "update", "changes": {"username": ["bob", "robert"]}}
        User.objects.filter(pk=bob.pk).update(username="robert")
        audit.append(operator(), "person", subject="user:robert", payload=renamed)

    restored(change)
    assert (again(bob).username, again(bob).is_active) == ("bob", False)


def test_another_person_under_the_same_number_is_left_alone(bob: User, eve: User) -> None:
    def change() -> None:
        change_person(operator(), bob, PersonChange(is_active=False))
        User.objects.filter(pk=bob.pk).update(date_joined=timezone.now())

    assert dict(restored(change).carried.stricter) == {}
    assert again(bob).is_active


def test_a_suspended_token_stays_suspended_and_a_revoked_one_revoked(bob: User) -> None:
    first, _ = make_token(bob)
    second, _ = make_token(bob, name="other")

    def change() -> None:
        suspend_token(operator(), first)
        revoke_token(operator(), second)

    done = restored(change)
    assert (again(first).state, again(second).state) == ("suspended", "revoked")
    assert dict(done.carried.stricter) == {"access.ApiToken.revoked_at": 1, "access.ApiToken.suspended_at": 1}


def test_a_lower_role_stays(bob: User, ledger: Group) -> None:
    done = restored(lambda: set_member(operator(), ledger, user=bob, role=Role.VIEWER))
    assert Membership.objects.get(user=bob).role == Role.VIEWER
    assert dict(done.carried.stricter) == {"access.Membership.role": 1}


def test_what_programs_and_browsers_had_ends(bob: User) -> None:
    application = Application.objects.create(
        name="x",
        client_type="public",
        authorization_grant_type="authorization-code",
        redirect_uris="http://localhost/",
    )
    ends = timezone.now() + timedelta(hours=1)
    own = {"user": bob, "application": application}
    code = Grant.objects.create(**own, code="c", expires=ends, redirect_uri="http://localhost/")
    access = AccessToken.objects.create(**own, token="a", expires=ends)
    kept = AccessToken.objects.create(**own, token="k", expires=ends)
    refresh = RefreshToken.objects.create(**own, token="r", access_token=access)
    sessions = [SessionStore(), SessionStore()]
    for each in sessions:
        each.create()

    def change() -> None:
        code.delete()
        refresh.revoke()
        sessions[0].flush()

    done = restored(change)
    assert list(AccessToken.objects.values_list("pk", flat=True)) == [kept.pk]
    assert (Grant.objects.count(), again(refresh).revoked is not None) == (0, True)
    assert [row.session_key for row in Session.objects.all()] == [sessions[1].session_key]
    assert dict(done.carried.stricter) == {
        "sessions.Session.gone": 1,
        "oauth2_provider.Grant.gone": 1,
        "oauth2_provider.AccessToken.gone": 1,
        "oauth2_provider.RefreshToken.revoked": 1,
    }


def test_a_webhook_that_was_deleted_sends_nothing_again(alice: User) -> None:
    first, second = (Webhook.objects.create(name=name, url="https://x.example/") for name in ("one", "two"))

    def change() -> None:
        change_webhook(operator(), first, "delete")
        change_webhook(operator(), second, "off")

    restored(change)
    assert list(Webhook.objects.values_list("name", "is_on")) == [("two", False)]


def test_without_the_log_everything_stricter_is_kept(bob: User) -> None:
    made = make_backup(operator())
    change_person(operator(), bob, PersonChange(is_active=False))
    drop_log(operator(), before=timezone.now() + timedelta(days=1))
    done = restore_backup(operator(), made.path)
    assert (again(bob).is_active, dict(done.carried.stricter)) == (False, {"auth.User.is_active": 1})


def test_it_warns_if_no_superuser_is_left(alice: User) -> None:
    def change() -> None:
        add_person(operator(), "ann", PersonChange(is_superuser=True), password=OLD)
        change_person(operator(), alice, PersonChange(is_superuser=False))

    done = restored(change)
    assert done.carried.left == (
        "no active superuser is left: 'loci person change NAME --superuser yes' makes one",
    )


@pytest.mark.parametrize(
    ("now", "then", "result"),
    [
        ("", "", ""),
        ("personal=refuse", "", "personal=refuse"),
        ("", "personal=refuse", "personal=refuse"),
        ("personal=allow", "", ""),
        ("secret=refuse", "aws-access-key=allow", "aws-access-key=refuse, secret=refuse"),
        ("secret=refuse, aws-access-key=mask", "", "secret=refuse, aws-access-key=mask"),
        ("hidden=allow", "hidden=mask", "hidden=mask"),
        ("hidden=refuse", "", "hidden=refuse"),
        ("guessed-secret=refuse", "", "guessed-secret=refuse"),
        ("guessed-secret=mask", "guessed-secret=refuse", "guessed-secret=refuse"),
        ("hidden-message=refuse", "hidden=mask", "hidden=mask, hidden-message=refuse"),
    ],
)
def test_guard_rules_are_the_stricter_of_both(now: str, then: str, result: str) -> None:
    assert strictest_guard(now, then) == result


def test_a_token_bound_to_nothing_is_untouched(bob: User, ledger: Group) -> None:
    token, _ = make_token(bob, groups=[ledger])
    assert dict(restored(lambda: make_token(bob, name="later")).carried.stricter) == {}
    assert list(ApiToken.objects.values_list("pk", flat=True)) == [token.pk]
