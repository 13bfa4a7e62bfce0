"""The bench of the proof: a home with a server, a stub model, the installed clients, and a person who runs them."""

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

from bench.agents.stub_model import StubModel, stub_model
from bench.proof.client import Client
from bench.proof.home import Home, make_home
from bench.proof.proof import REPOSITORY, ProofError, Workshop, wait_until
from bench.proof.server import Server, running
from bench.scripts import npm

PACKAGE = Path(__file__).parent / "package.json"
FACT = "The ledger's production database is PostgreSQL 16 on the host brass, port 5544."
OTHER = "Anna Berg decides about holidays of the finance team."
FACT_ASKED = "which database does the ledger run on in production?"
UNRELATED = "how tall is the highest mountain of Peru?"
CLIENT_S = 300
CODEX = ("codex", "exec", "--dangerously-bypass-hook-trust")


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
        return self.run([sys.executable, str(REPOSITORY / "manage.py"), *words], cwd=REPOSITORY)

    def ask(self, *words: str) -> list[str]:
        """Run a client; the requests that reached the model with the prompt, which is the last word."""
        before = len(self.stub.requests)
        self.run(list(words), cwd=self.project)
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
        asked = {"query": FACT_ASKED, "group": "ledger"}
        fault = "Recall does not find the fact."
        wait_until(
            lambda: self.call("/api/recall", asked).get("confidence") == "high", fault, seconds=CLIENT_S
        )

    def run(self, words: list[str], *, cwd: Path) -> str:
        """What a program of this person prints. Raises ProofError if it fails."""
        done = subprocess.run(
            words, cwd=cwd, env=self.environment, capture_output=True, text=True, timeout=CLIENT_S,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise ProofError(
                f"{words[0]} ended with {done.returncode}:\n{done.stdout[-800:]}\n{done.stderr[-800:]}"
            )
        return done.stdout


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
    person, project = fresh(workshop.folder / "person"), fresh(workshop.folder / "ledger")
    # A first session waits for the model to load; it is not what this proof measures.
    patient = {"LOCI_HOOKS_PROMPT_MS": "20000"}
    with stub_model() as stub, running(home, workshop.folder / "server.log", variables=patient) as server:
        secret = json.loads(made)["secret"]
        at = Bench(home, server, person, project, clients, stub, secret)
        write_codex_settings(person, stub)
        for client in ("claude-code", "codex"):
            at.loci("connect", client, "--url", server.url, "--token", secret)
        yield at


def fresh(folder: Path) -> Path:
    """The folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write_codex_settings(person: Path, stub: StubModel) -> None:
    """Lead Codex to the stub model."""
    config = person / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        f'model = "stub"\nmodel_provider = "stub"\n\n[model_providers.stub]\nname = "stub"\n'
        f'base_url = "{stub.url}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n'
    )


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
