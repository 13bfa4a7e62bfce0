"""Programs that fail too often have to wait; others behind the same address go on."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from access.models import Attempts, AuditEntry, Group
from access.sign_in import lockouts
from tests.loci_site.oauth.conftest import BACK, VERIFIER, Program, call, program_of, register

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.fixture(autouse=True)
def few_are_free(settings: Settings, switched_on: None, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, token_failures=2))
    monkeypatch.setattr(lockouts, "OAUTH_FAILURES", 2)
    monkeypatch.setattr(lockouts, "REGISTRATIONS", 3)


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel("2026-05-01 12:00:00+00:00", tick=False) as moved:
        yield moved


def guess(program: Program) -> Any:
    return program.trade(
        grant_type="authorization_code", code="guessed", redirect_uri=BACK, code_verifier=VERIFIER
    )


def test_a_program_that_guesses_codes_has_to_wait(program: Program, clock: time_machine.Traveller) -> None:
    answers = [guess(program) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [400, 400, 429]
    assert (answers[2]["Retry-After"], answers[2].json()["error"]) == ("30", "temporarily_unavailable")
    code = program.code()
    trade = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
    }
    assert program.trade(**trade).status_code == 429
    clock.shift(31)
    assert program.trade(**trade).status_code == 200


def test_another_program_behind_the_same_address_goes_on(program: Program, bob: User, ledger: Group) -> None:
    for _ in range(4):
        guess(program)
    assert program_of(bob).tokens()["token_type"] == "Bearer"


def test_many_failures_together_lock_the_address(program: Program, bob: User) -> None:
    answers = [program.raw.post("/oauth/token/", {"client_id": f"made-up-{number}"}) for number in range(11)]
    assert [answer.status_code for answer in answers[:10]] == [answers[0].status_code] * 10
    assert 400 <= answers[0].status_code < 429
    assert answers[10].status_code == 429
    elsewhere = Client(REMOTE_ADDR="192.0.2.9").post("/oauth/token/", {"client_id": "made-up-1"})
    assert elsewhere.status_code == answers[0].status_code


def test_a_trade_that_succeeds_begins_anew(program: Program) -> None:
    for _ in range(3):
        assert guess(program).status_code == 400
        refreshed = program.refresh(program.tokens()["refresh_token"])
        assert refreshed.status_code == 200


def test_giving_back_with_a_wrong_secret_is_limited_too(db: None) -> None:
    made = register(Client(), token_endpoint_auth_method="client_secret_basic").json()
    wrong = b64encode(f"{made['client_id']}:wrong".encode()).decode()
    raw = Client(HTTP_AUTHORIZATION=f"Basic {wrong}")
    answers = [raw.post("/oauth/revoke/", {"token": "x"}).status_code for _ in range(3)]
    assert answers[2] == 429
    assert answers[0] == answers[1]
    assert Attempts.objects.filter(kind="oauth").count() == 1
    assert Client(HTTP_AUTHORIZATION="Basic \u00e9").post("/oauth/token/", {}).status_code in (400, 401)


def test_registrations_are_limited_and_logged_once(db: None) -> None:
    answers = [register(Client()).status_code for _ in range(6)]
    assert answers == [201] * 3 + [429] * 3
    row = AuditEntry.objects.select_related("payload_row").get(operation="login")
    assert (row.actor, row.payload_row.payload["kind"], row.payload_row.payload["failures"]) == (
        "unknown person",
        "register",
        3,
    )


def test_locks_of_programs_are_logged_once(program: Program) -> None:
    for _ in range(6):
        guess(program)
    kinds = [
        row.payload_row.payload["kind"]
        for row in AuditEntry.objects.filter(operation="login").select_related("payload_row")
        if row.payload_row.payload["action"] == "locked"
    ]
    assert kinds == ["oauth"]


def test_a_registration_token_that_does_not_work_counts_as_any_token(program: Program) -> None:
    address = f"/oauth/register/{program.client_id}/"
    wrong = Client(HTTP_AUTHORIZATION="Bearer wrong")
    answers = [wrong.get(address).status_code for _ in range(3)]
    assert answers[0] in (401, 403)
    assert answers[1:] == [429, 429]


def test_an_access_token_that_is_not_known_counts_and_one_that_works_passes(
    program: Program, ledger: Group
) -> None:
    secret = program.tokens()["access_token"]
    assert [call("wrong", "memory_stats").status_code for _ in range(3)] == [401, 429, 429]
    assert call(secret, "memory_stats", group="ledger").status_code == 200
