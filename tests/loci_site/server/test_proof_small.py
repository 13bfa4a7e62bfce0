"""The long proofs in small, each with real processes; and that they would notice if something were wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.proof.clients.kills import kill_server
from bench.proof.clients.ledger import Ledger
from bench.proof.clients.sentences import jobs
from bench.proof.clients.writers import by_command, by_process, over_http
from bench.proof.home import make_home, run
from bench.proof.proof import Finding, Proof, ProofError, Workshop
from bench.proof.report import marks, write_report
from bench.proof.server import Server, bad_lines
from bench.proof.suite import tried

# Whoever else works on the machine may make this slow, not wrong.
pytestmark = [
    pytest.mark.model,
    pytest.mark.server,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("prepared_home"),
]


def test_eight_clients_lose_none_of_sixty_writes_while_two_recall(tmp_path: Path) -> None:
    found = over_http(Workshop(tmp_path), "http", 60, readers=2, clients=8)
    assert found["faults"] == []
    assert found["numbers"]["memories there"] == 60
    assert found["numbers"]["lost"] == 0


def test_two_processes_on_one_file_lose_nothing(tmp_path: Path) -> None:
    found = by_process(Workshop(tmp_path), 20, processes=2)
    assert found["faults"] == []
    assert found["numbers"]["memories there"] == 40


def test_two_commands_at_once_on_one_file_lose_nothing(tmp_path: Path) -> None:
    found = by_command(Workshop(tmp_path), 1, processes=2)
    assert found["faults"] == []
    assert found["numbers"]["memories there"] == 2


def test_a_killed_server_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    found = kill_server(Workshop(tmp_path), 0)
    assert found["faults"] == []
    assert found["numbers"]["writes in flight at the signal"] > 0
    assert found["numbers"]["writes acknowledged"] > 0


TAMPER = """
import django
django.setup()
from django.db import connection
from access.models import AuditEntry
from memories.models import Memory, Piece
a, b, c, d, e, f = Memory.objects.order_by("key")[:6]
with connection.cursor() as cursor:
    cursor.execute("DELETE FROM memories_vec WHERE piece = %s", [a.pieces.get().key])
    cursor.execute("INSERT INTO memories_fts (memories_fts, rowid, content, context, filter)"
                   " VALUES ('delete', %s, %s, %s, %s)", [b.key, b.content, b.context, b.filter])
