"""Proof: the real Claude Code and Codex get what their group knows, once, between marks, and leave a checkpoint; a recall's text
reaches the model whole.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.agents import schemas
from bench.agents.stub_model import ANSWER, StubModel, stub_model
from bench.proof.client import Client
from bench.proof.home import Home, make_home
from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop, wait_until
from bench.proof.server import Server, running
from bench.scripts import npm
from bench.scripts.bundle import write_folder

PACKAGE = Path(__file__).parent / "package.json"
FACT = "The ledger's production database is PostgreSQL 16 on the host brass, port 5544."
OTHER = "Anna Berg decides about holidays of the finance team."
ASKED = "which database does the ledger run on in production?"
UNRELATED = "how tall is the highest mountain of Peru?"
CLIENT_S = 300


@dataclass(frozen=True)
class Bench:
    """A home with a server, a person's own home folder, a project, the clients and the stub model."""

    home: Home
    server: Server
    person: Path
    project: Path
    clients: Path
    stub: StubModel
    hook_secret: str

    @property
    def environment(self) -> dict[str, str]:
        """The person's environment: only this machine is reached, and no account is needed."""
        kept = {name: value for name, value in self.home.environment.items() if not name.startswith("CLAUDE")}
        own = {
            "HOME": str(self.person),
            "PATH": f"{self.clients}{os.pathsep}{os.environ['PATH']}",
            "ANTHROPIC_BASE_URL": self.stub.url,
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "STUB_KEY": "none",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",  # a tool that is searched for is not offered at once
            "MCP_CONNECTION_NONBLOCKING": "0",  # else a slow machine's first request may lack the tools
            "MCP_CONNECT_TIMEOUT_MS": "60000",
        }
        return kept | own

    def loci(self, *words: str) -> str:
        """Run a command of Loci as this person."""
        return self._run([sys.executable, str(REPOSITORY / "manage.py"), *words], cwd=REPOSITORY)

    def ask(self, *words: str) -> list[str]:
        """Run a client; the requests that reached the model with the prompt, which is the last word."""
        before = len(self.stub.requests)
        self._run(list(words), cwd=self.project)
        return self.stub.since(before, words[-1])

    def checkpoints(self) -> list[dict[str, Any]]:
        """The saved checkpoints, newest first."""
        found: list[dict[str, Any]] = self.call("/api/checkpoints?group=ledger")["items"]
        return found

    def hook(self, client: str, event: str, call: dict[str, Any]) -> Any:
        """The server's answer to an event."""
        return self.call(f"/hooks/{client}/{event}", call, secret=self.hook_secret)

    def call(self, path: str, body: dict[str, Any] | None = None, *, secret: str = "") -> Any:
        """What the server answers to a token, by default one that may write anywhere."""
        with Client(self.server.port, secret or self.home.secret, timeout_s=CLIENT_S) as client:
            return (client.get(path) if body is None else client.post(path, body)).must()

    def warm(self) -> None:
        """Wait until the model has loaded: a hook waits a second at most, and this proof is not about the first minute."""
        asked = {"query": ASKED, "group": "ledger"}
        fault = "Recall does not find the fact."
        wait_until(
            lambda: self.call("/api/recall", asked).get("confidence") == "high", fault, seconds=CLIENT_S
        )

    def _run(self, words: list[str], *, cwd: Path) -> str:
        done = subprocess.run(
            words, cwd=cwd, env=self.environment, capture_output=True, text=True, timeout=CLIENT_S,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise ProofError(
                f"{words[0]} ended with {done.returncode}:\n{done.stdout[-800:]}\n{done.stderr[-800:]}"
            )
        return done.stdout


def prove_agents(workshop: Workshop) -> Finding:
    """Run both clients against a stub model on this machine."""
    clients = install(workshop.folder / "npm")
    failures: list[str] = []
    with bench(workshop, clients) as at:
        at.warm()
        numbers: dict[str, Any] = {
            "Claude Code": at._run(["claude", "--version"], cwd=at.project).split()[0],
            "Codex": at._run(["codex", "--version"], cwd=at.project).split()[-1],
        }
        failures += look_at_claude(at)
        failures += look_at_tool(at)
        failures += look_at_codex(at)
        look_at_validators(at)
        failures += look_at_answers(at, numbers)
        stats = json.loads(at.loci("hook", "stats", "--json"))
    return Finding({**numbers, "memories injected": stats["injected"]}, tuple(failures))


def look_at_claude(at: Bench) -> list[str]:
    """What is wrong with Claude Code's sessions."""
    found = [
        *once(at.ask("claude", "-p", ASKED), "Claude Code, asked"),
        *never(at.ask("claude", "-p", UNRELATED), "Claude Code, unrelated"),
    ]
    if (number := len(at.checkpoints())) != 2:
        found.append(f"two sessions left {number} checkpoints")
    text = at.checkpoints()[0]["state"]
    if text.get("goal") != UNRELATED:
        found.append(f"the last checkpoint is {text}")
    third = at.ask("claude", "-p", "go on, please")
    if not any(UNRELATED in text and ANSWER in text for text in third):
        found.append("the third session does not begin with the second one's checkpoint")
    return found


def look_at_tool(at: Bench) -> list[str]:
    """What is wrong with what Claude Code hands the model of a recall: the text that the server answers, and nothing else."""
    tool, asked = "recall_memory", {"query": ASKED, "group": "ledger"}
    at.stub.tool = (f"mcp__loci__{tool}", asked)
    before = len(at.stub.requests)
    at._run(["claude", "-p", "look it up", "--allowedTools", at.stub.tool[0]], cwd=at.project)
    at.stub.tool = None
    with Client(at.server.port, at.home.secret, timeout_s=CLIENT_S) as client:
        text = client.call(tool, **asked)["text"]
    results = at.stub.tool_results(before)
    found = [] if results else ["Claude Code, calling a tool: the model got no result"]
    return found + [
        f"Claude Code hands the model {result!r}, not {text!r}" for result in results if result != text
    ]


def look_at_codex(at: Bench) -> list[str]:
    """What is wrong with Codex's sessions; without trust its hooks must not run."""
    trusted = ("codex", "exec", "--dangerously-bypass-hook-trust")
    before = len(at.checkpoints())
    found = [
        *once(at.ask(*trusted, ASKED), "Codex, asked"),
        *never(at.ask(*trusted, UNRELATED), "Codex, unrelated"),
        *never(at.ask("codex", "exec", ASKED), "Codex, not trusted"),
    ]
    if (number := len(at.checkpoints()) - before) != 2:
        found.append(f"Codex's two trusted sessions left {number} checkpoints")
    server = json.loads(at._run(["codex", "mcp", "get", "loci", "--json"], cwd=at.project))
    if server["transport"]["url"] != f"{at.server.url}/mcp":
        found.append(f"Codex reads the server as {server['transport']}")
    return found


def look_at_validators(at: Bench) -> None:
    """Let the clients' own validators take the plugin, the marketplace and the bundle. Raises ProofError where one does not."""
    for place in (REPOSITORY / "plugins" / "loci", REPOSITORY):
        at._run(["claude", "plugin", "validate", "--strict", str(place)], cwd=at.project)
    folder = write_folder(at.person / "bundle")
    at._run(["mcpb", "validate", str(folder / "manifest.json")], cwd=at.project)


def look_at_answers(at: Bench, numbers: dict[str, Any]) -> list[str]:
    """What the schemas inside the installed programs say against recorded events, and against our answers to them."""
    modules = at.clients.parent
    codex, claude = schemas.codex_schemas(modules), schemas.claude_fields(modules)
    pinned = {"Codex": (codex.hash, schemas.CODEX_HASH), "Claude Code": (claude.hash, schemas.CLAUDE_HASH)}
    failures = [
        f"{name}: the schemas have the hash {found}, not {known}: look at what changed"
        for name, (found, known) in pinned.items()
        if found != known
    ]
    checked = filled = 0
    for client in ("claude-code", "codex"):
        for event, sent in schemas.payloads_of(client).items():
            # A session of its own for each event: what one has got it does not get twice.
            call = {**sent, "session_id": f"recorded-{client}-{event}", "cwd": str(at.project)}
            answer = at.hook(client, event, call)
            checked, filled = checked + 1, filled + bool(answer)
            found = (
                schemas.faults_in_codex(codex, event, call, answer)
                if client == "codex"
                else schemas.faults_in_claude(claude, answer)
            )
            failures += [f"{client}, {event}: {each}" for each in found]
            if event in ("session-start", "prompt") and not answer:
                failures.append(f"{client}, {event}: the answer is empty, so that nothing was checked")
    numbers |= {"recorded events and their answers checked": checked, "answers with a text": filled}
    return failures


def once(requests: list[str], name: str) -> list[str]:
    """A failure unless the fact stands once between marks in each request."""
    if not requests:
        return [f"{name}: the model was not asked"]
    return [
        f"{name}: the fact stands {n} times"
        for text in requests
        if (n := between_marks(text).count(FACT)) != 1
    ]


def never(requests: list[str], name: str) -> list[str]:
    """A failure if a request contains a fact."""
    if not requests:
        return [f"{name}: the model was not asked"]
    return [f"{name}: a fact was injected" for text in requests if FACT in text or OTHER in text]


def between_marks(text: str) -> str:
    """What stands between the marks of Loci."""
    return "".join(part.split("</loci>")[0] for part in text.split("<loci ")[1:])


def install(folder: Path) -> Path:
    """The folder with the programs of the pinned clients, installed once."""
    programs = folder / "node_modules" / ".bin"
    if all((programs / name).exists() for name in ("claude", "codex", "mcpb")):
        return programs
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(PACKAGE, folder)
    npm.run(folder, "npm", "install", *npm.QUIET)
    npm.run(folder / "node_modules" / "@anthropic-ai" / "claude-code", "node", "install.cjs")
    return programs


@contextmanager
def bench(workshop: Workshop, clients: Path) -> Iterator[Bench]:
    """A fresh home with two facts, a running server, both clients connected to it and to the stub model."""
    home = make_home(workshop.folder / "home")
    home.manage("group", "create", "ledger")
    for text in (FACT, OTHER):
        home.manage("remember", text, "--group", "ledger")
    made = home.manage("token", "create", "clients", "--scopes", "read,write,hook", "--json")
    person, project = workshop.folder / "person", workshop.folder / "ledger"
    for folder in (person, project):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    # A first session waits for the model to load; it is not what this proof measures.
    patient = {"LOCI_HOOKS_PROMPT_MS": "20000"}
    with stub_model() as stub, running(home, workshop.folder / "server.log", variables=patient) as server:
        secret = json.loads(made)["secret"]
        at = Bench(home, server, person, project, clients, stub, secret)
        config = person / ".codex" / "config.toml"
        config.parent.mkdir()
        config.write_text(
            f'model = "stub"\nmodel_provider = "stub"\n\n[model_providers.stub]\nname = "stub"\n'
            f'base_url = "{stub.url}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n'
        )
        for client in ("claude-code", "codex"):
            at.loci("connect", client, "--url", server.url, "--token", secret)
        yield at
