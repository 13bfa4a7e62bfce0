"""`loci connect` as a person types it, in a home and a project of their own, where no server runs."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.models import ApiToken, Group
from access.tokens.enrolment import exchange_client_code
from access.tokens.pairing import pair, show_code
from tests.acceptance.house import command
from tests.people import alice, bob, ledger, person

__all__ = ["alice", "bob", "ledger"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alice: User, home: Path) -> None:
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")


def test_a_client_is_connected_once_and_its_token_goes_with_it(
    tmp_path: Path, home: Path, ledger: Group
) -> None:
    assert "No client is connected" in command("connect", "--status")
    said = command("connect", "codex", "--dry-run")
    assert "would be made" in said
    assert not (tmp_path / ".codex").exists()
    assert not ApiToken.objects.exists()
    said = command("connect", "codex", "--group", "ledger", "--place", f"{tmp_path}=ledger")
    assert "type /hooks" in said
    assert "Codex is connected to Loci" in said
    assert "#skip in a prompt" in said
    [token] = ApiToken.objects.all()
    assert (token.scopes, token.default_group) == (["hook", "read", "write"], ledger)
    settings = json.loads((home / "hooks" / "codex.json").read_text())
    assert settings["places"] == {str(tmp_path): "ledger"}
    assert (home / "hooks" / "codex.json").stat().st_mode & 0o077 == 0
    command("connect", "codex")
    assert ApiToken.objects.count() == 1
    status = json.loads(command("connect", "--status", "--json"))
    [row] = status
    assert (row["client"], len(row["files"]["user"])) == ("codex", 2)
    assert row["token"].startswith("No Loci answers at http://127.0.0.1:8000")
    command("connect", "codex", "--remove", "--dry-run")
    assert (tmp_path / ".codex" / "hooks.json").exists()
    assert "Its token is revoked." in command("connect", "codex", "--remove")
    assert [path for path in (tmp_path / ".codex").rglob("*") if path.is_file()] == []
    token.refresh_from_db()
    assert not token.is_valid()
    assert "is not connected" in command("connect", "codex", "--remove")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "No client is named"),
        (("codex", "--hooks", "all"), "'all' is not a part of the hooks"),
        (("codex", "--place", "x"), "names no place and group"),
        (("codex", "--place", "x=none"), "The group 'none' does not exist"),
        (("codex", "--url", "https://x"), "belong together"),
        (("codex", "--url", "x", "--token", "t"), "must begin with http"),
        (("codex", "--url", "http://127.0.0.1:9", "--token", "t"), "not a token of Loci"),
        (("codex", "--url", "http://127.0.0.1:9", "--code", "c"), "No Loci answers at http://127.0.0.1:9"),
        (("cline", "--scope", "project"), "has no file of the scope"),
    ],
)
def test_wrong_words_are_refused_and_nothing_is_written(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    assert said in command("connect", *words)
    assert not ApiToken.objects.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["project"]


def test_a_file_that_is_left_alone_makes_no_token(tmp_path: Path) -> None:
    settings = tmp_path / ".config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{\n  // mine\n  "theme": "One"\n}\n')
    said = command("connect", "zed")
    assert "It has comments" in said
    assert "No token was made" in said
    assert not ApiToken.objects.exists()
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["settings.json"]
    settings.unlink()
    assert f"{settings} is made." in command("connect", "zed")
    assert [token.scopes for token in ApiToken.objects.all()] == [["read", "write"]]


def test_a_token_for_a_client_has_what_it_needs_whoever_makes_it(bob: User) -> None:
    made = json.loads(command("token", "create", "laptop", "--for", "claude-code", "--json"))
    by_code = exchange_client_code(show_code(person(bob), bob, "claude-code").code)
    command("connect", "claude-code")
    scopes = ["hook", "read", "write"]
    assert made["scopes"] == by_code.token.scopes == scopes
    assert [token.scopes for token in ApiToken.objects.all()] == [scopes] * 3


def test_a_former_token_ends_once_no_file_has_it(ledger: Group) -> None:
    connect = ("connect", "claude-code")
    command(*connect)
    assert "former token" not in command(*connect, "--scope", "project", "--group", "ledger")
    assert [token.is_valid() for token in ApiToken.objects.all()] == [True, True]
    assert "The former token is revoked." in command(*connect, "--group", "ledger")
    assert [token.state for token in ApiToken.objects.order_by("key")][1:] == ["revoked", "valid"]
    assert "token is revoked" not in command(*connect, "--remove", "--scope", "project")
    assert "Its token is revoked." in command(*connect, "--remove")
    assert ApiToken.objects.order_by("key")[2].state == "revoked"


def test_a_connection_can_be_kept_from_other_groups_global_memories(ledger: Group) -> None:
    assert "needs groups of its own" in command("connect", "claude-code", "--no-global")
    said = command("connect", "claude-code", "--group", "ledger", "--no-global")
    assert "without global memories of other groups" in said
    [token] = ApiToken.objects.all()
    assert (token.include_global, [group.slug for group in token.groups.all()]) == (False, ["ledger"])


def test_every_way_to_a_token_has_the_default_lifetime(bob: User, settings: Any) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, token_days=30))
    command("token", "create", "laptop", "--for", "claude-code")
    command("connect", "claude-code")
    exchange_client_code(show_code(person(bob), bob, "claude-code").code)
    pair(show_code(person(bob), bob).code, origin="chrome-extension://abcdef")
    ends = [token.expires_at - timezone.now() for token in ApiToken.objects.all() if token.expires_at]
    assert [timedelta(days=29) < left <= timedelta(days=30) for left in ends] == [True] * 4
    forever = json.loads(command("token", "create", "operator", "--days", "0", "--json"))
    assert forever["expires_at"] is None


def test_a_project_gets_no_secret(tmp_path: Path) -> None:
    assert "LOCI_TOKEN" in command("connect", "claude-code", "--scope", "project")
    text = (tmp_path / "project" / ".mcp.json").read_text()
    assert "Bearer ${LOCI_TOKEN}" in text
    command("connect", "claude-code", "--remove", "--scope", "project")


def test_a_project_s_hooks_need_their_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "loci-hook"
    monkeypatch.setenv("PATH", str(program.parent))
    assert "nothing but hooks" in command("connect", "copilot-cli", "--scope", "project")
    assert not ApiToken.objects.exists()
    program.parent.mkdir()
    program.touch(mode=0o755)
    assert "left out" not in command("connect", "copilot-cli", "--scope", "project")
    assert "loci-hook" in (tmp_path / "project" / ".github" / "hooks" / "loci.json").read_text()


def test_lines_for_agents_are_written_once_and_taken_out(tmp_path: Path, ledger: Group) -> None:
    file, other = tmp_path / "project" / "AGENTS.md", tmp_path / "project" / "CLAUDE.md"
    file.write_text("# Rules\n\nBe kind.\n")
    project = ("connect", "claude-code", "--scope", "project", "--group", "ledger")
    assert "AGENTS.md would be written" in command(*project, "--dry-run")
    assert file.read_text() == "# Rules\n\nBe kind.\n"
    command(*project)
    once = file.read_text()
    assert once.startswith("# Rules\n\nBe kind.\n")
    assert "group `ledger`" in once
    command(*project)
    assert (file.read_text(), other.exists()) == (once, False)
    other.write_text("@AGENTS.md\n")
    command(*project)
    assert "group `ledger`" in other.read_text()
    command(*project[:4], "--remove")
    assert (file.read_text(), other.read_text()) == ("# Rules\n\nBe kind.\n", "@AGENTS.md\n")
    file.unlink()
    command(*project)
    command(*project[:4], "--remove")
    assert not file.exists()
