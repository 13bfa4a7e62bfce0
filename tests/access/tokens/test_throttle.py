"""Invalid tokens are throttled per address; a valid token is never refused."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError
from django.test import AsyncClient, Client
from pytest_django import Settings

from access.limits.throttle import delete_expired, wait_s
from access.models import Attempts, AuditEntry
from access.sign_in import lockouts
from access.sign_in.client_address import network_of
from access.sign_in.lockouts import count_try, token_limit
from access.tokens import operator, revoke_token
from tests.people import alice, bob, ledger, make_token

__all__ = ["alice", "bob", "ledger"]
pytestmark = pytest.mark.django_db
OFFICE, HOME = "192.0.2.1", "192.0.2.2"
WRONG = "loci_" + "w" * 43
Send = Callable[..., Any]


@pytest.fixture(autouse=True)
def three_are_free(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, token_failures=3))
    monkeypatch.setattr(lockouts, "LONGEST_LOCK", timedelta(seconds=100))


@pytest.fixture(autouse=True)
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel("2026-05-01 12:00:00+00:00", tick=False) as moved:
        yield moved


def over_rest(secret: str, *, address: str = OFFICE) -> Any:
    return Client(REMOTE_ADDR=address).get("/api/groups", HTTP_AUTHORIZATION=f"Bearer {secret}")


def over_mcp(secret: str, *, address: str = OFFICE) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"authorization": f"Bearer {secret}"}
    post = async_to_sync(_From(address).post)
    return post("/mcp", json.dumps(body), content_type="application/json", headers=headers)


class _From(AsyncClient):
    """A client at this address."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def _base_scope(self, **request: Any) -> dict[str, Any]:
        return super()._base_scope(**request) | {"client": [self._address, 0]}


@pytest.mark.parametrize("send", [over_rest, over_mcp])
def test_the_third_token_that_does_not_work_begins_a_lock(send: Send) -> None:
    answers = [send(WRONG) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [401, 401, 429, 429]
    assert [answers[2]["Retry-After"], answers[3]["Retry-After"]] == ["30", "30"]
    said = answers[3].json()
    assert said["code"] == "too_many_attempts"
    assert "Too many such requests came from this address" in said["message"]
    assert "A valid token is accepted at once" in said["hint"]
    assert WRONG not in answers[3].content.decode()


def test_a_token_that_works_is_not_kept_out_by_others_behind_the_address(bob: User) -> None:
    _, secret = make_token(bob)
    for _ in range(6):
        over_rest(WRONG)
    assert over_rest(WRONG).status_code == 429
    assert over_rest(secret).status_code == 200
    assert over_mcp(secret).status_code not in (401, 429)
    assert over_rest(WRONG, address=HOME).status_code == 401


def test_both_faces_count_together() -> None:
    assert [send(WRONG).status_code for send in (over_rest, over_mcp, over_rest, over_mcp)] == [
        401,
        401,
        429,
        429,
    ]


def test_a_revoked_token_is_told_why_also_while_its_address_is_locked(bob: User) -> None:
    token, secret = make_token(bob)
    revoke_token(operator(), token)
    said = [over_rest(secret).json()["message"] for _ in range(4)]
    assert said[0] == "The token is revoked or has expired."
    assert said[3].startswith("The token is revoked or has expired. Too many")


def test_a_request_without_a_token_is_not_counted() -> None:
    for _ in range(5):
        assert Client().get("/api/groups").status_code == 401
        assert over_rest("").status_code == 401
        assert over_mcp("").status_code == 401
    assert not Attempts.objects.exists()


def test_locks_double_to_the_longest_and_are_logged_once_each(clock: time_machine.Traveller) -> None:
    waits = []
    for _ in range(4):
        while (answer := over_rest(WRONG)).status_code != 429:
            pass
        for _ in range(5):
            over_rest(WRONG)
        waits.append(int(answer["Retry-After"]))
        clock.shift(waits[-1] + 1)
    assert waits == [30, 60, 100, 100]
    rows = AuditEntry.objects.filter(operation="login").order_by("key").select_related("payload_row")
    assert len(rows) == 4
    assert (rows[0].actor, rows[0].via, rows[0].subject) == ("somebody unknown", "rest", f"address:{OFFICE}")
    assert rows[0].payload_row.payload == {
        "action": "locked",
        "kind": "token",
        "address": OFFICE,
        "failures": 3,
        "until": "2026-05-01T12:00:30+00:00",
    }


def test_no_part_of_a_token_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    for _ in range(5):
        over_rest("loci_secretsecretsecret")
    stored = str(list(Attempts.objects.values())) + str(list(AuditEntry.objects.values()))
    assert "192.0.2.1" in stored
    for text in (stored, caplog.text):
        assert "secretsecret" not in text


def test_while_locked_nothing_is_written(django_assert_num_queries: Any) -> None:
    for _ in range(3):
        over_rest(WRONG)
    before = Attempts.objects.get()
    with django_assert_num_queries(2):  # the token, the lock
        assert over_rest(WRONG).status_code == 429
    assert Attempts.objects.get().count == before.count == 3


def test_a_store_that_cannot_be_written_still_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> int:
        raise DatabaseError("attempt to write a readonly database")

    monkeypatch.setattr(lockouts, "count_try", broken)
    assert [over_rest(WRONG).status_code for _ in range(5)] == [401] * 5


def test_a_lock_is_listed_and_lifted(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        over_rest(WRONG)
    call_command("person", "unlock")
    assert "token" in capsys.readouterr().out
    owner = Client()
    owner.force_login(alice)
    assert "invalid tokens" in owner.get("/admin/access/attempts/").content.decode()
    call_command("person", "unlock", str(Attempts.objects.get().id))
    assert over_rest(WRONG).status_code == 401


def test_after_a_quiet_while_the_count_begins_anew(clock: time_machine.Traveller) -> None:
    for _ in range(3):
        over_rest(WRONG)
    clock.shift(6 * 3600 + 1)
    assert [over_rest(WRONG).status_code for _ in range(3)] == [401, 401, 429]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::1", "::/64"),
        ("unknown", "unknown"),
    ],
)
def test_a_network_of_ipv6_counts_as_one_address(address: str, network: str) -> None:
    assert network_of(address) == network


def test_somebody_with_a_network_of_addresses_is_one(bob: User) -> None:
    answers = [over_rest(WRONG, address=f"2001:db8::{part}").status_code for part in range(4)]
    assert answers == [401, 401, 429, 429]
    assert over_rest(WRONG, address="2001:db8:0:1::1").status_code == 401


def test_a_try_that_comes_while_the_lock_lasts_is_not_counted(clock: time_machine.Traveller) -> None:
    for _ in range(9):
        count_try(token_limit(), OFFICE)
    assert Attempts.objects.get().count == 3
    assert wait_s(token_limit(), OFFICE) == 30


def test_old_counts_of_every_kind_are_deleted_but_no_lock_that_lasts(
    clock: time_machine.Traveller, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_try(token_limit(), HOME)
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, token_failures=1))
    for name in ("FIRST_LOCK", "LONGEST_LOCK"):
        monkeypatch.setattr(lockouts, name, timedelta(seconds=600_000))
    count_try(token_limit(), OFFICE)
    clock.shift(3 * 86_400)
    assert delete_expired() == 1
    assert Attempts.objects.get().address == OFFICE
