"""Proof: a cycle, a restore or a purge that is killed anywhere is finished by the next one; nothing is half-done."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tqdm import tqdm

from bench.proof.clients.kills import kill, wait_for_growth
from bench.proof.home import COMMAND_S, Home, make_home, open_home, own_variables, run
from bench.proof.proof import Finding, ProofError, Workshop

SEED = 20_270_104
EVENTS = 1_500  # in the store before the first kill
MORE = 60  # stored anew before each round, so that every cycle has work of every kind
NEW_DATABASE = 100_000  # bytes written to PostgreSQL's log for a new database
DAYS = 3  # that each round's clock is ahead of the one before


def prove_cycle_kills(workshop: Workshop, *, stored: int = EVENTS) -> Finding:
    """Kill cycles, purges and restores at seeded random moments; finish each, and look at the store both times."""
    rounds, events = workshop.pick(
        ({"cycle": 30, "purge": 10, "restore": 10}, stored), ({"cycle": 2, "purge": 1, "restore": 1}, 150)
    )
    found = workshop.done()
    path = workshop.folder / "home-cycle"
    if not found:
        home = make_home(path, workshop.database("cycle"))
        _ask(home, "fill", {"week": 0, "amount": events})
    home = open_home(path)
    work = {"cycle": kill_cycle, "purge": kill_purge, "restore": kill_restore}
    with tqdm(total=sum(rounds.values()), desc="cycle kills", unit="kill") as bar:
        for kind, amount in rounds.items():
            for number in range(amount):
                step = f"{kind} {number}"
                if step not in found:
                    found[step] = work[kind](workshop, home, number)
                    workshop.note(step, found[step])
                bar.update()
    faults = [f"{step}: {fault}" for step, seen in found.items() for fault in seen["faults"]]
    return Finding(_numbers(found), tuple(faults))


def kill_cycle(workshop: Workshop, home: Home, number: int) -> dict[str, Any]:
    """Kill a cycle while it writes; the next one goes on with the same run, and one more finds nothing."""
    _ask(home, "fill", {"week": number + 1, "amount": MORE})
    now = (datetime.now(UTC) + timedelta(days=DAYS * (number + 1))).isoformat()
    cycle = ("compact", "--json", "--max-share", "1", "--now", now)
    killed = _killed(workshop, home, cycle, f"cycle:{number}", longest_s=1.5)
    broken = _ask(home, "look", {})
    ended = json.loads(_finish(home, *cycle))
    whole = _ask(home, "look", {})
    again = json.loads(_finish(home, *cycle))
    faults = [f"after the kill: {fault}" for fault in broken["faults"]]
    faults += [f"after it went on: {fault}" for fault in whole["faults"]]
    if ended["status"] != "done":
        faults.append(f"the cycle that went on ended {ended['status']}: {ended['error']}")
    if again["counts"]:
        faults.append(f"one more cycle was not empty: {again['counts']}")
    return {"met": broken["run"] == "running", "killed": killed, "counts": ended["counts"], "faults": faults}


def kill_purge(workshop: Workshop, home: Home, number: int) -> dict[str, Any]:
    """Kill a purge; the memory is there whole or gone, and the next purge makes it gone."""
    [victim] = _ask(home, "fill", {"week": 100 + number, "amount": MORE})["purgeable"][number : number + 1]
    purge = ("memory", "purge", victim, "--yes", "--json", "--reason", "proof")
    killed = _killed(workshop, home, purge, f"purge:{number}", longest_s=0.1)
    broken = _ask(home, "look", {"purged": [victim]})
    if broken["left"][victim]:
        _finish(home, *purge)
    whole = _ask(home, "look", {"purged": [victim]})
    faults = [f"after the kill: {fault}" for fault in broken["faults"]]
    faults += [f"after the purge: {fault}" for fault in whole["faults"]]
    faults += ["it is still there"] if whole["left"][victim] else []
    return {"met": killed, "killed": killed, "counts": {}, "faults": faults}


def kill_restore(workshop: Workshop, home: Home, number: int) -> dict[str, Any]:
    """Kill a restore of a backup; the store is the old one or the backup's, whole, and the next restore ends well."""
    before = _ask(home, "look", {})
    file = workshop.folder / "proof.backup"
    file.unlink(missing_ok=True)
    _finish(home, "backup", "--to", str(file), "--json")
    _ask(home, "fill", {"week": 200 + number, "amount": MORE})
    now = _ask(home, "look", {})
    restore = ("restore", str(file), "--yes", "--json")
    killed = _killed(workshop, home, restore, f"restore:{number}", longest_s=0.5, begins=_a_new_store)
    broken = _ask(home, "look", {})
    faults = [f"after the kill: {fault}" for fault in broken["faults"]]
    if broken["memories"] not in (before["memories"], now["memories"]):
        faults.append(f"{broken['memories']} memories are neither the old nor the restored store")
    _finish(home, *restore)
    whole = _ask(home, "look", {})
    faults += [f"after the restore: {fault}" for fault in whole["faults"]]
    if whole["memories"] != before["memories"]:
        faults.append(f"restored {whole['memories']} of {before['memories']} memories")
    return {"met": killed, "killed": killed, "counts": {}, "faults": faults}


