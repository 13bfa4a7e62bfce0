"""Proof: a cycle, a restore or a purge that is killed anywhere is finished by the next one; nothing is half-done."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bench.proof.home import Home, make_home, open_home, own_variables
from bench.proof.proof import Finding, Workshop
from bench.proof.server import growth, killed

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
    path = workshop.folder / "home-cycle"
    if workshop.done():
        home = open_home(path)
    else:
        home = make_home(path, workshop.database("cycle"))
        fill(home, 0, events)
    work = {"cycle": kill_cycle, "purge": kill_purge, "restore": kill_restore}
    found = workshop.steps(
        {
            f"{kind} {number}": partial(work[kind], workshop, home, number)
            for kind, amount in rounds.items()
            for number in range(amount)
        }
    )
    return Finding.of(found)


def kill_cycle(workshop: Workshop, home: Home, number: int) -> dict[str, Any]:
    """Kill a cycle while it writes; the next one goes on with the same run, and one more finds nothing."""
    fill(home, number + 1, MORE)
    now = (datetime.now(UTC) + timedelta(days=DAYS * (number + 1))).isoformat()
    cycle = ("compact", "--json", "--max-share", "1", "--now", now)
    _killed(workshop, home, cycle, f"cycle:{number}", 1.5, growth(home.written))
    broken = look(home)
    ended = json.loads(home.manage(*cycle))
    whole = look(home)
    again = json.loads(home.manage(*cycle))
    faults = _both(broken, whole, "it went on")
    if ended["status"] != "done":
        faults.append(f"the cycle that went on ended {ended['status']}: {ended['error']}")
    if again["counts"]:
        faults.append(f"one more cycle was not empty: {again['counts']}")
    numbers = {"killed at work": int(broken["run"] == "running"), **dict(sorted(ended["counts"].items()))}
    return {"numbers": numbers, "faults": faults}


def kill_purge(workshop: Workshop, home: Home, number: int) -> dict[str, Any]:
    """Kill a purge; the memory is there whole or gone, and the next purge makes it gone."""
    victim = fill(home, 100 + number, MORE)[number]
    purge = ("memory", "purge", victim, "--yes", "--json", "--reason", "proof")
    met = _killed(workshop, home, purge, f"purge:{number}", 0.1, growth(home.written))
    broken = look(home, victim)
    if broken["is_left"]:
        home.manage(*purge)
    whole = look(home, victim)
    faults = _both(broken, whole, "the purge") + (["it is still there"] if whole["is_left"] else [])
    return {"numbers": {"killed at work": int(met)}, "faults": faults}


def kill_restore(workshop: Workshop, home: Home, number: int) -> dict[str, Any]:
    """Kill a restore of a backup; the store is the old one or the backup's, whole, and the next restore ends well."""
    before = look(home)
    file = workshop.folder / "proof.backup"
    file.unlink(missing_ok=True)
    home.manage("backup", "--to", str(file), "--json")
    fill(home, 200 + number, MORE)
    now = look(home)
    restore = ("restore", str(file), "--yes", "--json")
    met = _killed(workshop, home, restore, f"restore:{number}", 0.5, _a_new_store(home))
    broken = look(home)
    home.manage(*restore)
    whole = look(home)
    faults = _both(broken, whole, "the restore")
    if broken["memories"] not in (before["memories"], now["memories"]):
        faults.append(f"{broken['memories']} memories are neither the old nor the restored store")
    if whole["memories"] != before["memories"]:
        faults.append(f"restored {whole['memories']} of {before['memories']} memories")
    return {"numbers": {"killed at work": int(met)}, "faults": faults}


def fill(home: Home, week: int, amount: int) -> list[str]:
    """Store what people say in a week; the ids of what may be purged."""
    purgeable: list[str] = home.ask("proof.cycle.seed:fill", week=week, amount=amount)
    return purgeable


def look(home: Home, victim: str = "") -> dict[str, Any]:
    """What is half-done, and whether a memory is there."""
    seen: dict[str, Any] = home.ask("proof.cycle.seed:look", victim=victim)
    return seen


def _both(broken: dict[str, Any], whole: dict[str, Any], later: str) -> list[str]:
    after = (("the kill", broken), (later, whole))
    return [f"after {what}: {fault}" for what, seen in after for fault in seen["faults"]]


def _killed(
    workshop: Workshop,
    home: Home,
    command: tuple[str, ...],
    name: str,
    longest_s: float,
    begun: Callable[[], bool],
) -> bool:
    """Kill a command at a random moment after it began; False where it was over before."""
    after_s = random.Random(f"{SEED}:{name}").uniform(0, longest_s)
    return killed(home, *command, log=workshop.folder / "cycle.log", begun=begun, after_s=after_s)


def _a_new_store(home: Home) -> Callable[[], bool]:
    """Whether a file has appeared in the home or among its backups, or much was written to the server: a restore has begun."""
    before = _files(home)
    if "DATABASE_URL" in own_variables(home.path):
        has_grown = growth(home.written, by=NEW_DATABASE)
        return lambda: bool(_files(home) - before) or has_grown()
    return lambda: bool(_files(home) - before)


def _files(home: Home) -> set[str]:
    kept = {"memory.db-wal", "memory.db-shm"}
    return {path.name for folder in (home.path, home.path / "backups") for path in folder.iterdir()} - kept
