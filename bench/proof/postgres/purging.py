"""A purged text in PostgreSQL's files: where it stays, and what an operator does about it."""

import json
import subprocess
from pathlib import Path
from typing import Any

from bench.proof.clients.sentences import jobs
from bench.proof.home import make_home
from bench.proof.postgres.server import PostgresServer
from bench.proof.proof import Workshop

NEEDLE = "zqxwharfpassage"  # of the purged text alone; letters that stemming leaves as they are
TEXT = f"The code word for the {NEEDLE} is known to the night shift."
OTHERS, QUICK_OTHERS = 200, 20
# Nothing is compressed, so that a scan for the word's bytes finds it wherever it is.
_PLAIN = """
DO $$ DECLARE found record; BEGIN
    FOR found IN SELECT relname, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
            AND attlen = -1 AND attstorage = 'x'
    LOOP EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STORAGE EXTERNAL', found.relname, found.attname); END LOOP;
END $$
"""
_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
_STATISTIC = "SELECT pg_relation_filepath('pg_statistic')"


def purge_and_scan(workshop: Workshop, server: PostgresServer) -> dict[str, Any]:
    """Store a text among others, purge it, and search every file of the server after each thing that an operator can do."""
    name = "purge"
    home = make_home(workshop.folder / "home-purge", workshop.database(name))
    with server.connected(name) as cursor:
        cursor.execute(_PLAIN)
    others = [job.content for job in jobs(workshop.pick(OTHERS, QUICK_OTHERS))]
    flags = ("--lines", "--json", "--group", "harbour")
    stored = home.manage("remember", "-", *flags, sent="\n".join([*others, TEXT]))
    id_ = json.loads(stored.splitlines()[-1])["id"]

    counts = dict[str, dict[str, int]]()

    def scan(step: str, *statements: str) -> None:
        with server.connected(name) as cursor:
            for statement in (*statements, "CHECKPOINT"):
                cursor.execute(statement)
            cursor.execute(_STATISTIC)
            statistic = server.data / cursor.fetchone()[0]
        counts[step] = _files_with(server.data, statistic)

    scan("stored, then ANALYZE", "ANALYZE")
    told = json.loads(home.manage("memory", "purge", id_, "--yes", "--json", "--reason", "proof"))
    scan("purged", "ANALYZE")
    scan("VACUUM", "VACUUM ANALYZE")
    with server.connected(name) as cursor:
        cursor.execute(_TABLES)
        tables = [table for (table,) in cursor.fetchall()]
    scan("VACUUM (FULL) of Loci's tables", *(f'VACUUM (FULL) "{table}"' for table in tables))
    scan("and the log of writes switched", "SELECT pg_switch_wal()", "CHECKPOINT", "SELECT pg_switch_wal()")
    at_home = [f"the home holds the text: {Path(file).name}" for file in _grep(home.path)]
    numbers = {
        f"{step}: files of data, log of writes, samples": ", ".join(map(str, seen.values()))
        for step, seen in counts.items()
    }
    return {"numbers": numbers, "faults": [*_faults(counts, told), *at_home]}


def _files_with(data: Path, statistic: Path) -> dict[str, int]:
    """How many of the server's files hold the word: tables and indexes, the log of writes, samples of ANALYZE."""
    found = _grep(data)
    wal = [file for file in found if "/pg_wal/" in file]
    samples = [file for file in found if file == str(statistic)]
    return {"data": len(found) - len(wal) - len(samples), "wal": len(wal), "samples": len(samples)}


def _grep(folder: Path) -> list[str]:
    command = ["grep", "-rlai", "--exclude-dir=models", NEEDLE, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def _faults(counts: dict[str, dict[str, int]], told: dict[str, Any]) -> list[str]:
    first, *_, full, last = counts.values()
    faults = []
    if not first["data"] or not first["wal"]:
        faults.append("the scan does not find what is stored, so it shows nothing")
    faults += [f"pg_statistic holds the text: {step}" for step, seen in counts.items() if seen["samples"]]
    if full["data"] or last["data"]:
        faults.append("a data file holds the text after every table was rewritten")
    if "VACUUM" not in json.dumps(told):
        faults.append("the purge's answer does not say what remains")
    return faults