def _killed(
    workshop: Workshop,
    home: Home,
    command: tuple[str, ...],
    name: str,
    *,
    longest_s: float,
    begins: Callable[["subprocess.Popen[str]", Home], None] | None = None,
) -> bool:
    """Start a command and kill it at a random moment after it began to write; False where it was over before."""
    after_s = random.Random(f"{SEED}:{name}").uniform(0, longest_s)
    with (workshop.folder / "cycle.log").open("a", encoding="utf-8") as log:
        process = home.start(*command, stdout=log, stderr=log)
        try:
            (begins or _a_longer_log)(process, home)
        except ProofError:
            return False
        time.sleep(after_s)
        return _kill_if_alive(process, command[0])


def _a_longer_log(process: "subprocess.Popen[str]", home: Home) -> None:
    """Wait until the database is written to."""
    wait_for_growth(process, home.written, by=1)


def _a_new_store(process: "subprocess.Popen[str]", home: Home) -> None:
    """Wait until a file appears in the home or among its backups, or much is written to the server: the restore has begun."""
    before, written = _files(home), home.written()
    is_file = "DATABASE_URL" not in own_variables(home.path)
    deadline = time.monotonic() + COMMAND_S
    while process.poll() is None and time.monotonic() < deadline:
        if _files(home) - before or (not is_file and home.written() - written > NEW_DATABASE):
            return
        time.sleep(0.002)
    raise ProofError("The restore ended before it made a file.")


def _files(home: Home) -> set[str]:
    kept = ("memory.db-wal", "memory.db-shm")
    return {path.name for folder in (home.path, home.path / "backups") for path in folder.iterdir()} - {*kept}


def _kill_if_alive(process: "subprocess.Popen[str]", what: str) -> bool:
    if process.poll() is not None:
        return False
    kill(process, what)
    return True


def _finish(home: Home, *command: str) -> str:
    process = home.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=COMMAND_S)
    if process.returncode != 0:
        raise ProofError(f"{command[0]} ended with {process.returncode}:\n{err[-2000:]}")
    return str(out)


def _ask(home: Home, action: str, told: dict[str, Any]) -> Any:
    return json.loads(
        run([sys.executable, "-m", "bench.proof.cycle.seed", action], home.path, sent=json.dumps(told))
    )


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    kinds = ("cycle", "purge", "restore")
    of = {kind: [seen for step, seen in found.items() if step.startswith(kind)] for kind in kinds}
    counts: dict[str, int] = {}
    for seen in of["cycle"]:
        for name, count in seen["counts"].items():
            counts[name] = counts.get(name, 0) + count
    return {
        **{
            f"{kind}s killed at work, of rounds": f"{sum(s['met'] for s in of[kind])} of {len(of[kind])}"
            for kind in kinds
        },
        **{f"{name} by the cycles that went on": count for name, count in sorted(counts.items())},
        "rounds with a fault": sum(bool(seen["faults"]) for seen in found.values()),
    }
