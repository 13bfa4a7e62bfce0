"""A one-time code for a client, the file that is served, and what a token is told about itself."""

import ast
import hashlib
import io
import json
import re
import shlex
import zipfile
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.clients import CLIENTS
from access.errors import InvalidInput, NotAuthenticated, NotPermitted
from access.models import ApiToken, AuditEntry, Group, Pairing
from access.tokens.enrolment import exchange_client_code
from access.tokens.pairing import show_code
from loci_site import __version__
from loci_site.enrolment.lines import enrolment_lines
from loci_site.enrolment.wheel import client_script, client_wheel
from memories.draft import Draft
from memories.store import store
from tests.people import alice, bob, charlie, garden, ledger, make_token, person

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]
pytestmark = pytest.mark.django_db


def post(path: str, sent: Any, secret: str = "") -> tuple[int, dict[str, Any]]:
    client = Client(headers={"Authorization": f"Bearer {secret}"} if secret else {})
    answer = client.post(f"/connect/{path}", json.dumps(sent), content_type="application/json")
    return answer.status_code, answer.json()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_code_becomes_the_persons_token_for_this_client_once(bob: User, client: str) -> None:
    code = show_code(person(bob), bob, client).code
    assert code not in json.dumps([*Pairing.objects.values()], default=str)
    status, made = post("token", {"code": code, "machine": "laptop"})
    [token] = ApiToken.objects.all()
    assert (status, token.user, token.name) == (201, bob, f"{client} on laptop")
    assert made["scopes"] == token.scopes == sorted(CLIENTS[client].scopes)
    assert post("token", {"code": code})[0] == 401
    rows = json.dumps([*AuditEntry.objects.values()], default=str)
    assert code not in rows
    assert made["token"] not in rows


def test_a_code_ends_after_ten_minutes_with_the_next_one_and_with_its_person(bob: User) -> None:
    first = show_code(person(bob), bob, "codex")
    assert timedelta(minutes=9) < first.expires_at - timezone.now() <= timedelta(minutes=10)
    second, other = (show_code(person(bob), bob, name).code for name in ("codex", "gemini"))
    with pytest.raises(NotAuthenticated):
        exchange_client_code(first.code)
    Pairing.objects.filter(client="codex").update(expires_at=timezone.now() - timedelta(seconds=1))
    User.objects.filter(pk=bob.pk).update(is_active=False)
    for code in (second, other):
        with pytest.raises(NotAuthenticated):
            exchange_client_code(code)
    assert not ApiToken.objects.exists()


def test_no_code_begins_as_an_option_does(bob: User) -> None:
    assert all(show_code(person(bob), bob, "codex").code.isalnum() for _ in range(30))


def test_a_code_is_for_oneself_and_a_known_client(bob: User, charlie: User) -> None:
    with pytest.raises(NotPermitted):
        show_code(person(charlie), bob, "codex")
    with pytest.raises(InvalidInput):
        show_code(person(bob), bob, "notepad")


