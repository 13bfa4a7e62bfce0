"""Proof: whenever a writer is killed, everything it acknowledged is there, and nothing is half written."""

import json
import os
import random
import re
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.proof.client import Client
from bench.proof.clients.ledger import Ledger, open_round
from bench.proof.clients.sentences import Job, jobs
from bench.proof.clients.traffic import Killing, Traffic, run_traffic
from bench.proof.home import Home, make_home
from bench.proof.proof import Finding, ProofError, Workshop
from bench.proof.server import Server, bad_lines, both_web_processes, growth, killed, running

SEED = 20_260_728
WRITERS = 8
# How long after a round's first acknowledgement the signal comes, in seconds.
KILL_WINDOW_S = (0.0, 2.0)
GO_ON_S = 2.0  # of those that another process serves
JOBS_A_ROUND = 2000  # more than a server can store in the window
IMPORT_ROWS = 2000


def prove_kills(workshop: Workshop) -> Finding:
    """Kill servers, imports and single commands at seeded random moments; look at the database after each."""
    rounds = workshop.pick(
        {"server": 25, "up": 5, "web": 5, "import": 5, "remember": 5},
        {"server": 3, "up": 1, "web": 1, "import": 1, "remember": 1},
    )
    return Finding.of(workshop.steps(kill_rounds(workshop, rounds)))


def kill_rounds(workshop: Workshop, rounds: dict[str, int]) -> dict[str, Callable[[], dict[str, Any]]]:
    """The rounds of each kind as steps."""
    work: dict[str, Callable[[Workshop, int], dict[str, Any]]] = {
        "server": kill_server,
        "up": partial(kill_server, supervised=True),
        "web": kill_web,
        "import": kill_import,
        "remember": kill_remember,
    }
    return {
        f"{kind} {number}": partial(work[kind], workshop, number)
        for kind, amount in rounds.items()
        for number in range(amount)
    }


def kill_server(workshop: Workshop, number: int, *, supervised: bool = False) -> dict[str, Any]:
    """Kill the server under writers, start it again, ask it and the database. All rounds share one home.

    `supervised` kills `manage.py up`; the web processes below it have to end by themselves.
    """
    name = "up" if supervised else "server"
    home, ledger, log = open_round(workshop, name, is_first=number == 0)
    after_s = random.Random(f"{SEED}:{name}:{number}").uniform(*KILL_WINDOW_S)
    before = len(ledger.acknowledged)
    with running(home, log, supervised=supervised) as server:
        traffic = store_more(server, home, ledger, Killing(after_s, server.kill))
    acknowledged = len(ledger.acknowledged) - before
    faults = [*traffic.refusals]
    if not traffic.in_flight or not acknowledged:
        faults.append(f"the signal met no write: {traffic.in_flight} in flight, {acknowledged} acknowledged")
    with running(home, log, supervised=supervised) as server:
        faults += recalled(server, home, ledger)
    return looked_at(home, ledger, [*faults, *bad_lines(log)], before, traffic)


def kill_web(workshop: Workshop, number: int) -> dict[str, Any]:
    """Kill one of the two web processes of an `up` under writers; those that the other one serves go on."""
    home, ledger, log = open_round(workshop, "web", is_first=number == 0)
    chance = random.Random(f"{SEED}:web:{number}")
    before = len(ledger.acknowledged)
    with running(home, log, supervised=True) as server:
        after_s, victim = chance.uniform(*KILL_WINDOW_S), chance.choice(both_web_processes(server))
        killing = Killing(after_s, partial(os.kill, victim, signal.SIGKILL), GO_ON_S)
        traffic = store_more(server, home, ledger, killing)
        faults = [*traffic.refusals, *gone_on(traffic), *recalled(server, home, ledger)]
    return looked_at(home, ledger, [*faults, *bad_lines(log)], before, traffic)


def store_more(server: Server, home: Home, ledger: Ledger, killing: Killing) -> Traffic:
    """Store texts that no client has sent yet, until a process is killed."""
    work = jobs(JOBS_A_ROUND, start=len(ledger.sent))
    return run_traffic(server, home.secret, work, ledger, writers=WRITERS, killing=killing)


def gone_on(traffic: Traffic) -> list[str]:
    """A fault unless the kill met writes, and others were acknowledged after it."""
    if traffic.in_flight and traffic.afterwards:
        return []
    return [f"{traffic.in_flight} writes were in flight and {traffic.afterwards} acknowledged after it"]


