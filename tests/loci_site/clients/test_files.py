"""Twelve configuration files: connected twice, and after disconnecting byte for byte as they were, or refused beforehand."""

import json
import stat
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from access.clients import CLIENTS, PROJECT, USER
from loci_site.clients.connect import FileChange, Wish, apply, disconnect, plan, write_hook_settings
from loci_site.clients.files import Ledger
from loci_site.clients.merging import parse_json

SECRET = "loci_secret-of-the-client"
FOREIGN = {
    "model": "opus",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "Notification": []},
    "mcpServers": {"other": {"command": "x"}},
}
PLAIN = json.dumps(FOREIGN, indent=4) + "\n"
# Name → bytes, and whether Loci may change them.
FILES: dict[str, tuple[bytes, bool]] = {
    "empty": (b"", True),
    "empty object": (b"{}", True),
    "foreign hooks and servers": (PLAIN.encode(), True),
    "tabs, no last line end": (json.dumps(FOREIGN, indent="\t").encode(), True),
    "one line": (json.dumps(FOREIGN).encode() + b"\n", True),
    "CRLF": (PLAIN.replace("\n", "\r\n").encode(), True),
    "mark of order": (b"\xef\xbb\xbf" + PLAIN.encode(), True),
    "other letters": ('{"name": "Größe", "e": "\\u00e9"}\n'.encode(), True),
    "comments": (b'{\n  // mine\n  "model": "opus"\n}\n', False),
    "broken": (b'{"model": "opus",', False),
    "a list": (b"[1]\n", False),
    "a name twice": (b'{"hooks": {}, "hooks": {"Stop": []}}', False),
}


@pytest.fixture
def wish(tmp_path: Path) -> Wish:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Wish(
        "gemini", "http://127.0.0.1:8000", SECRET, home=tmp_path / "home", project=tmp_path / "project",
        hooks=tmp_path / "loci" / "hooks",
    )  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "loci")


def connect(wish: Wish, ledger: Ledger) -> list[FileChange]:
    changes = plan(wish)
    apply(wish, ledger, changes)
    write_hook_settings(wish, ledger, {})
    return changes


def below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", FILES)
def test_after_disconnecting_a_file_is_as_it_was(wish: Wish, ledger: Ledger, name: str) -> None:
    before, is_mergeable = FILES[name]
    path = wish.home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(before)
    path.chmod(0o640)
    [change] = connect(wish, ledger)
    if not is_mergeable:
        assert change.refusal
        assert SECRET in change.snippet
        assert path.read_bytes() == before
        return
    once = path.read_bytes()
    assert once.count(b"BeforeAgent") == 1
    assert parse_json(once)["mcpServers"]["loci"]["headers"] == {"Authorization": f"Bearer {SECRET}"}
    was = parse_json(before)
    assert parse_json(once).get("model") == was.get("model")
    connect(wish, ledger)
    assert path.read_bytes() == once
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    disconnect("gemini", ledger)
    assert path.read_bytes() == before
    assert below(ledger.folder) == {}


def test_a_file_that_was_changed_meanwhile_loses_only_what_is_locis(wish: Wish, ledger: Ledger) -> None:
    path = wish.home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text(PLAIN)
    connect(wish, ledger)
    path.write_text(path.read_text().replace('"opus"', '"haiku"'))
    connect(wish, ledger)
    disconnect("gemini", ledger)
    assert json.loads(path.read_text()) == {**FOREIGN, "model": "haiku"}


def test_a_file_that_may_not_be_written_is_refused_and_a_link_stays_one(wish: Wish, ledger: Ledger) -> None:
    path = wish.home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text(PLAIN)
    path.chmod(0o444)
    [change] = connect(wish, ledger)
    assert (change.refusal, path.read_text()) == ("It may not be written.", PLAIN)
    path.chmod(0o644)
    target = wish.home / "dotfiles.json"
    path.rename(target)
    path.symlink_to(target)
    connect(wish, ledger)
    assert path.is_symlink()
    assert SECRET in target.read_text()
    disconnect("gemini", ledger)
    assert (path.is_symlink(), target.read_text()) == (True, PLAIN)


def test_another_server_of_that_name_is_left_alone(wish: Wish, ledger: Ledger) -> None:
    path = wish.home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"loci": {"command": "another"}}}))
    [change] = connect(wish, ledger)
    assert "another server" in change.refusal


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_can_be_connected_and_leaves_nothing(wish: Wish, ledger: Ledger, client: str) -> None:
    wish = replace(wish, client=client)
    connect(wish, ledger)
    written = b"".join(below(wish.home).values())
    assert written.count(SECRET.encode()) == 1
    assert b"http://127.0.0.1:8000/mcp" in written
    assert not any(change.is_needed for change in plan(wish))
    disconnect(client, ledger)
    assert (below(wish.home), below(ledger.folder)) == ({}, {})


@pytest.mark.parametrize(
    "client", [name for name, spec in CLIENTS.items() if any(PROJECT in f.paths for f in spec.files)]
)
def test_a_projects_file_has_no_secret(wish: Wish, ledger: Ledger, client: str) -> None:
    wish = replace(wish, client=client, scope=PROJECT)
    changes = connect(wish, ledger)
    text = b"".join(below(wish.project).values()).decode() + "".join(change.snippet for change in changes)
    assert ("LOCI_TOKEN" in text) == (client != "copilot-cli")  # which has no tools in a project
    assert SECRET not in text
    assert below(wish.home) == {}
    disconnect(client, ledger, scope=PROJECT)
    assert below(wish.project) == {}


@pytest.mark.parametrize(
    "before",
    [b"", b'model = "o5"\n\n[tui]\nx = 1', b"# mine\r\na = 1\r\n", b'[mcp_servers.other]\nurl = "x"\n'],
)
def test_codex_keeps_its_file_around_our_block(wish: Wish, ledger: Ledger, before: bytes) -> None:
    path = wish.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(before)
    wish = replace(wish, client="codex")
    connect(wish, ledger)
    once = path.read_bytes()
    assert once.startswith(before)
    found = tomllib.loads(once.decode())["mcp_servers"]["loci"]
    assert found == {
        "url": "http://127.0.0.1:8000/mcp",
        "http_headers": {"Authorization": f"Bearer {SECRET}"},
    }
    connect(wish, ledger)
    assert path.read_bytes() == once
    hooks = json.loads((path.parent / "hooks.json").read_text())["hooks"]
    assert set(hooks) == {*CLIENTS["claude-code"].files[1].events.values()}
    disconnect("codex", ledger, scope=USER)
    assert path.read_bytes() == before


def test_codex_with_a_broken_file_gets_a_snippet(wish: Wish, ledger: Ledger) -> None:
    path = wish.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text("[mcp_servers")
    change, _ = connect(replace(wish, client="codex"), ledger)
    assert change.refusal.startswith("It is not valid TOML")
    assert "[mcp_servers.loci]" in change.snippet


def test_parts_of_the_hooks_can_be_left_out(wish: Wish, ledger: Ledger) -> None:
    connect(replace(wish, client="claude-code", parts=("start",)), ledger)
    settings = json.loads((wish.home / ".claude" / "settings.json").read_text())
    assert set(settings["hooks"]) == {"SessionStart"}
    [group] = settings["hooks"]["SessionStart"]
    assert group["hooks"][0]["command"].endswith(" claude-code session-start")
    connect(replace(wish, client="claude-code", parts=("prompt",)), ledger)
    assert set(json.loads((wish.home / ".claude" / "settings.json").read_text())["hooks"]) == {
        "UserPromptSubmit"
    }
