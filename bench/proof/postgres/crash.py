"""The database server killed under writers: the web process lives on, and what it acknowledged is there."""

import random
from typing import Any

from bench.proof.clients.kills import JOBS_A_ROUND, WRITERS, open_round, recalled
from bench.proof.clients.sentences import jobs
from bench.proof.clients.traffic import store_until_killed
from bench.proof.postgres.server import PostgresServer
from bench.proof.proof import Workshop
from bench.proof.server import running

SEED = 20_270_318
KILL_WINDOW_S = (0.0, 3.0)
GO_ON_S = 4.0  # of the writers, after the database is back
# What an agent may be told while there is no database.
EXPECTED = ("[unavailable]", "503: ")


def kill_database(workshop: Workshop, server: PostgresServer, number: int) -> dict[str, Any]:
    """Kill every process of the database server while agents store, start it again, ask it. All rounds share one home."""
    home, ledger, log = open_round(workshop, "database", is_first=number == 0)
    after_s = random.Random(f"{SEED}:{number}").uniform(*KILL_WINDOW_S)
    before = len(ledger.acknowledged)

    def crash() -> None:
        server.kill()
        server.start()

    with running(home, log) as web:
        traffic = store_until_killed(
            web,
            home.secret,
            jobs(JOBS_A_ROUND, start=len(ledger.sent)),
            ledger,
            writers=WRITERS,
            after_s=after_s,
            kill=crash,
            further_s=GO_ON_S,
        )
        faults = recalled(web.url, home, ledger)
    strange = [text for text in traffic.refusals if not any(word in text.lower() for word in EXPECTED)]
    if not traffic.in_flight or not traffic.afterwards:
        faults.append(
            f"{traffic.in_flight} writes were in flight and {traffic.afterwards} acknowledged after it"
        )
    seen = home.check(ledger.as_json())
    return {
        "acknowledged": len(ledger.acknowledged) - before,
        "afterwards": traffic.afterwards,
        "in_flight": traffic.in_flight,
        "refused": len(traffic.refusals),
        "unanswered": traffic.broken,
        "seen": seen,
        "faults": [*faults, *ledger.odd_outcomes[:5], *strange[:5], *seen["faults"]],
    }
