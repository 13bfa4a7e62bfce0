"""Proof: the real Claude Code and Codex get what their group knows, once, between marks, and leave a checkpoint; a recall's text
reaches the model whole; an invited colleague connects them by one line.
"""

import json
from typing import Any

from bench.agents import schemas
from bench.agents.bench import CLIENT_S, CODEX, FACT_ASKED, UNRELATED, Bench, bench, install, never, once
from bench.agents.colleague import look_at_colleague
from bench.agents.stub_model import ANSWER
from bench.proof.client import Client
from bench.proof.proof import REPOSITORY, Finding, Workshop
from bench.scripts.bundle import write_folder


def prove_agents(workshop: Workshop) -> Finding:
    """Run both clients against a stub model on this machine."""
    clients = install(workshop.folder / "npm")
    failures: list[str] = []
    with bench(workshop, clients) as at:
        at.warm()
        numbers: dict[str, Any] = {
            "Claude Code": at.run(["claude", "--version"], cwd=at.project).split()[0],
            "Codex": at.run(["codex", "--version"], cwd=at.project).split()[-1],
        }
        failures += look_at_claude(at)
        failures += look_at_tool(at)
        failures += look_at_codex(at)
        look_at_validators(at)
        failures += look_at_answers(at, numbers)
        failures += look_at_colleague(at, numbers)
        stats = json.loads(at.loci("hook", "stats", "--json"))
    return Finding({**numbers, "memories injected": stats["injected"]}, tuple(failures))


def look_at_claude(at: Bench) -> list[str]:
    """What is wrong with Claude Code's sessions."""
    found = [
        *once(at.ask("claude", "-p", FACT_ASKED), "Claude Code, asked"),
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
    tool, asked = "recall_memory", {"query": FACT_ASKED, "group": "ledger"}
    at.stub.tool = (f"mcp__loci__{tool}", asked)
    before = len(at.stub.requests)
    at.run(["claude", "-p", "look it up", "--allowedTools", at.stub.tool[0]], cwd=at.project)
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
    before = len(at.checkpoints())
    found = [
        *once(at.ask(*CODEX, FACT_ASKED), "Codex, asked"),
        *never(at.ask(*CODEX, UNRELATED), "Codex, unrelated"),
        *never(at.ask("codex", "exec", FACT_ASKED), "Codex, not trusted"),
    ]
    if (number := len(at.checkpoints()) - before) != 2:
        found.append(f"Codex's two trusted sessions left {number} checkpoints")
    server = json.loads(at.run(["codex", "mcp", "get", "loci", "--json"], cwd=at.project))
    if server["transport"]["url"] != f"{at.server.url}/mcp":
        found.append(f"Codex reads the server as {server['transport']}")
    return found


def look_at_validators(at: Bench) -> None:
    """Let the clients' own validators take the plugin, the marketplace and the bundle. Raises ProofError where one does not."""
    for place in (REPOSITORY / "plugins" / "loci", REPOSITORY):
        at.run(["claude", "plugin", "validate", "--strict", str(place)], cwd=at.project)
    folder = write_folder(at.person / "bundle")
    at.run(["mcpb", "validate", str(folder / "manifest.json")], cwd=at.project)


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
