"""Password guessing is throttled without locking others out, and changes of accounts are logged."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from access.errors import NotFound, NotPermitted
from access.limits.throttle import delete_expired, record_attempt, wait_s
from access.models import Attempts, AuditEntry
from access.sign_in.lockouts import LOGIN, LOGIN_FROM, active_locks, lift_lock, registration_limit
from access.tokens import operator
from tests.people import alice, bob, charlie, ledger, person

__all__ = ["alice", "bob", "charlie", "ledger"]
pytestmark = pytest.mark.django_db
PASSWORD = "a-long-password"


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel("2026-05-01 12:00:00+00:00", tick=False) as moved:
        yield moved


def log_in(name: str, password: str, *, address: str = "192.0.2.1") -> Any:
    return Client(REMOTE_ADDR=address).post("/admin/login/", {"username": name, "password": password})


def is_in(answer: Any) -> bool:
    return bool(answer.status_code == 302)


def said(entry: AuditEntry) -> dict[str, Any]:
    return dict(entry.payload_row.payload)


def test_the_fifth_wrong_password_locks_and_the_right_one_does_not_help(
    alice: User, clock: time_machine.Traveller
) -> None:
    for _ in range(4):
        assert "Too many failed logins" not in log_in("alice", "wrong").content.decode()
    assert "Try again in 30 seconds" in log_in("alice", "wrong").content.decode()
    assert not is_in(log_in("alice", PASSWORD))
    clock.shift(31)
    assert is_in(log_in("alice", PASSWORD))


def test_each_further_failure_doubles_the_wait_up_to_a_day(clock: time_machine.Traveller) -> None:
    waits = []
    for _ in range(18):
        record_attempt(LOGIN, "alice", "192.0.2.1")
        waits.append(wait_s(LOGIN, "alice", "192.0.2.1"))
    assert waits == [
        0,
        0,
        0,
        0,
        30,
        60,
        120,
        240,
        480,
        960,
        1920,
        3840,
        7680,
        15360,
        30720,
        61440,
        86400,
        86400,
    ]


def test_what_is_tried_while_locked_is_not_counted(alice: User, clock: time_machine.Traveller) -> None:
    for _ in range(9):
        log_in("alice", "wrong")
    assert Attempts.objects.get(kind="login").count == 5


def test_a_lock_is_for_the_name_and_the_address_together(alice: User, bob: User) -> None:
    for _ in range(5):
        log_in("alice", "wrong")
    assert not is_in(log_in("ALICE ", PASSWORD))
    assert is_in(log_in("alice", PASSWORD, address="192.0.2.2"))
    assert is_in(log_in("bob", PASSWORD))


def test_one_address_that_tries_many_names_is_locked_for_all(alice: User) -> None:
    for number in range(31):
        log_in(f"nobody{number}", "wrong")
    assert not is_in(log_in("alice", PASSWORD))
    assert is_in(log_in("alice", PASSWORD, address="192.0.2.2"))


def test_a_login_that_succeeds_begins_anew(alice: User) -> None:
    for _ in range(4):
        log_in("alice", "wrong")
    assert is_in(log_in("alice", PASSWORD))
    assert not Attempts.objects.filter(kind="login").exists()


def test_an_unknown_name_is_locked_like_a_known_one(alice: User, clock: time_machine.Traveller) -> None:
    answers = []
    for name in ("alice", "nobody"):
        pages = [log_in(name, "wrong", address=f"192.0.2.{len(name)}").content.decode() for _ in range(6)]
        answers.append(["Too many failed logins" in page for page in pages])
    assert answers[0] == answers[1] == [False] * 4 + [True] * 2


def test_no_password_is_in_the_log_or_the_database(alice: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    for _ in range(6):
        log_in("hunter2-in-the-wrong-field", "hunter2-in-the-right-field")
    assert "unknown person" in caplog.text
    stored = str(list(Attempts.objects.values())) + str(
        [(e.subject, said(e)) for e in AuditEntry.objects.all()]
    )
    for text in (caplog.text, stored):
        assert "hunter2" not in text
    assert "192.0.2.1" in stored


def test_logins_and_lock_outs_are_in_the_audit_log(alice: User, clock: time_machine.Traveller) -> None:
    for _ in range(5):
        log_in("alice", "wrong")
    clock.shift(31)
    log_in("alice", PASSWORD)
    rows = AuditEntry.objects.filter(operation="login").order_by("key")
    assert [(row.actor, said(row)["action"]) for row in rows] == [("alice", "locked"), ("alice", "login")]
    assert said(rows[0])["failures"] == 5


def test_a_superuser_lifts_a_lock_and_nobody_else(alice: User, bob: User) -> None:
    for _ in range(5):
        log_in("bob", "wrong")
    row = active_locks(person(alice)).get()
    with pytest.raises(NotPermitted):
        active_locks(person(bob))
    with pytest.raises(NotPermitted):
        lift_lock(person(bob), row)
    lift_lock(person(alice), row)
    assert wait_s(LOGIN, "bob", "192.0.2.1") == 0
    assert AuditEntry.objects.filter(operation="login", subject="user:bob", actor="alice").count() == 1
    with pytest.raises(NotFound):
        lift_lock(person(alice), row)


def test_a_superuser_lifts_a_lock_in_the_browser(alice: User, bob: User, charlie: User) -> None:
    for _ in range(5):
        log_in("bob", "wrong")
    row = Attempts.objects.get(kind="login")
    page, lift = "/admin/access/attempts/", {"action": "lift", "_selected_action": row.pk}
    owner, member = Client(), Client()
    owner.force_login(alice)
    member.force_login(User.objects.get(pk=charlie.pk))
    assert member.get(page).status_code == 403
    assert member.post(page, lift).status_code == 403
    shown = owner.get(page).content.decode()
    assert "192.0.2.1" in shown
    assert "bob" in shown
    assert owner.post(page, lift).status_code == 302
    assert wait_s(LOGIN, "bob", "192.0.2.1") == 0


def test_an_operator_lifts_a_lock_by_command(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(5):
        log_in("alice", "wrong")
    call_command("person", "unlock")
    listed = capsys.readouterr().out
    assert "alice" in listed
    call_command("person", "unlock", str(Attempts.objects.get(kind="login").id)[:8])
    assert is_in(log_in("alice", PASSWORD))
    call_command("person", "unlock")
    assert "No one is locked out." in capsys.readouterr().out


def test_old_counts_are_deleted(clock: time_machine.Traveller) -> None:
    record_attempt(LOGIN, "alice", "192.0.2.1")
    record_attempt(LOGIN_FROM, "192.0.2.1")
    clock.shift(timedelta(days=2))
    assert delete_expired() == 0
    clock.shift(timedelta(seconds=1))
    assert delete_expired() == 2


def test_commands_log_in_as_before(alice: User) -> None:
    from django.contrib.auth import authenticate

    assert authenticate(username="alice", password=PASSWORD) == alice
    assert authenticate(username="alice", password="wrong") is None
    assert Attempts.objects.count() == 0


def test_what_is_done_to_people_is_in_the_audit_log(alice: User, bob: User) -> None:
    owner = Client()
    owner.force_login(alice)
    owner.post("/admin/auth/user/add/", {"person": "dora", "how": "password"})
    dora = User.objects.get(username="dora")
    fields = {"username": "dora", "first_name": "", "last_name": "", "email": "", "is_active": "on"}
    owner.post(f"/admin/auth/user/{dora.pk}/change/", fields | {"is_superuser": "on"})
    owner.post(f"/admin/auth/user/{dora.pk}/change/", fields | {"is_superuser": "on"})  # nothing differs
    owner.post(f"/admin/auth/user/{dora.pk}/change/", {**fields, "is_active": ""})
    again = {"password1": "an0ther-long-one", "password2": "an0ther-long-one", "usable_password": "true"}
    owner.post(f"/admin/auth/user/{dora.pk}/password/", again)
    rows = AuditEntry.objects.filter(operation="person").order_by("key")
    told = [said(row) for row in rows]
    assert [(row.actor, row.subject) for row in rows] == [("alice", "user:dora")] * 5
    assert told[0] == {"action": "create", "changes": {"username": ["", "dora"], "is_active": ["", True]}}
    assert told.pop(1) == {"action": "invite", "by_link": False}
    assert told[1] == {"action": "update", "changes": {"is_superuser": [False, True]}}
    assert told[2]["changes"] == {"is_active": [True, False], "is_superuser": [True, False]}
    assert told[3] == {"action": "password", "by_themselves": False}
    assert "an0ther" not in str(told)


def test_ones_own_password_is_in_the_audit_log_once_it_is_another(alice: User) -> None:
    owner = Client()
    owner.force_login(alice)
    new = {"new_password1": "an0ther-long-one", "new_password2": "an0ther-long-one"}
    owner.post("/admin/account/password/", {"old_password": "wrong", **new})
    assert not AuditEntry.objects.filter(operation="person").exists()
    owner.post("/admin/account/password/", {"old_password": PASSWORD, **new})
    row = AuditEntry.objects.get(operation="person")
    assert (row.actor, said(row)) == ("alice", {"action": "password", "by_themselves": True})


def test_the_wait_is_shown_in_minutes_when_it_is_long(alice: User, clock: time_machine.Traveller) -> None:
    for _ in range(8):
        record_attempt(LOGIN, "alice", "192.0.2.1", user=alice)
    assert "Try again in 4 minutes" in log_in("alice", PASSWORD).content.decode()


def test_the_operator_sees_every_lock(alice: User) -> None:
    for _ in range(10):
        record_attempt(registration_limit(), "192.0.2.9")
    (row,) = active_locks(operator())
    assert (row.kind, row.address, row.user) == ("register", "192.0.2.9", None)
    assert row.until is not None
    assert row.until > timezone.now()
