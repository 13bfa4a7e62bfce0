"""My account: everybody changes their password, makes and revokes tokens, ends sessions, sets preferences."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from access.models import ApiToken, AuditEntry, Group
from access.tokens import actor_for_secret
from memories.draft import Draft
from memories.store import store
from tests.loci_site.app.conftest import PASSWORD, Remember, browser_of
from tests.people import make_token as token_of
from tests.people import person
from tests.sources.personal.team import read_zip

ACCOUNT, TOKENS = "/admin/account/", "/admin/access/apitoken/"
NEW_TOKEN = f"{TOKENS}add/"
NEW_PASSWORD = "another-long-password"


def logged_in(name: str, **headers: str) -> Client:
    """A browser that came through the login form."""
    client = Client(headers={"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", **headers})
    client.post("/login/", {"username": name, "password": PASSWORD})
    return client


async def body_of(answer: Any) -> bytes:
    """What is sent in parts."""
    return b"".join([part async for part in answer.streaming_content])


def make_token(client: Client, **fields: object) -> str:
    """The secret on the page after the form."""
    user = User.objects.get(pk=client.session["_auth_user_id"]).username
    page = client.post(
        NEW_TOKEN, {"name": "laptop", "user": user, "scopes": ["read", "write"], **fields}
    ).content.decode()
    return re.findall(r"loci_[\w-]{43}", page)[0]


def test_a_member_makes_uses_and_revokes_a_token(member: Client, bob: User, ledger: Group) -> None:
    page = member.get(NEW_TOKEN).content.decode()
    assert re.findall(r'name="scopes" value="([\w-]+)"', page) == ["read", "write", "hook", "capture"]
    secret = make_token(member, groups=["ledger"], default_group="ledger", expires_at="2031-05-08T10:00")
    actor = actor_for_secret(secret)
    assert (actor.user_id, actor.roles, actor.default_group) == (
        bob.pk,
        {ledger.key: "contributor"},
        "ledger",
    )
    token = ApiToken.objects.get(user=bob)
    assert token.expires_at is not None
    listed = member.get(ACCOUNT).content.decode()
    assert f'href="{TOKENS}{token.id}/change/"' in listed
    assert secret not in listed
    member.post(f"{TOKENS}{token.id}/revoke/")
    token.refresh_from_db()
    assert token.state == "revoked"


def test_a_token_can_be_kept_from_other_groups_global_memories(member: Client, ledger: Group) -> None:
    page = member.post(NEW_TOKEN, {"name": "x", "user": "bob", "scopes": ["read"], "no_global": "on"})
    assert "needs groups of its own" in page.content.decode()
    assert not ApiToken.objects.exists()
    assert actor_for_secret(make_token(member, groups=["ledger"], no_global="on")).include_global is False


@pytest.mark.parametrize(
    ("client", "line"),
    [
        ("Claude Code", "claude mcp add --transport http loci"),
        ("Codex", "codex mcp add loci --url"),
        ("Cursor", "~/.cursor/mcp.json"),
    ],
)
def test_the_new_tokens_page_connects_the_chosen_client(
    member: Client, bob: User, client: str, line: str
) -> None:
    sent = {"name": "laptop", "user": bob.username, "scopes": ["read"], "client": client}
    page = member.post(NEW_TOKEN, sent)
    assert "no-store" in page["Cache-Control"]
    assert line in page.content.decode()
    assert len(re.findall(r"loci_[\w-]{43}", page.content.decode())) == 1


@pytest.mark.parametrize(
    "beyond",
    [
        {"scopes": ["curate"]},
        {"scopes": ["create-group"]},
        {"groups": ["garden"]},
        {"scopes": []},
        {"user": "alice"},
    ],
)
def test_a_token_has_no_more_than_ones_role(
    member: Client, bob: User, garden: Group, beyond: dict[str, object]
) -> None:
    answer = member.post(NEW_TOKEN, {"name": "x", "user": "bob", "scopes": ["read"], **beyond})
    assert answer.context["form"].errors
    assert not ApiToken.objects.filter(user=bob).exists()


def test_a_member_downloads_their_own_data(
    member: Client, bob: User, ledger: Group, remember: Remember
) -> None:
    remember("Only alice knows this.")
    store(person(bob), Draft("Only bob knows that.", group="ledger"))
    assert f'action="{ACCOUNT}data/"' in member.get(ACCOUNT).content.decode()
    assert member.get(f"{ACCOUNT}data/").status_code == 405
    answer = member.post(f"{ACCOUNT}data/")
    assert answer["Content-Disposition"] == 'attachment; filename="bob-loci.zip"'
    assert answer["Cache-Control"] == "no-store, private"
    files = read_zip(async_to_sync(body_of)(answer))
    assert "Only bob knows that." in files["memories.jsonl"]
    assert "alice" not in "".join(files.values())


@pytest.mark.sqlite(reason="Loci encrypts no other database")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="lists the files that are open")
@pytest.mark.parametrize(("encryption", "files"), [("none", 1), ("sqlcipher", 0)])
def test_the_download_of_an_encrypted_store_is_never_on_the_disk(
    member: Client, settings: Settings, encryption: str, files: int
) -> None:
    storage = replace(settings.LOCI.storage, encryption=encryption)
    settings.LOCI = replace(settings.LOCI, storage=storage, database_key="5e" * 32)
    answer = member.post(f"{ACCOUNT}data/")
    names = [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    home = str(settings.LOCI.home.resolve())
    assert len([name for name in names if name.startswith(home) and name.endswith("(deleted)")]) == files
    read_zip(async_to_sync(body_of)(answer))


def test_another_persons_token_is_not_there(member: Client, alice: User) -> None:
    token, _ = token_of(alice)
    assert member.post(f"{TOKENS}{token.id}/revoke/").status_code == 404
    token.refresh_from_db()
    assert token.state == "valid"


def test_a_new_password_ends_the_other_sessions(bob: User) -> None:
    here, there = logged_in("bob"), logged_in("bob")
    sent = {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    assert here.post(f"{ACCOUNT}password/", sent).status_code == 302
    assert here.get(ACCOUNT).status_code == 200
    assert there.get(ACCOUNT).status_code == 302
    bob.refresh_from_db()
    assert bob.check_password(NEW_PASSWORD)
    logged = AuditEntry.objects.filter(operation="person").latest("key")
    assert (logged.via, logged.actor, logged.subject) == ("app", "bob", "user:bob")


def test_the_old_password_cannot_be_guessed(member: Client, bob: User) -> None:
    sent = {"old_password": "wrong", "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    said = ""
    for _ in range(8):
        said = member.post(f"{ACCOUNT}password/", sent).content.decode()
    assert "Try again in" in said
    right = member.post(f"{ACCOUNT}password/", {**sent, "old_password": PASSWORD})
    assert right.status_code == 422
    bob.refresh_from_db()
    assert bob.check_password(PASSWORD)


def test_sessions_are_listed_and_ended_one_by_one(bob: User, alice: User) -> None:
    here, there, alices = logged_in("bob"), logged_in("bob"), logged_in("alice")
    page = here.get(ACCOUNT).content.decode()
    assert page.count("Firefox on Linux</strong>") == 2
    assert there.session.session_key not in page
    for handle in re.findall(r"sessions/(\w+)/end/", page):
        assert alices.post(f"{ACCOUNT}sessions/{handle}/end/").status_code == 404
        assert here.post(f"{ACCOUNT}sessions/{handle}/end/").status_code == 302
    assert [client.get(ACCOUNT).status_code for client in (here, there, alices)] == [200, 302, 200]


def test_all_other_sessions_end_at_once(bob: User) -> None:
    here, there, further = logged_in("bob"), logged_in("bob"), logged_in("bob")
    here.post(f"{ACCOUNT}sessions/end-others/")
    assert [client.get(ACCOUNT).status_code for client in (here, there, further)] == [200, 302, 302]


def test_preferences_count_on_every_page(member: Client, bob: User) -> None:
    sent = {"theme": "dark", "time_zone": "Asia/Tokyo"}
    assert member.post(f"{ACCOUNT}preferences/", sent).status_code == 302
    page = member.get("/admin/groups/").content.decode()
    assert 'class="dark"' in page
    assert 'aria-labelledby="keys-title" data-off>' in page
    make_token(member)
    ApiToken.objects.update(last_used_at="2026-05-08T22:30:00Z")
    assert "2026-05-09 07:30" in member.get(ACCOUNT).content.decode()


@pytest.mark.parametrize("wrong", [{"theme": "pink"}, {"time_zone": "Mars/Base"}])
def test_a_wrong_preference_is_refused(member: Client, wrong: dict[str, str]) -> None:
    assert member.post(f"{ACCOUNT}preferences/", wrong).status_code == 422


def test_a_stranger_has_an_account_too(stranger: Client) -> None:
    assert "ask an admin of a group" in stranger.get(ACCOUNT).content.decode()
    assert actor_for_secret(make_token(stranger, scopes=["read"])).roles == {}


def test_an_account_that_is_switched_off_is_closed(bob: User) -> None:
    client = browser_of(bob)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert client.get(ACCOUNT).status_code == 302
