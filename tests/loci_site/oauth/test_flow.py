"""A program registers, asks a person, gets tokens that are bound, rotates and gives them back."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken
from pytest_django import Settings

from access.models import ApiToken, AuditEntry, Group, Membership
from access.sign_in.lockouts import tidy_access
from access.tokens import operator, revoke_token
from memories.models import Memory
from tests.file_bytes import bytes_of
from tests.loci_site.oauth.conftest import (
    AUDIENCE,
    BACK,
    ORIGIN,
    VERIFIER,
    Program,
    call,
    landed,
    program_of,
    register,
    result,
)
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def test_a_401_leads_to_the_documents_and_they_to_each_other(db: None) -> None:
    refused = Client().post("/mcp", "{}", content_type="application/json")
    assert refused.status_code == 401
    assert (
        f'resource_metadata="{ORIGIN}/.well-known/oauth-protected-resource/mcp"'
        in refused["WWW-Authenticate"]
    )
    assert 'scope="read write"' in refused["WWW-Authenticate"]
    resource = Client().get("/.well-known/oauth-protected-resource/mcp").json()
    assert (resource["resource"], resource["authorization_servers"]) == (AUDIENCE, [ORIGIN])
    server = Client().get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == ORIGIN
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert server["response_types_supported"] == ["code"]
    assert server["scopes_supported"] == ["create-group", "curate", "read", "write"]
    assert server["authorization_response_iss_parameter_supported"] is True
    for name in ("authorization", "token", "revocation", "registration"):
        assert server[f"{name}_endpoint"].startswith(f"{ORIGIN}/oauth/")


def test_a_program_is_let_in_and_writes_in_the_persons_name(program: Program, ledger: Group) -> None:
    answer = program.allow()
    got = landed(answer)
    assert (got["state"], got["iss"]) == ("st4te", ORIGIN)
    given = program.trade(
        grant_type="authorization_code", code=got["code"], redirect_uri=BACK, code_verifier=VERIFIER
    ).json()
    assert (given["scope"], given["expires_in"], given["token_type"]) == ("read write", 3600, "Bearer")
    stored = result(
        given["access_token"],
        "store_memory",
        content="The gate opens at seven.",
        group="ledger",
        scope="group",
    )
    memory = Memory.objects.get(id=stored["structuredContent"]["id"])
    token = ApiToken.objects.get(connection__application__client_id=program.client_id)
    assert (memory.author.username, memory.token, memory.client) == ("bob", token, "Field notes")
    row = AuditEntry.objects.get(operation="store")
    assert (row.actor, row.token, row.client, row.via) == ("bob/Field notes", token.id, "Field notes", "mcp")


def test_a_person_leaves_out_a_right_and_groups(alice: User, ledger: Group, garden: Group) -> None:
    program = program_of(alice)
    given = program.tokens(rights=["read"], everywhere=None, groups=["garden"])
    assert given["scope"] == "read"
    refused = result(given["access_token"], "store_memory", content="Not allowed.", group="garden")
    assert refused["isError"]
    assert "scope write" in refused["content"][0]["text"]
    assert not result(given["access_token"], "memory_stats", group="garden").get("isError")
    foreign = result(given["access_token"], "memory_stats", group="ledger")
    assert "Nothing is stored yet in 'ledger'" in foreign["content"][0]["text"]


def test_a_program_may_no_more_than_the_person_may_now(program: Program, bob: User, ledger: Group) -> None:
    secret = program.tokens()["access_token"]
    assert not result(secret, "memory_stats", group="ledger").get("isError")
    Membership.objects.filter(user=bob).update(role="viewer")
    assert result(secret, "store_memory", content="Bob may not any more.", group="ledger")["isError"]
    Membership.objects.filter(user=bob).delete()
    assert "Nothing is stored yet" in result(secret, "memory_stats", group="ledger")["content"][0]["text"]
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert call(secret, "memory_stats").status_code == 401


def test_nobody_lets_a_program_do_what_they_may_not(program: Program) -> None:
    asked = "read write curate create-group"
    page = program.ask(scope=asked).content.decode()
    assert 'value="curate"' in page  # a scope that acts only where bob is a curator
    assert 'value="create-group"' not in page
    tampered = program.allow(scope=asked, rights=["read", "create-group"])
    assert tampered.status_code == 200
    assert Grant.objects.count() == 0


def test_the_page_names_the_program_and_where_the_answer_goes(program: Program) -> None:
    page = program.ask()
    text = page.content.decode()
    assert page.status_code == 200
    assert "Field notes" in text
    assert "http://127.0.0.1:3334" in text
    assert page["Cache-Control"] == "no-store"
    assert page["X-Frame-Options"] == "DENY"


def test_a_name_cannot_carry_markup_into_the_page(bob: User) -> None:
    program = program_of(bob)
    Application.objects.update(name='<script>alert("x")</script>\u202e')
    text = program.ask().content.decode()
    assert "<script>alert" not in text
    assert "\u202e" not in text


def test_the_person_is_asked_each_time_whatever_the_program_says(program: Program) -> None:
    program.tokens()
    assert program.ask(approval_prompt="auto").status_code == 200


def test_a_refusal_goes_back_to_the_program(program: Program) -> None:
    assert landed(program.allow(allow=None))["error"] == "access_denied"
    assert ApiToken.objects.count() == 0


def test_nobody_is_asked_who_has_not_logged_in(program: Program) -> None:
    answer = program.raw.get("/oauth/authorize/", program.asked())
    assert answer["Location"].startswith("/login/?next=/oauth/authorize/")


@pytest.mark.parametrize(
    "resource", [None, "http://testserver/", "http://testserver/api", "https://evil.example/mcp"]
)
def test_a_program_that_names_no_audience_or_another_is_sent_back(
    program: Program, resource: str | None
) -> None:
    assert landed(program.ask(resource=resource))["error"] == "invalid_target"
    assert program.allow(resource=resource).status_code == 200
    assert Grant.objects.count() == 0


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"response_type": "token"}, "unauthorized_client"),
        ({"scope": "admin"}, "invalid_scope"),
    ],
)
def test_what_oauth_2_1_forbids_is_sent_back(program: Program, fields: dict[str, str], error: str) -> None:
    answer = program.ask(**fields)
    assert error in answer["Location"]


def test_plain_pkce_gets_no_code(program: Program) -> None:
    answer = program.allow(code_challenge_method="plain")
    assert "code=" not in answer.get("Location", "")
    assert Grant.objects.count() == 0


def test_the_answer_goes_to_no_address_that_was_not_registered(program: Program) -> None:
    answer = program.ask(redirect_uri="https://evil.example/callback")
    assert answer.status_code == 400
    assert "Location" not in answer


def test_a_code_works_once_with_its_verifier(program: Program) -> None:
    code = program.code()
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
    assert program.trade(**fields, code_verifier="wrong" * 12).json()["error"] == "invalid_grant"
    assert program.trade(**fields, code_verifier=VERIFIER).status_code == 200
    assert program.trade(**fields, code_verifier=VERIFIER).json()["error"] == "invalid_grant"


def test_a_token_that_is_bound_to_nothing_is_refused(program: Program) -> None:
    secret = program.tokens()["access_token"]
    assert call(secret, "memory_stats").status_code == 200
    for unbound in (
        [],
        ["http://testserver"],
        ["http://testserver/mcp/"],
        [AUDIENCE, "https://other.example"],
    ):
        AccessToken.objects.update(resource=unbound)
        refused = call(secret, "memory_stats")
        assert (refused.status_code, refused.json()["code"]) == (401, "not_authenticated")
        assert "resource_metadata=" in refused["WWW-Authenticate"]


def test_a_registration_token_opens_nothing(db: None) -> None:
    made = register(Client()).json()
    assert call(made["registration_access_token"], "memory_stats").status_code == 401


def test_an_oauth_token_opens_mcp_alone(program: Program) -> None:
    secret = program.tokens()["access_token"]
    answer = Client().get("/api/groups", HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert answer.status_code == 401


def test_a_token_expires(program: Program) -> None:
    secret = program.tokens()["access_token"]
    AccessToken.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert call(secret, "memory_stats").status_code == 401


def test_refresh_tokens_rotate_and_a_stolen_one_ends_them_all(program: Program) -> None:
    first = program.tokens()
    second = program.refresh(first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert call(first["access_token"], "memory_stats").status_code == 401
    assert call(second["access_token"], "memory_stats").status_code == 200
    assert program.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert call(second["access_token"], "memory_stats").status_code == 401
    assert program.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_program_gives_a_token_back(program: Program) -> None:
    given = program.tokens()
    answer = program.raw.post(
        "/oauth/revoke/", {"client_id": program.client_id, "token": given["refresh_token"]}
    )
    assert answer.status_code == 200
    assert call(given["access_token"], "memory_stats").status_code == 401
    assert program.refresh(given["refresh_token"]).json()["error"] == "invalid_grant"


def test_another_program_cannot_take_a_token_away(program: Program) -> None:
    given = program.tokens()
    other = register(Client(), client_name="Other").json()["client_id"]
    program.raw.post("/oauth/revoke/", {"client_id": other, "token": given["access_token"]})
    assert call(given["access_token"], "memory_stats").status_code == 200


def test_the_person_ends_it_under_tokens(program: Program, bob: User) -> None:
    given = program.tokens()
    revoke_token(person(bob), ApiToken.objects.get(name="Field notes"))
    assert call(given["access_token"], "memory_stats").status_code == 401
    assert program.refresh(given["refresh_token"]).json()["error"] == "invalid_grant"


def test_what_is_allowed_anew_replaces_what_was_allowed(program: Program, ledger: Group) -> None:
    wide = program.tokens()["access_token"]
    program.tokens(rights=["read"])
    assert result(wide, "store_memory", content="Too late.", group="ledger")["isError"]
    assert ApiToken.objects.filter(revoked_at=None).count() == 1
    assert [row.subject for row in AuditEntry.objects.filter(operation="token")] != []


@pytest.mark.sqlite(reason="bytes of the database's file and its write-ahead log")
def test_no_secret_stands_in_the_database_or_the_log(
    transactional_db: None, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    program = program_of(alice)
    open_code = program.code()
    given = program.tokens()
    again = program.refresh(given["refresh_token"]).json()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = Path(connection.settings_dict["NAME"])
    held = b"".join(bytes_of(file) for file in path.parent.glob(f"{path.name}*"))
    assert b"Field notes" in held  # the search finds what is there
    for secret in (
        open_code,
        given["access_token"],
        given["refresh_token"],
        again["access_token"],
        again["refresh_token"],
    ):
        assert secret.encode() not in held
        assert secret not in caplog.text
    assert {token.token for token in AccessToken.objects.all()} == {""}
    assert {token.token for token in RefreshToken.objects.all()} == {""}


def test_programs_register_ten_times_in_a_row_from_one_address(db: None) -> None:
    answers = [register(Client(REMOTE_ADDR="192.0.2.7")) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [201] * 10 + [429]
    assert int(answers[-1]["Retry-After"]) > 0
    assert register(Client(REMOTE_ADDR="192.0.2.8")).status_code == 201


@pytest.mark.parametrize(
    "wrong",
    [
        {"redirect_uris": ["http://evil.example/callback"]},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": []},
        {"redirect_uris": "https://one.example"},
        {"redirect_uris": ["https://a.example https://b.example"]},
        {"grant_types": ["implicit"]},
        {"grant_types": ["password"]},
        {"grant_types": ["client_credentials"]},
        {"client_name": 7},
        {"client_name": "x" * 201},
    ],
)
def test_a_registration_that_could_harm_is_refused(db: None, wrong: dict[str, object]) -> None:
    answer = register(Client(), **wrong)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")
    assert Application.objects.count() == 0


def test_what_has_expired_and_what_nobody_allowed_is_deleted(program: Program) -> None:
    given = program.tokens()
    register(Client(), client_name="Nobody wants it")
    Application.objects.update(created=timezone.now() - timedelta(days=2))
    assert tidy_access(operator()) == "2 rows deleted"  # the program, and its registration token
    assert [each.name for each in Application.objects.all()] == ["Field notes"]
    assert call(given["access_token"], "memory_stats").status_code == 200
    AccessToken.objects.update(expires=timezone.now() - timedelta(days=31))
    tidy_access(operator())
    assert not AccessToken.objects.filter(resource=[AUDIENCE]).exists()


def test_off_there_is_nothing(settings: Settings, db: None) -> None:
    settings.ROOT_URLCONF = "loci_site.urls"
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, oauth=False))
    for path in ("/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"):
        assert Client().get(path).status_code == 404
    assert Client().post("/oauth/register/", "{}", content_type="application/json").status_code == 404
    refused = Client().post("/mcp", "{}", content_type="application/json")
    assert "resource_metadata" not in refused["WWW-Authenticate"]
