"""Proof: on PostgreSQL too, nothing acknowledged is lost, whichever process is killed, on one site or two."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from tqdm import tqdm

from bench.proof.clients.kills import kill_remember, kill_server, kill_web
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
MADE = "server made"
EVENTS = 300  # before the first killed cycle
Step = Callable[[], dict[str, Any]]


def prove_postgres(workshop: Workshop) -> Finding:
    """Run each part on one server of the wheel; a stopped run goes on after its last finished step."""
    server = PostgresServer(workshop.folder / "server")
    found = workshop.done()
    if MADE not in found:
        server.make()
        server.make_template(workshop.folder / "home-template")
        workshop.note(MADE, {"faults": []})
    server.start()  # a stopped run left it stopped
    try:
        found = _run_steps(replace(workshop, database=server.new_database), server)
    finally:
        server.stop()
    faults = [f"{step}: {fault}" for step in found for fault in found[step]["faults"]]
    return Finding(_numbers(found), tuple(faults))


def _run_steps(workshop: Workshop, server: PostgresServer) -> dict[str, Any]:
    steps = _steps(workshop, server)
    found = workshop.done()
    with tqdm(total=len(steps), desc="postgres", unit="step") as bar:
        for name, step in steps.items():
            bar.set_postfix_str(name)
            if name not in found:
                server.start()
                found[name] = step()
                workshop.note(name, found[name])
            bar.update()
    return {name: found[name] for name in steps}


def _steps(workshop: Workshop, server: PostgresServer) -> dict[str, Step]:
    """Each step of the proof by name, in order."""
    rounds = workshop.pick(
        {"server": 10, "up": 2, "web": 2, "remember": 2, "database": 10},
        {"server": 1, "up": 1, "web": 1, "remember": 1, "database": 1},
    )
    kill: dict[str, Callable[[int], dict[str, Any]]] = {
        "server": partial(kill_server, workshop),
        "up": partial(kill_server, workshop, supervised=True),
        "web": partial(kill_web, workshop),
        "remember": partial(kill_remember, workshop),
        "database": partial(kill_database, workshop, server),
    }
    amount = workshop.pick(1200, 60)
    kills: dict[str, Step] = {
        f"{kind} {number}": partial(kill[kind], number)
        for kind, times in rounds.items()
        for number in range(times)
    }
    return {
        "writers": partial(_writers, workshop, "http", amount, readers=0),
        "writers, 4 recalling": partial(_writers, workshop, "http-reading", amount, readers=4),
        **kills,
        "two sites": partial(two_sites, workshop),
        "replica": partial(read_replica, workshop, server),
        "purge": partial(purge_and_scan, workshop, server),
        "move": partial(there_and_back, workshop, server),
        "cycles": partial(_cycles, workshop),
    }


def _writers(workshop: Workshop, name: str, amount: int, *, readers: int) -> dict[str, Any]:
    return over_http(workshop, name, amount, readers=readers, bar=tqdm(disable=True), clients=WRITERS)


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
