"""Codes used twice, PKCE methods, redirect addresses and what the consent page asks for."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken

from access.models import ApiToken, Group
from loci_site.oauth.consent import origin
from loci_site.oauth.validator import Validator
from tests.loci_site.oauth.conftest import BACK, VERIFIER, Program, call, landed, program_of, register

pytestmark = [pytest.mark.django_db, pytest.mark.model]

INJECTED = "https://x; script-src-elem * 'unsafe-inline'; frame-ancestors *"


def trade(program: Program, code: str) -> Any:
    return program.trade(
        grant_type="authorization_code", code=code, redirect_uri=BACK, code_verifier=VERIFIER
    )


def test_a_code_used_twice_ends_the_tokens_it_gave(program: Program) -> None:
    code = program.code()
    given = trade(program, code).json()
    assert call(given["access_token"], "memory_stats").status_code == 200
    assert trade(program, code).json()["error"] == "invalid_grant"
    assert call(given["access_token"], "memory_stats").status_code == 401
    assert program.refresh(given["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_code_used_twice_ends_what_was_refreshed_since(program: Program) -> None:
    code = program.code()
    given = trade(program, code).json()
    later = program.refresh(given["refresh_token"]).json()
    assert call(later["access_token"], "memory_stats").status_code == 200
    trade(program, code)
    assert call(later["access_token"], "memory_stats").status_code == 401
    assert program.refresh(later["refresh_token"]).json()["error"] == "invalid_grant"


def test_another_programs_tries_and_made_up_codes_end_nothing(program: Program, bob: User) -> None:
    code = program.code()
    given = trade(program, code).json()
    trade(program_of(bob), code)
    trade(program, "made-up")
    assert call(given["access_token"], "memory_stats").status_code == 200


def test_a_second_consent_is_another_family(program: Program) -> None:
    first, second = program.code(), program.code()
    trade(program, first)
    kept = trade(program, second).json()
    trade(program, first)
    assert call(kept["access_token"], "memory_stats").status_code == 200
    assert RefreshToken.objects.values("token_family").distinct().count() == 2


def test_what_a_withdrawn_consent_gave_stays_ended_under_the_next(program: Program) -> None:
    old, code = program.tokens(), program.code()
    ApiToken.objects.filter(connection__application__client_id=program.client_id).update(
        revoked_at=timezone.now()
    )
    new = program.tokens()
    assert call(new["access_token"], "memory_stats").status_code == 200
    assert call(old["access_token"], "memory_stats").status_code == 401
    assert program.refresh(old["refresh_token"]).json()["error"] == "invalid_grant"
    assert trade(program, code).json()["error"] == "invalid_grant"


def test_a_consent_that_widens_a_valid_one_leaves_the_program_logged_in(program: Program) -> None:
    old = program.tokens()
    program.tokens()
    assert call(old["access_token"], "memory_stats").status_code == 200


@pytest.mark.parametrize("challenge", ["é" * 43, "short", "a" * 44, "a" * 42 + "=", ""])
def test_a_challenge_that_is_no_hash_is_sent_back(program: Program, challenge: str) -> None:
    got = landed(program.ask(code_challenge=challenge))
    assert (got["error"], got["state"]) == ("invalid_request", "st4te")
    changed = program.allow(code_challenge=challenge)
    assert (changed.status_code, Grant.objects.exists()) == (200, False)
    assert "code_challenge must be" in changed.content.decode()


def test_a_registration_is_deleted_by_its_own_token_without_a_cookie(program: Program, bob: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    made = register(strict).json()
    address = urlsplit(made["registration_client_uri"]).path
    assert strict.delete(address, HTTP_AUTHORIZATION="Bearer made-up").status_code in (401, 403)
    token = made["registration_access_token"]
    assert strict.delete(address, HTTP_AUTHORIZATION=f"Bearer {token}").status_code == 204
    assert not Application.objects.filter(client_id=made["client_id"]).exists()


@pytest.mark.parametrize("field", ["client_name", "client_uri"])
def test_half_a_character_registers_nothing(db: None, field: str) -> None:
    answer = register(Client(), **{field: "\ud800"})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")
    assert not Application.objects.exists()


def test_tokens_that_another_request_replaced_are_no_internal_error(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the answer's tokens and the second look at them, another request refreshes."""
    given = program.tokens()
    made = Validator.save_bearer_token

    def save_and_lose(self: Validator, token: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        made(self, token, request, *args, **kwargs)
        AccessToken.objects.all().delete()

    monkeypatch.setattr(Validator, "save_bearer_token", save_and_lose)
    answer = program.refresh(given["refresh_token"])
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize("method", ["plain", None])
def test_plain_pkce_is_sent_back_before_the_person_is_asked(program: Program, method: str | None) -> None:
    answer = program.ask(code_challenge_method=method)
    assert answer.status_code == 302
    got = landed(answer)
    assert (got["error"], got["state"]) == ("invalid_request", "st4te")
    assert "S256" in got["error_description"]


@pytest.mark.parametrize(
    "address",
    [INJECTED, "https://evil.example/callback", "javascript:alert(1)", "//evil.example", "", "http://["],
)
def test_an_address_that_is_not_the_programs_stands_in_no_header(program: Program, address: str) -> None:
    for answer in (
        program.ask(redirect_uri=address),
        program.ask(redirect_uri=address, resource="https://other.example/mcp"),
        program.ask(redirect_uri=address, code_challenge_method="plain"),
        program.ask(redirect_uri=address, scope="admin"),
        program.allow(redirect_uri=address),
        program.allow(redirect_uri=address, allow=None),
        program.allow(redirect_uri=address, rights=[]),
        program.allow(redirect_uri=address, resource="https://other.example/mcp"),
        program.allow(redirect_uri=address, response_type="token"),
    ):
        assert answer.status_code == 400, answer
        assert "Location" not in answer
        policy = re.search(r"form-action ([^;]*);", answer["Content-Security-Policy"])
        assert policy is not None
        assert policy[1] == "'self'"
        assert answer["Content-Security-Policy"].count("frame-ancestors") == 1
    assert Grant.objects.count() == 0
    assert ApiToken.objects.count() == 0


def test_a_form_that_names_an_unknown_program_is_refused(program: Program) -> None:
    answer = program.allow(client_id="nobody")
    assert (answer.status_code, "Location" in answer) == (400, False)


def test_the_page_lets_its_form_go_to_the_programs_own_address(program: Program) -> None:
    assert "form-action 'self' http://127.0.0.1:3334;" in program.ask()["Content-Security-Policy"]


@pytest.mark.parametrize(
    "address",
    ["https://claude.ai@evil.example/cb", "https://a;frame-ancestors/cb", "https://a,b/cb", "https:///cb"],
)
def test_a_program_cannot_register_a_host_that_misleads(db: None, address: str) -> None:
    answer = register(Client(), redirect_uris=[address])
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")
    assert Application.objects.count() == 0


@pytest.mark.parametrize(
    "address",
    ["https://a.example/cb", "https://a.example:8443/cb", "http://[::1]:99/cb", "cursor://anysphere/cb"],
)
def test_a_program_registers_an_ordinary_address(db: None, address: str) -> None:
    assert register(Client(), redirect_uris=[address]).status_code == 201


def test_an_origin_is_never_more_than_a_host() -> None:
    assert origin("https://a.example:8443/cb?x=1") == "https://a.example:8443"
    assert origin("https://a;sandbox/cb") == ""
    assert origin("cursor://anysphere/cb") == "cursor:"


def test_the_page_asks_for_chosen_groups_not_for_all(alice: User, ledger: Group, garden: Group) -> None:
    program = program_of(alice)
    page = program.ask().content.decode()
    choices = re.findall(r'<input[^>]*name="(everywhere|groups|rights)"[^>]*>', page)
    assert choices == ["rights", "rights", "groups", "groups", "everywhere"]
    ticked = re.findall(r'<input[^>]*name="(\w+)"[^>]* checked(?=[ >])[^>]*>', page)
    assert ticked == ["rights", "rights"]
    unchosen = program.allow(everywhere=None)
    assert unchosen.status_code == 200
    assert "Choose at least one group" in unchosen.content.decode()
    assert Grant.objects.count() == 0


def test_a_person_without_groups_sees_what_is_missing(db: None) -> None:
    program = program_of(User.objects.create_user("dora"))
    unchosen = program.allow(everywhere=None)
    assert "Choose at least one group" in unchosen.content.decode()
