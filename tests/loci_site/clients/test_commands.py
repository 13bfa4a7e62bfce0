"""`loci connect`, `disconnect` and `agents` as a person types them, in a home and a project of their own."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.models import ApiToken, Group
from tests.acceptance.house import command
from tests.people import alice, ledger

__all__ = ["alice", "ledger"]
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
    [token] = ApiToken.objects.all()
    assert (token.scopes, token.default_group) == (["hook", "read", "write"], ledger)
    settings = json.loads((home / "hooks" / "codex.json").read_text())
    assert settings["places"] == {str(tmp_path): "ledger"}
    assert (home / "hooks" / "codex.json").stat().st_mode & 0o077 == 0
    command("connect", "codex")
    assert ApiToken.objects.count() == 1
    status = json.loads(command("connect", "--status", "--json"))
    assert [(row["client"], row["token"], len(row["files"]["user"])) for row in status] == [
        ("codex", "valid", 2)
    ]
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
        (("cline", "--scope", "project"), "has no file of the scope"),
    ],
)
def test_wrong_words_are_refused_and_nothing_is_written(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    assert said in command("connect", *words)
    assert not ApiToken.objects.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["project"]


def test_a_project_gets_no_secret(tmp_path: Path) -> None:
    assert "LOCI_TOKEN" in command("connect", "claude-code", "--scope", "project")
    text = (tmp_path / "project" / ".mcp.json").read_text()
    assert "Bearer ${LOCI_TOKEN}" in text
    command("connect", "claude-code", "--remove", "--scope", "project")


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