AuditEntry.objects.filter(memory_id=c.id).update(memory_id=d.id)
Memory.objects.filter(pk=e.pk).update(context="somebody else")
f.pieces.all().delete()
print(a.id, b.id, c.id, d.id, e.id, f.id)
"""


def test_the_witness_notices_everything_that_may_be_wrong(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    work = jobs(7)
    command = [sys.executable, "manage.py", "remember", "-", "--lines", "--json", "--group", "harbour"]
    lines = "\n".join(job.content for job in work[:6])
    stored = run([*command, "--thread", "talk"], home.path, sent=lines).splitlines()
    acknowledged = {job.content: json.loads(line)["id"] for job, line in zip(work[:6], stored, strict=True)}
    sent = [job.content for job in work]
    assert home.witness("check", sent=sent, acknowledged=acknowledged)["faults"] == []

    assert len(acknowledged) == 6
    _, _, c, d, e, f = run([sys.executable, "-c", TAMPER], home.path).split()
    acknowledged[work[6].content] = "01a00000-0000-7000-8000-000000000000"
    acknowledged[work[0].content + " And more."] = acknowledged.pop(work[0].content)
    faults = "\n".join(home.witness("check", sent=sent[1:], acknowledged=acknowledged)["faults"])
    for expected in (
        f"acknowledged, not there: 01a00000-0000-7000-8000-000000000000 {work[6].content}",
        f"there as {work[0].content!r}",
        f"nobody sent: {work[0].content}",
        "search index: the keyword index does not match",
        "search index: 1 lack their vector row",
        "is broken at row",
        "memories and rows of the keyword index: 6 and 5",
        "vectors of pieces and rows of the vector index: 5 and 4",
        f"{e}: its context is not its neighbours'",
        f"{f}: its pieces do not cover it",
        f"{c} has 0 rows in the log that say it was stored",
        f"{d} has 2 rows in the log that say it was stored",
    ):
        assert expected in faults


LEAVE_EARLY = """
import atexit
import django
django.setup()
from memories.embedding import model_status, warm_up
atexit.register(lambda: print(model_status().state))
warm_up()
"""


def test_a_process_that_ends_while_the_model_loads_waits_for_it(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    # Ended in the middle of it, the process would abort now and then, its work done and its status wrong.
    assert run([sys.executable, "-c", LEAVE_EARLY], home.path) == "ready\n"


def test_a_server_that_ended_before_the_signal_proves_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with pytest.raises(ProofError, match="had ended by itself with 0"):
        Server(process, 1, tmp_path / "server.log").kill()


def test_a_log_line_about_a_lock_is_a_fault(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("10:00 INFO loci: ready\n10:01 WARNING loci: database is locked\n")
    assert bad_lines(log) == ["server.log:2: 10:01 WARNING loci: database is locked"]


def test_a_stopped_proof_goes_on_and_a_quick_look_does_not_pass_for_the_whole(tmp_path: Path) -> None:
    Workshop(tmp_path).note("first", {"faults": []})
    Workshop(tmp_path).note("second", 2)
    assert Workshop(tmp_path).done() == {"first": {"faults": []}, "second": 2}
    assert Workshop(tmp_path, is_quick=True).done() == {}
    Workshop(tmp_path).forget()
    assert Workshop(tmp_path).done() == {}


def test_rounds_are_added_up_and_other_steps_told_one_by_one() -> None:
    found = {
        "web 0": {"numbers": {"writes": 3}, "faults": []},
        "web 1": {"numbers": {"writes": 4}, "faults": ["lost one"]},
        "two sites": {"numbers": {"found": "yes"}, "faults": []},
    }
    finding = Finding.of(found)
    assert finding.numbers == {"web: rounds": 2, "web: writes": 7, "two sites: found": "yes"}
    assert finding.faults == ("web 1: lost one",)


def test_a_ledger_outlives_its_run_and_tells_what_was_not_new(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for text in ("one", "two", "three"):
        ledger.send(text)
    ledger.acknowledge("one", {"id": "1", "outcome": "created"})
    ledger.acknowledge("two", {"id": "1", "outcome": "reinforced"})
    again = Ledger(tmp_path / "ledger.jsonl")
    assert again.as_json() == {"sent": ["one", "two", "three"], "acknowledged": {"one": "1", "two": "1"}}
    assert again.odd_outcomes == ["reinforced instead of created: two"]


def test_the_page_shows_the_last_finding_alone(tmp_path: Path) -> None:
    page = tmp_path / "proof.md"
    begin, end = marks("writers")
    page.write_text(f"# Proofs\n\n{begin}\nold\n{end}\n\nAfter.\n")
    proof = Proof("writers", "claim", lambda workshop: Finding())
    write_report(proof, Finding({"writes": 1200}, ("lost one",)), "2 cores", page=page)
    assert page.read_text() == (
        f"# Proofs\n\n{begin}\n**It does not hold: 1 fault.** 2 cores.\n\n"
        f"| measured | |\n|---|---:|\n| writes | 1,200 |\n\n- lost one\n{end}\n\nAfter.\n"
    )


def test_no_two_sentences_are_alike() -> None:
    assert len({job.content for job in jobs(5000)}) == 5000


def test_a_property_is_proven_by_the_examples_that_were_tried(tmp_path: Path) -> None:
    file = tmp_path / "test_sum.py"
    property_ = (
        "from hypothesis import given, settings, strategies\n\n@settings(max_examples=7, database=None)\n"
    )
    file.write_text(property_ + "@given(strategies.integers())\ndef test_sum(n): assert n + 1 > n\n")
    assert tried(str(file), seed=1, times=1) == {"examples": 7, "faults": []}
    file.write_text("def test_nothing(): pass\n")
    with pytest.raises(ProofError, match="tried no example"):
        tried(str(file), seed=1, times=1)
