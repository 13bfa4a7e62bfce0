"""Memories that hang on commits: left out where the caller's branch does not contain them."""

import json
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from access.actor import Checkout
from access.models import Group
from access.visibility import Narrowing
from loci_site.hooks import client as hook_client
from loci_site.hooks.models import RepositoryHead
from loci_site.hooks.repository import cached_reachable, with_own_checkout
from loci_site.hooks.sessions import delete_old_rows
from memories.draft import Draft
from memories.lifecycle.edit import EditDraft, edit
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.sessions.context_pack import get_context
from memories.store import store
from tests.loci_site.hooks.conftest import HookClient
from tests.people import agent, make_token, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
QUESTION = "Which port does the importer use?"


class Repository:
    """A repository of its own, with a branch that was dropped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", "https://git.example/firm/ledger.git")
        self.first = self.commit("first")
        self.git("checkout", "-q", "-b", "side")
        self.side = self.commit("side")
        self.git("checkout", "-q", "main")
        self.head = self.commit("second")

    def git(self, *words: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", "-C", str(self.folder), *names, *words], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("git") / "ledger")


def anchored(user: User, commit: str, port: int = 7001) -> Memory:
    text = f"The importer uses port {port}."
    found = store(person(user), Draft(text, group="ledger", scope="group", anchor_commit=commit)).memory
    assert found is not None
    return found


def found_by(user: User, checkout: Checkout | None, **narrowing: Any) -> list[str]:
    asked = RecallRequest(QUESTION, group="ledger", narrowing=Narrowing(**narrowing))
    return [item.text for item in recall(replace(person(user), checkout=checkout), asked).items]


def test_recall_leaves_out_what_hangs_on_other_branches(bob: User) -> None:
    memory = anchored(bob, "a" * 40)
    here = Checkout(head="b" * 40, unreachable=frozenset({"a" * 40}))
    assert found_by(bob, None) == [memory.content]
    assert found_by(bob, replace(here, unreachable=frozenset())) == [memory.content]
    assert found_by(bob, here) == []
    assert found_by(bob, here, include_orphans=True) == [memory.content]
    edit(person(bob), memory.id, EditDraft(anchor_commit=""))
    assert found_by(bob, here) == [memory.content]


def test_git_says_which_commits_the_head_contains(repository: Repository, tmp_path: Path) -> None:
    folder, anchors = str(repository.folder), [repository.first, repository.side, "f" * 40]
    assert hook_client.reachable(folder, repository.head, anchors) == [repository.first]
    assert hook_client.reachable(folder, repository.side, anchors) == [repository.first, repository.side]
    assert hook_client.reachable(folder, repository.head, [repository.first[:10]]) == [repository.first[:10]]
    assert hook_client.reachable(folder, repository.head, []) == []
    assert hook_client.reachable(str(tmp_path), repository.head, anchors) is None  # no repository
    shallow = tmp_path / "shallow"
    repository.git("clone", "-q", "--depth=1", f"file://{repository.folder}", str(shallow))
    assert hook_client.reachable(str(shallow), repository.head, [repository.first]) is None


def test_worktrees_and_renamed_origins_are_the_same_commits(
    repository: Repository, tmp_path: Path, bob: User
) -> None:
    memory = anchored(bob, repository.side)
    tree = tmp_path / "tree"
    repository.git("worktree", "add", "-q", str(tree), "side")
    fork = tmp_path / "fork"
    repository.git("clone", "-q", str(repository.folder), str(fork))
    for folder, is_there in ((tree, True), (repository.folder, False), (fork, False)):
        checkout = with_own_checkout(person(bob), folder).checkout
        assert checkout is not None
        assert (memory.anchor_commit not in checkout.unreachable) is is_there
        assert found_by(bob, checkout) == ([memory.content] if is_there else [])
    assert with_own_checkout(person(bob), tmp_path).checkout is None
    cached_reachable.cache_clear()


class Wire:
    """`loci-hook` with the test client in place of its socket."""

    def __init__(self, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})
        monkeypatch.setattr(hook_client, "post", self.post)

    def post(self, settings: Any, client: str, event: str, sent: Any, deadline: float) -> bytes:
        self.paths.append(event)
        answer = self.client.post(
            f"/hooks/{client}/{event}", json.dumps(sent), content_type="application/json"
        )
        hook_client.WANTED[:] = [b"loci-anchors: 1"] if answer.headers.get("Loci-Anchors") else []
        return bytes(answer.content)

    def event(self, repository: Repository, event: str = "prompt", **sent: Any) -> None:
        place = hook_client.read_repository(str(repository.folder))
        call = {"session_id": "s-9", "cwd": str(repository.folder), "prompt": QUESTION, "loci": place, **sent}
        self.post({}, "claude-code", event, call, 0)
        if hook_client.WANTED:
            hook_client.tell_reachable({}, "claude-code", call, str(repository.folder), 0)


def test_a_hook_tells_once_for_each_head(
    repository: Repository, hooks: HookClient, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(hooks.secret, monkeypatch)
    wire.event(repository, "session-start", source="startup")
    assert wire.paths == ["session-start"]  # no memory hangs on a commit
    anchored(bob, repository.side)
    wire.event(repository)
    wire.event(repository)
    assert wire.paths[1:] == ["prompt", "anchors", "anchors", "prompt"]
    row = RepositoryHead.objects.get()
    assert (row.branch, row.head, row.known) == ("main", repository.head, {repository.side: False})
    anchored(bob, repository.first, 7002)
    wire.event(repository)
    assert RepositoryHead.objects.get().known == {repository.side: False, repository.first: True}
    RepositoryHead.objects.update(seen_at=timezone.now() - timedelta(days=400))
    assert delete_old_rows() == 1


def test_calls_from_afar_use_the_last_head_for_an_hour(
    repository: Repository, bob: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = make_token(bob, name="client", scopes=("read", "write", "hook"))[1]
    lost, kept = anchored(bob, repository.side), anchored(bob, repository.first, 7002)
    rest = Client(headers={"Authorization": f"Bearer {secret}"})

    def recalled(**where: Any) -> dict[str, Any]:
        sent = {"query": QUESTION, "group": "ledger", "where": where}
        body: dict[str, Any] = rest.post(
            "/api/recall", json.dumps(sent), content_type="application/json"
        ).json()
        return body

    before = recalled()
    assert {item["id"] for item in before["results"]} == {str(lost.id), str(kept.id)}
    assert "which repository you work in is not known" in before["note"]
    wire = Wire(secret, monkeypatch)
    wire.event(repository, "session-start", source="startup", loci_group="ledger")
    after = recalled()
    assert [item["id"] for item in after["results"]] == [str(kept.id)]
    assert "not known" not in after["note"]
    assert len(recalled(include_orphans=True)["results"]) == 2
    pack = rest.get("/api/context?group=ledger").json()["text"]
    assert f"https://git.example/firm/ledger.git, branch main, commit {repository.head[:12]}" in pack
    assert "left out" in pack
    RepositoryHead.objects.update(seen_at=timezone.now() - timedelta(hours=2))
    assert len(recalled()["results"]) == 2


def test_commands_ask_git_where_they_run(
    repository: Repository, bob: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    anchored(bob, repository.side)
    monkeypatch.chdir(repository.folder)
    call_command("memory", "context", group="ledger")
    assert "branch main" in capsys.readouterr().out
    with pytest.raises(SystemExit):  # nothing answers
        call_command("recall", "Which port does the importer use?", group="ledger")


def test_an_agent_without_a_repository_is_told_so(bob: User) -> None:
    anchored(bob, "a" * 40)
    answer = recall(agent(bob), RecallRequest(QUESTION, group="ledger"))
    assert "not known" in answer.note
    assert "Repository" not in get_context(agent(bob, name="other"), group="ledger").text
