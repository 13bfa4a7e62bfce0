"""The database server killed under writers: the web process lives on, and what it acknowledged is there."""

import random
from typing import Any

from bench.proof.clients.kills import gone_on, looked_at, open_round, recalled, store_more
from bench.proof.clients.traffic import Killing
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
        traffic = store_more(web, home, ledger, Killing(after_s, crash, GO_ON_S))
        faults = [*recalled(web, home, ledger), *gone_on(traffic)]
    faults += [text for text in traffic.refusals if not any(word in text.lower() for word in EXPECTED)][:5]
    return looked_at(home, ledger, faults, before, traffic)
