"""Proof: on PostgreSQL too, nothing acknowledged is lost, whichever process is killed, on one site or two."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from bench.proof.clients.kills import gone_on, kill_rounds, looked_at, recalled, store_more
from bench.proof.clients.ledger import open_round
from bench.proof.clients.traffic import Killing
from bench.proof.clients.writers import over_http
from bench.proof.cycle.kills import prove_cycle_kills
from bench.proof.postgres.moving import there_and_back
from bench.proof.postgres.purging import purge_and_scan
from bench.proof.postgres.server import PostgresServer
from bench.proof.postgres.sites import read_replica, two_sites
from bench.proof.proof import Finding, Workshop
from bench.proof.server import running

WRITERS = 16
EVENTS = 300  # before the first killed cycle
SEED = 20_270_318
KILL_WINDOW_S = (0.0, 3.0)
GO_ON_S = 4.0  # of the writers, after the database is back
# What an agent may be told while there is no database.
EXPECTED = ("[unavailable]", "503: ")
Step = Callable[[], dict[str, Any]]


def prove_postgres(workshop: Workshop) -> Finding:
    """Run each part on one server of the wheel; a stopped run goes on after its last finished step."""
    server = PostgresServer(workshop.folder / "server")
    if not (server.data / "PG_VERSION").exists() or not workshop.done():
        server.make()
        server.make_template(workshop.folder / "home-template")
        workshop.note("server made", {})
    try:
        steps = _steps(replace(workshop, database=server.new_database), server)
        found = workshop.steps({name: partial(_on, server, step) for name, step in steps.items()})
    finally:
        server.stop()
    return Finding.of(found)


def _on(server: PostgresServer, step: Step) -> dict[str, Any]:
    server.start()  # a stopped run or a killed server left it stopped
    return step()


def _steps(workshop: Workshop, server: PostgresServer) -> dict[str, Step]:
    """Each step of the proof by name, in order."""
    served = workshop.pick(
        {"server": 10, "up": 2, "web": 2, "remember": 2}, {"server": 1, "up": 1, "web": 1, "remember": 1}
    )
    amount, crashes = workshop.pick((1200, 10), (60, 1))
    return {
        "writers": partial(over_http, workshop, "http", amount, clients=WRITERS),
        "writers, 4 recalling": partial(
            over_http, workshop, "http-reading", amount, readers=4, clients=WRITERS
        ),
        **kill_rounds(workshop, served),
        **{f"database {n}": partial(kill_database, workshop, server, n) for n in range(crashes)},
        "two sites": partial(two_sites, workshop),
        "replica": partial(read_replica, workshop, server),
        "purge": partial(purge_and_scan, workshop, server),
        "move": partial(there_and_back, workshop, server),
        "cycles": partial(_cycles, workshop),
    }


def kill_database(workshop: Workshop, server: PostgresServer, number: int) -> dict[str, Any]:
    """Kill every process of the database server while agents store, start it again, ask it. All rounds share one home."""
    home, ledger, log = open_round(workshop, "database", is_first=number == 0)
    after_s = random.Random(f"{SEED}:{number}").uniform(*KILL_WINDOW_S)
    before = len(ledger.acknowledged)

    def crash() -> None:
        server.kill()
        server.start()

    with running(home, log) as web:
        traffic = store_more(web, home, ledger, Killing(after_s, crash, GO_ON_S))
        faults = [*recalled(web, home, ledger), *gone_on(traffic)]
    faults += [text for text in traffic.refusals if not any(word in text.lower() for word in EXPECTED)][:5]
    return looked_at(home, ledger, faults, before, traffic)


def _cycles(workshop: Workshop) -> dict[str, Any]:
    """The proof of killed cycles, purges and restores, on PostgreSQL; it goes on where it was stopped."""
    inner = replace(workshop, folder=workshop.folder / "cycles")
    inner.folder.mkdir(exist_ok=True)
    finding = prove_cycle_kills(inner, stored=EVENTS)
    inner.forget()
    return {"numbers": finding.numbers, "faults": [*finding.faults]}