def looked_at(home: Home, ledger: Ledger, faults: list[str], before: int, traffic: Traffic) -> dict[str, Any]:
    """What a round found, with the witness's faults."""
    seen = home.check(ledger.as_json())
    numbers = {
        "writes acknowledged": len(ledger.acknowledged) - before,
        "of these after the kill, by what lived on": traffic.afterwards,
        "writes in flight at the signal": traffic.in_flight,
        "calls refused": len(traffic.refusals),
        "calls without an answer": traffic.broken,
        "vectors made later": seen["owed"],
    }
    return {"numbers": numbers, "faults": [*faults, *ledger.odd_outcomes[:5], *seen["faults"]]}


def kill_import(workshop: Workshop, number: int) -> dict[str, Any]:
    """Kill an import that has begun to write, look, import again: every row is there once."""
    home = make_home(workshop.folder / "home-import", workshop.database("import"))
    file, log = workshop.folder / "import.jsonl", workshop.folder / "import.log"
    texts = _write_import(file, IMPORT_ROWS)
    # By turns inside the first batch's transaction, and anywhere in the batches after it.
    window_s = (0, 0.05) if number % 2 else KILL_WINDOW_S
    after_s = random.Random(f"{SEED}:import:{number}").uniform(*window_s)
    begun = growth(home.written, by=100_000)
    was_killed = killed(home, "import", str(file), log=log, begun=begun, after_s=after_s)
    told: dict[str, Any] = {"sent": texts, "acknowledged": {}}
    broken = home.check(told)
    home.manage("import", str(file))
    whole = home.check(told)
    faults = [f"after the kill: {fault}" for fault in broken["faults"]]
    faults += [f"after the second import: {fault}" for fault in whole["faults"]]
    if whole["memories"] != len(texts):
        faults.append(f"{whole['memories']} of {len(texts)} rows are there after the second import")
    if not was_killed or broken["memories"] >= len(texts):
        faults.append("the import was over when the signal came")
    return {
        "numbers": {f"rows there at the kill, of {IMPORT_ROWS:,} each": broken["memories"]},
        "faults": faults,
    }


def kill_remember(workshop: Workshop, number: int) -> dict[str, Any]:
    """Kill a `remember` that stores one line after the other. All rounds share one home."""
    home, ledger, log = open_round(workshop, "remember", is_first=number == 0)
    texts = [job.content for job in jobs(JOBS_A_ROUND, start=len(ledger.sent))]
    lines, said = workshop.folder / "remember.txt", workshop.folder / "remember.out"
    said.write_bytes(b"")
    lines.write_text("\n".join(texts), encoding="utf-8")
    for text in texts:
        ledger.send(text)
    remember = ("remember", "-", "--lines", "--json", "--group", "harbour", "--scope", "group")
    after_s = random.Random(f"{SEED}:remember:{number}").uniform(*KILL_WINDOW_S)
    begun = growth(lambda: said.stat().st_size)
    with lines.open(encoding="utf-8") as stdin, said.open("w", encoding="utf-8") as out:
        if not killed(home, *remember, log=log, begun=begun, after_s=after_s, stdin=stdin, stdout=out):
            raise ProofError("`remember` had ended by itself.")
    # The last line may be cut short; it is no acknowledgement then.
    written = said.read_text("utf-8").splitlines(keepends=True)
    answers = [json.loads(line) for line in written if line[-1] == "\n"]
    for text, answer in zip(texts, answers, strict=False):
        ledger.acknowledge(text, answer)
    seen = home.check(ledger.as_json())
    return {
        "numbers": {"lines acknowledged": len(answers)},
        "faults": [*ledger.odd_outcomes[:5], *seen["faults"]],
    }


def recalled(server: Server, home: Home, ledger: Ledger) -> list[str]:
    """Ask a server for what was acknowledged last."""
    last = dict(list(ledger.acknowledged.items())[-20:])
    with Client(server.port, home.secret) as client:
        ids = list(last.values())
        body = client.call("recall_memory", ids=ids, max_results=len(ids), token_budget=10_000)
    return [
        f"the restarted server does not recall {id_}"
        for text, id_ in last.items()
        if not re.search(rf"<memory id={id_[-8:]} [^>]*>\n{re.escape(text)}\n", body["text"])
    ]


def _write_import(file: Path, rows: int) -> list[str]:
    """Write a file of turns as a conversation's export has them; the texts."""
    work = jobs(rows)
    file.write_text("".join(f"{_turn(number, job)}\n" for number, job in enumerate(work)), encoding="utf-8")
    return [job.content for job in work]


def _turn(number: int, job: Job) -> str:
    turn = {"id": f"t{number}", "text": job.content, "group": job.group, "session": f"s{number // 40}"}
    moment = f"2026-03-{1 + number // 100 % 28:02}T{number // 60 % 24:02}:{number % 60:02}:00+00:00"
    return json.dumps({**turn, "timestamp": moment, "speaker": "Anna"})
