"""A store moved from SQLite to PostgreSQL and back: the same rows each time, also where a move was killed."""

import json
import random
from typing import Any

from bench.proof.cycle.kills import fill, look
from bench.proof.home import VARIABLES_FILE, Home, make_home, open_home
from bench.proof.postgres.server import PostgresServer
from bench.proof.proof import Workshop
from bench.proof.server import killed

EVENTS, QUICK_EVENTS = 2_000, 150
SEED = 20_270_319
KILL_WINDOW_S = (4.0, 12.0)


def there_and_back(workshop: Workshop, server: PostgresServer) -> dict[str, Any]:
    """Fill a store in SQLite, move it twice, killing the first move once; compare all three stores."""
    home = make_home(workshop.folder / "home-move")
    amount = workshop.pick(EVENTS, QUICK_EVENTS)
    fill(home, 3, amount)
    # The schema comes from the move itself.
    server.new_database("moved", empty=True)
    variables = server.variables("moved")
    home = _at(home, {"PATH": variables["PATH"]})  # which has the server's own pg_dump
    was_killed = _killed_move(home, variables["DATABASE_URL"], workshop)
    there = _move(home, variables["DATABASE_URL"])
    first = home.witness("digest")  # now: a move begins with a backup, which is in the log
    moved = _at(home, variables)
    second = moved.witness("digest")
    file = home.path / "back.db"
    file.unlink(missing_ok=True)
    back = _move(moved, str(file))
    fourth = moved.witness("digest")
    third = _at(home, {"LOCI_STORAGE_DATABASE": str(file)}).witness("digest")
    faults = [f"moved: {name} are others" for name in first if first[name] != second[name]]
    faults += [f"moved back: {name} are others" for name in fourth if fourth[name] != third[name]]
    seen = look(_at(home, {"LOCI_STORAGE_DATABASE": str(file)}))
    numbers = {
        "memories": first["memories"][0],
        "answers alike, there and back": f"{there['overlap']:.0%} and {back['overlap']:.0%}",
        "a move was killed and went on": "yes" if was_killed else "no, it was over before",
    }
    return {"numbers": numbers, "faults": [*faults, *seen["faults"]]}


def _at(home: Home, variables: dict[str, str]) -> Home:
    """The home with another database."""
    (home.path / VARIABLES_FILE).write_text(json.dumps(variables), encoding="utf-8")
    return open_home(home.path)


def _move(home: Home, to: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(home.manage("store", "move", "--to", to, "--json"))
    return found


def _killed_move(home: Home, to: str, workshop: Workshop) -> bool:
    """Start a move and kill it after a while; False where it was over before."""
    after_s = random.Random(SEED).uniform(*KILL_WINDOW_S)
    log = workshop.folder / "move.log"
    # With what it has started: a migration that lived on would be in the way of the next one.
    move = ("store", "move", "--to", to, "--json")
    return killed(home, *move, log=log, begun=lambda: True, after_s=after_s, with_children=True)
