"""Proof: on PostgreSQL too, nothing acknowledged is lost, whichever process is killed, on one site or two."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from bench.proof.clients.kills import kill_rounds
from bench.proof.clients.writers import over_http
from bench.proof.cycle.kills import prove_cycle_kills
from bench.proof.postgres.crash import kill_database
from bench.proof.postgres.moving import there_and_back
from bench.proof.postgres.purging import purge_and_scan
from bench.proof.postgres.reading import read_replica
from bench.proof.postgres.server import PostgresServer
from bench.proof.postgres.sites import two_sites
from bench.proof.proof import Finding, Workshop

WRITERS = 16
EVENTS = 300  # before the first killed cycle
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
    return Finding.of(found, _numbers(found))


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


def _cycles(workshop: Workshop) -> dict[str, Any]:
    """The proof of killed cycles, purges and restores, on PostgreSQL; it goes on where it was stopped."""
    inner = replace(workshop, folder=workshop.folder / "cycles")
    inner.folder.mkdir(exist_ok=True)
    finding = prove_cycle_kills(inner, stored=EVENTS)
    inner.forget()
    return {"numbers": finding.numbers, "faults": [*finding.faults]}


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    def of(kind: str) -> list[dict[str, Any]]:
        return [seen for step, seen in found.items() if step.startswith(f"{kind} ")]

    served = of("server") + of("up") + of("web")
    crashes = of("database")
    sites, purge, move, replica = (found[step] for step in ("two sites", "purge", "move", "replica"))
    writers = {
        f"{step}: {name}": value
        for step in ("writers", "writers, 4 recalling")
        for name, value in found[step]["numbers"].items()
    }
    scans = {
        f"purged text, files of data, log of writes, samples: {step}": f"{seen['data']}, {seen['wal']}, {seen['samples']}"
        for step, seen in purge["counts"].items()
    }
    return {
        **{f"{WRITERS} {name}": value for name, value in writers.items()},
        "web processes, `up`, one of two web processes, `remember` killed": ", ".join(
            str(len(of(kind))) for kind in ("server", "up", "web", "remember")
        ),
        "writes acknowledged before or beside these kills": sum(seen["acknowledged"] for seen in served),
        "database servers killed": len(crashes),
        "writes acknowledged, by the same web process after the kill": f"{sum(c['acknowledged'] for c in crashes):,},"
        f" {sum(c['afterwards'] for c in crashes):,}",
        "writes in flight at the kill, refused until it was back": f"{sum(c['in_flight'] for c in crashes):,},"
        f" {sum(c['refused'] for c in crashes):,}",
        "two sites: found by the other's next recall": f"{sites['found at once']} of {sites['words']}",
        "two sites: restarts under 8 writers, writes acknowledged, lost": f"{sites['restarts']},"
        f" {sites['acknowledged']:,}, {sites['lost']}",
        "two sites: calls sent again to the other site": sites["repeated"],
        "replica: found by the writer's own next recall": f"{replica['words']} of {replica['words']}",
        "replica standing still: recalls two seconds after a write that it answered": f"{replica['by_replica']} of"
        f" {replica['recalls']}",
        "replica stopped: recalls answered by the primary": f"{replica['without']} of 3",
        **scans,
        "moved there and back, memories": move["memories"],
        "answers alike, there and back": " and ".join(f"{share:.0%}" for share in move["overlap"]),
        "a move was killed and went on": "yes" if move["killed"] else "no, it was over before",
        **found["cycles"]["numbers"],
        "steps with a fault": sum(bool(seen["faults"]) for seen in found.values()),
    }
