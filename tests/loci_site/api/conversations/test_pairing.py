"""Pairing a browser: a code of six digits, tried five times, and a token for one extension alone."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.errors import NotPermitted
from access.models import ApiToken, Group, Pairing
from access.tokens.pairing import delete_old_codes, show_code
from tests.loci_site.api.conversations.conftest import ORIGIN, TURNS, Browser, conversation, pair_browser
from tests.people import make_token, person

pytestmark = pytest.mark.django_db
OTHER = "chrome-extension://ponmlkjihgfedcbaponmlkjihgfedcba"


def test_a_code_becomes_a_token_of_this_extension_once(bob: User) -> None:
    code = show_code(person(bob), bob).code
    browser = Browser()
    status, made = browser.post("/pair", {"code": f"{code[:3]} {code[3:]}", "name": "laptop"})
    assert (status, made["user"], made["origin"]) == (201, "bob", ORIGIN)
    assert sorted(made["scopes"]) == ["capture", "read"]
    token = ApiToken.objects.get(user=bob)
    assert (token.name, token.origin) == ("laptop", ORIGIN)
    assert browser.post("/pair", {"code": code})[0] == 401


def test_five_wrong_tries_void_the_code(bob: User) -> None:
    code = show_code(person(bob), bob).code
    wrong = f"{(int(code) + 1) % 10**6:06d}"
    for _ in range(5):
        assert Browser().post("/pair", {"code": wrong})[0] == 401
    status, said = Browser().post("/pair", {"code": code})
    assert (status, said["code"]) == (401, "not_authenticated")
    assert "make a new one" in said["hint"]
    fresh = show_code(person(bob), bob).code
    assert Browser().post("/pair", {"code": fresh})[0] == 201


def test_a_code_ends_after_five_minutes(bob: User) -> None:
    code = show_code(person(bob), bob)
    assert code.expires_at - timezone.now() <= timedelta(minutes=5)
    Pairing.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Browser().post("/pair", {"code": code.code})[0] == 401
    assert delete_old_codes() == 1


def test_a_new_code_ends_the_one_before(bob: User) -> None:
    first, second = (show_code(person(bob), bob).code for _ in range(2))
    assert Browser().post("/pair", {"code": first})[0] == (401 if first != second else 201)
    assert Pairing.objects.count() <= 1


def test_nobody_gets_a_code_of_another_person(bob: User, charlie: User) -> None:
    with pytest.raises(NotPermitted):
        show_code(person(charlie), bob)


@pytest.mark.parametrize(
    "origin", ["", "https://claude.ai", "null", "chrome-extension://", "http://127.0.0.1"]
)
def test_only_an_extension_can_be_paired(bob: User, origin: str) -> None:
    code = show_code(person(bob), bob).code
    status, said = Browser(origin=origin).post("/pair", {"code": code})
    assert (status, said["code"]) == (403, "not_permitted")
    assert Browser().post("/pair", {"code": code})[0] == 201  # that did not cost the code


@pytest.mark.parametrize("code", ["", "12345", "abcdef", "1234567", "١٢٣٤٥٦"])
def test_a_code_has_six_digits(code: str, bob: User) -> None:
    status, said = Browser().post("/pair", {"code": code})
    assert (status, said["field"]) == (422, "code")


def test_a_foreign_host_is_refused(bob: User) -> None:
    code = show_code(person(bob), bob).code
    assert Browser(host="evil.example").post("/pair", {"code": code})[0] == 400
    browser = pair_browser(bob)
    assert replace(browser, host="evil.example").post("/captures/search", {"query": "x"})[0] == 400


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/captures", {"conversations": [conversation(*TURNS)]}),
        ("/captures/search", {"query": "mail"}),
        ("/captures/related", {"conversation": {"platform": "claude.ai", "id": "c"}, "text": "mail"}),
        ("/captures/remember", {"conversation": {"platform": "claude.ai", "id": "c"}, "text": "A fact."}),
        ("/captures/removed", {}),
        ("/recall", {"query": "mail", "group": "ledger"}),
    ],
)
def test_the_token_works_for_its_own_extension_alone(browser: Browser, path: str, sent: object) -> None:
    for foreign in (OTHER, "https://claude.ai", ""):
        assert replace(browser, origin=foreign).post(path, sent)[0] == 403
    assert replace(browser, secret="").post(path, sent)[0] == 401


def test_a_program_s_token_is_no_extension_s(bob: User, ledger: Group) -> None:
    secret = make_token(bob, scopes=("read", "capture"))[1]
    sent = {"query": "mail"}
    assert Browser(secret, origin="").post("/captures/search", sent)[0] == 200
    assert Browser(secret, origin=OTHER).post("/captures/search", sent)[0] == 403
    assert Browser(secret, origin="https://claude.ai").post("/captures/search", sent)[0] == 403


def test_the_token_is_of_no_use_to_agents(browser: Browser) -> None:
    client = Client(headers={"Authorization": f"Bearer {browser.secret}", "Origin": "http://testserver"})
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert client.post("/mcp", body, content_type="application/json").status_code == 401
    start = client.post("/hooks/claude-code/session-start", {}, content_type="application/json")
    assert start.status_code == 401
    status, said = browser.post("/memories", {"content": "A fact.", "group": "ledger"})
    assert (status, said["code"]) == (403, "not_permitted")