def test_guesses_are_limited_by_address_and_void_no_code(bob: User, settings: Any) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, token_failures=5))
    code, digits = show_code(person(bob), bob, "codex").code, show_code(person(bob), bob).code
    assert post("token", {"code": digits})[0] == 401
    statuses = [post("token", {"code": f"guess-{number}"})[0] for number in range(7)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert post("token", {"code": code})[0] == 201
    assert Pairing.objects.get(client="").tries == 0


@pytest.mark.parametrize(
    "sent", [None, [], {}, {"code": None}, {"code": ["x"]}, {"code": "\x00"}, {"code": "\ud800"}]
)
def test_what_is_no_code_is_refused(sent: Any, bob: User) -> None:
    assert post("token", sent)[0] == 401


def test_the_file_is_the_same_for_everybody_and_whole(bob: User) -> None:
    wheel = client_wheel()
    answer = Client().get(f"/connect/{wheel.name}")
    assert (answer.status_code, answer.content) == (200, wheel.data)
    assert hashlib.sha256(wheel.data).hexdigest() == wheel.sha256
    client_wheel.cache_clear()
    assert client_wheel() == wheel
    with zipfile.ZipFile(io.BytesIO(wheel.data)) as file:
        assert file.testzip() is None
        names = set(file.namelist())
        record = file.read(f"loci_client-{__version__}.dist-info/RECORD").decode()
    assert {line.partition(",")[0] for line in record.splitlines()} == names
    assert Client().get("/connect/loci_client-0.0.1-py3-none-any.whl").status_code == 404


@pytest.mark.parametrize("client", CLIENTS)
def test_a_line_is_short_and_the_same_to_every_shell(bob: User, settings: Any, client: str) -> None:
    server = replace(settings.LOCI.server, public_url="https://memory.example.org")
    settings.LOCI = replace(settings.LOCI, server=server)
    lines = [line.text for line in enrolment_lines(client, show_code(person(bob), bob, client).code)]
    assert len(lines[0]) <= 250
    for line in lines:
        _, run, after = re.split(r' -c "(.*)" ', line)
        assert set(run).isdisjoint('"$`\\!%')
        assert shlex.split(f'"{run}"') == [run]
        assert re.fullmatch(rf"{client} [a-z0-9]+", after)
        ast.parse(run, feature_version=(3, 9))


def test_the_script_is_what_its_address_says_and_old_pythons_read_it() -> None:
    script = client_script()
    assert hashlib.sha256(script.data).hexdigest()[:32] == script.name
    assert client_wheel().sha256 in script.data.decode()
    assert Client().get(f"/connect/{script.name}").content == script.data
    ast.parse(script.data, feature_version=(3, 9))


def test_a_token_is_told_who_it_is_and_what_its_folder_would_get(
    bob: User, alice: User, ledger: Group, garden: Group
) -> None:
    for group in ("ledger", "garden"):
        store(person(alice), Draft(f"The {group} is kept by Anna Berg.", group=group, scope="group"))
    _, secret = make_token(bob, scopes=("read", "write"))
    _, told = post("check", {"cwd": "/home/bob/ledger"}, secret)
    assert told == {
        "version": __version__, "user": "bob", "scopes": ["read", "write"], "groups": ["ledger"],
        "include_global": True, "group": "ledger", "example": "The ledger is kept by Anna Berg.",
    }  # fmt: skip
    _, told = post("check", {"cwd": "/home/bob/garden", "loci": {"group": "garden"}}, secret)
    assert (told["group"], told["example"]) == ("", "")
    assert post("check", {}, make_token(bob, scopes=("write",))[1])[1]["example"] == ""
    assert post("check", {}, "loci_wrong")[0] == 401
    assert post("check", {})[0] == 401


def test_a_token_ends_itself_alone(bob: User) -> None:
    (token, secret), (other, _) = make_token(bob), make_token(bob)
    assert post("revoke", {}, secret) == (200, {})
    for each in (token, other):
        each.refresh_from_db()
    assert (token.state, other.is_valid()) == ("revoked", True)
    assert post("revoke", {}, secret)[0] == post("revoke", {})[0] == 401


def test_a_token_shows_and_forgets_what_hooks_captured_of_its_person_alone(
    bob: User, alice: User, charlie: User
) -> None:
    made = {}
    for user, text in ((alice, "The ledger runs on brass."), (bob, "Invoices carry nine digits.")):
        draft = Draft(text, group="ledger", source="hook:codex", source_ref=user.username)
        made[user.username] = store(person(user), draft).memory
    id_, secret = str(made["bob"].id), make_token(bob, scopes=("read", "write"))[1]
    [row] = post("captured", {}, secret)[1]["captured"]
    assert (row["memory"], row["group"], row["outcome"]) == (id_, "ledger", "live")
    assert [row["outcome"] for row in post("captured", {"undo": id_}, secret)[1]["captured"]] == ["forgotten"]
    assert post("captured", {}, make_token(charlie, scopes=("read", "write"))[1]) == (200, {"captured": []})
    assert post("captured", {"undo": id_}, make_token(bob, scopes=("read",))[1])[0] == 403
    foreign = {"undo": str(made["alice"].id)}
    assert post("captured", foreign, make_token(charlie, scopes=("read", "write"))[1])[0] == 404
    assert post("captured", {}, "loci_wrong")[0] == post("captured", {})[0] == 401
