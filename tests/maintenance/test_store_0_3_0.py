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
        "memory.row.summary",
        "group.row.cleanup",
    }
)
# Questions whose first memory is meant to be another one, or none; what comes behind it is of other weights since.
MEANT_FIRST: Final = {
    # The events answer for themselves, not a summary.
    "garden | What was said at tea?": "",
    "garden | How long did deploy number 2 take?": "f9cae02e",
    "garden | AKIAQWERTZUIOPASDFG2": "f9cae02e",
    "garden | When is high water?": "",
    "garden | Which pump failed?": "81bdfc6e",
    "garden | Which part replaced the seal of greenhouse 3?": "f624c401",
    "garden | Who replaced the seals of the pumps?": "81bdfc6e",
    "garden | Ida": "81bdfc6e",
    # German, which the model does not read well: what is nearest, with low confidence.
    "garden | Was ist größe?": "be0a71c8",
    # One word that no text has is not answered by what is near to it.
    "ledger | Hello": "",
    "ledger | 7719": "",
    # A weekday that may be any is a word like others.
    "ledger | Is the deploy key rotated on Friday?": "75a5f604",
    "ledger | Are releases cut on Monday?": "ded15b23",
    "garden | Are releases cut on Monday?": "7913abef",
    # Nothing answers, and another text is the nearest.
    "ledger | AKIAQWERTZUIOPASDFG2": "5a2386bc",
    "garden | How much does the yard's crane lift?": "3f2e0350",
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
        (asked, first), (asked_now, first_now) = map(read_answer, (before, after))
        assert asked_now == asked
        if first_now != MEANT_FIRST.get(asked, first):
            differing[asked] = first_now
    assert differing == {}


def read_answer(line: str) -> tuple[str, str]:
    """The question and the id of the first memory of its answer, empty if there is none."""
    asked, _, hits = line.rpartition(" | ")
    return asked, hits.partition(":")[0].strip()


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
