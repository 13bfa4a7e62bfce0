"""A store of version 0.3.0 opens in all later code: it answers and exports as it did, and what was undoable still is."""

import json
import lzma
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

from storage.sqlite.base import connect_to_copy
from tests.fixtures.kept_store import ANSWERS, EXPORT, answers_of, export_of, opened, restored
from tests.settings import IS_ENCRYPTED
from tests.shell import Shell

# Differences of today's export from the recorded one that are meant: the line's kind, a dot, the field.
# `disputed` became doubt, a kind of line of its own; compacted events are live; groups have a rule for clean-up.
MEANT_DIFFERENCES: Final = frozenset(
    {
        "memory.row.trust",
        "memory.row.state",
        "memory.row.superseded_by",
        "memory.row.confirmed_at",
        "group.row.cleanup",
    }
)
# A dispute lowers no rank, and an undisputed text that says the same as a verified one stands after it.
MEANT_ANSWERS: Final = {
    "ledger | What is the port?": ["d774528f", "79bda2d6", "5a2386bc"],
    "garden | Bye. See you.": ["b5862e42", "58791d1d"],
    # The events answer for themselves, not a summary, and more texts tell better what answers nothing.
    "garden | gardens and water": ["be0a71c8", "2ed94c09", "3f2e0350"],
    "garden | What was said at tea?": [],
    "garden | How long did deploy number 2 take?": ["f9cae02e", "f624c401", "93f042c6"],
    "garden | On which day are releases cut?": ["7913abef"],
    "garden | Why is the lab closed for repairs?": ["07cd7969", "3ed0ec87", "6e3aeda8"],
    # Low confidence takes nothing off a score.
    "garden | What port will the gate listen on?": ["2ed94c09", "07cd7969"],
    "garden | Does the office close at noon?": ["07cd7969"],
    "garden | What happens at night?": ["07cd7969"],
    "garden | night watch": ["07cd7969"],
    "garden | When does the north gate open?": ["2ed94c09", "7913abef"],
    "garden | AKIAQWERTZUIOPASDFG2": ["f9cae02e", "f624c401", "93f042c6"],
    "garden | When does the yard open?": ["7913abef", "6e3aeda8", "be0a71c8"],
    "garden | When is high water?": [],
    "garden | Which pump failed?": ["81bdfc6e", "cccfcd04", "f624c401"],
    "garden | Which part replaced the seal of greenhouse 3?": ["f624c401", "81bdfc6e", "36b7acb5"],
    "garden | Who replaced the seals of the pumps?": ["81bdfc6e", "cccfcd04", "f624c401"],
    "garden | Ida": ["81bdfc6e", "cccfcd04", "93f042c6"],
    "ledger | How long should answers be?": ["df949c7d", "6207924b", "48c7576d"],
    "ledger | trams at nine": ["1e141c63", "6207924b", "d2ea65e7"],
    "ledger | Is the north path closed?": ["e84f68a9", "6207924b", "67246140"],
    "ledger | thirty-one metres": ["6207924b"],
    # One word that no text has is not answered by what is near to it.
    "ledger | Hello": [],
    "ledger | 7719": [],
}
DISPUTED: Final = {
    "garden | Hello",
    "ledger | How long is the slipway?",
    "ledger | Is the slipway forty metres long?",
}
pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the store, restored once for all tests, which take copies."""
    home = tmp_path_factory.mktemp("kept") / "home"
    with restored(home):
        return home


@pytest.fixture
def loci(kept: Path, tmp_path: Path) -> Iterator[Shell]:
    home = tmp_path / "home"
    shutil.copytree(kept, home, symlinks=True)
    with opened(home) as commands:
        yield commands


def ask(home: Path, statement: str) -> object:
    database = connect_to_copy(home / "memory.db")
    try:
        [(value,)] = database.execute(statement)
    finally:
        database.close()
    return value


def verified_chains(loci: Shell) -> dict[str, str]:
    """What `audit verify` says of each chain."""
    lines = [line.split() for line in loci("audit", "verify").stdout.splitlines()[1:-1]]
    return {line[0]: line[-1] for line in lines}


def test_it_opens_with_all_that_is_in_it(loci: Shell) -> None:
    examined = loci("doctor")
    assert (examined.returncode, examined.stdout.splitlines()[-1]) == (0, "All is well.")
    named = ("ledger", "garden", "everyone", "alice-conversations", "heads", "instance")
    assert verified_chains(loci) == dict.fromkeys(named, "unbroken")
    stats = json.loads(loci("stats", "--group", "ledger", "--json").stdout)
    assert (stats["memories"], stats["live"]) == (46, 35)
    assert (stats["feedback_used"], stats["feedback_wrong"]) == (1, 1)
    for table, where, number in (
        ("memories_proposal", "status = 'waiting'", 2),
        ("memories_movedsource", "1", 1),
        ("sources_chunkproof", "1", 1),
        ("sources_watchedsection", "1", 2),
        ("sources_chunk", "released_by = 'alice'", 1),
        ("memories_thread", "title = 'Trams'", 1),
        ("access_membership", "role IN ('viewer', 'curator')", 2),
    ):
        assert ask(loci.home, f"SELECT count(*) FROM {table} WHERE {where}") == number
    tokens = json.loads(loci("token", "list", "--json").stdout)
    assert [token["state"] for token in tokens if token["name"] == "old-agent"] == ["suspended"]


def test_it_answers_as_it_did(loci: Shell) -> None:
    recorded, now = ANSWERS.read_text().splitlines(), answers_of(loci)
    assert len(now) == len(recorded) == 200
    differing = {}
    for before, after in zip(recorded, now, strict=True):
        (asked, hits), (asked_now, hits_now) = map(read_answer, (before, after))
        assert asked_now == asked
        ids, ids_now = ([id_ for id_, _ in each] for each in (hits, hits_now))
        if ids_now != MEANT_ANSWERS.get(asked, ids):
            differing[asked] = ids_now
            continue
        if asked not in DISPUTED | MEANT_ANSWERS.keys():
            assert [score for _, score in hits_now] == pytest.approx([score for _, score in hits], abs=0.025)
    assert differing == {}


def read_answer(line: str) -> tuple[str, list[tuple[str, float]]]:
    asked, _, hits = line.rpartition(" | ")
    pairs = (hit.split(":") for hit in hits.split())
    return asked, [(id_, float(score)) for id_, score in pairs]


def test_it_exports_what_it_exported(loci: Shell) -> None:
    recorded = [json.loads(line) for line in lzma.decompress(EXPORT.read_bytes()).decode().splitlines()]
    now = [line for line in map(json.loads, export_of(loci)) if line["kind"] != "doubt"]
    assert len(now) == len(recorded)
    differing = {name for pair in zip(recorded, now, strict=True) for name in differences(*pair)}
    assert differing == MEANT_DIFFERENCES


def differences(before: dict[str, object], after: dict[str, object]) -> set[str]:
    """Names of what differs between two lines: `memory.row.tags`."""
    found = set[str]()
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found |= {f"{name}.{key}" for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
        elif old != new:
            found.add(name)
    return {f"{before['kind']}.{name}" for name in found}


def test_what_it_decided_stays_decided(loci: Shell) -> None:
    code = "The door code of the lab is 7719."
    assert "was purged" in loci("remember", code, "--group", "ledger").stdout
    dressed = loci("remember", "the door code of the lab is: **7719**", "--group", "ledger", "--json")
    assert "candidate" in dressed.stdout
    again = loci(
        "remember", "The crane's camera uploads with AKIAQWERTZUIOPASDFG2.", "--group", "ledger", "--json"
    )
    assert (
        json.loads(again.stdout)["outcome"] == "reinforced"
    )  # the keyed fingerprint is the same after a restore


def test_its_runs_are_undone(loci: Shell) -> None:
    before = ask(loci.home, "SELECT count(*) FROM memories_memory WHERE summary_id IS NOT NULL")
    [cycle] = json.loads(loci("runs", "list", "--json").stdout)["items"]
    undone = loci("runs", "undo", cycle["id"])
    assert (before, undone.returncode) == (7, 0), undone.stderr
    assert ask(loci.home, "SELECT count(*) FROM memories_memory WHERE summary_id IS NOT NULL") == 0
    run = ask(
        loci.home,
        "SELECT run FROM memory_log WHERE operation = 'import' AND subject = 'source:yard'",
    )
    undone = loci("import", "--undo", str(run), "--json")
    done = {"run": str(UUID(str(run))), "hidden": 3, "restored": 1, "kept": [], "dry_run": False}
    assert json.loads(undone.stdout) == done
    assert loci("doctor").stdout.splitlines()[-1] == "All is well."


@pytest.mark.skipif(IS_ENCRYPTED, reason="the other tests do it")
def test_it_is_restored_into_an_encrypted_home(tmp_path: Path) -> None:
    key = {"LOCI_STORAGE_ENCRYPTION": "sqlcipher", "LOCI_DB_KEY": "5e" * 32}
    with restored(tmp_path / "home", **key) as loci:
        assert loci("doctor").stdout.splitlines()[-1] == "All is well."
        found = json.loads(loci("recall", "how long are backups kept", "--group", "ledger", "--json").stdout)
        assert found["results"][0]["content"] == "Backups are kept for 30 days."
        assert not (loci.home / "memory.db").read_bytes().startswith(b"SQLite format 3")
