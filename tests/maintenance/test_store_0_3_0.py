"""A store of version 0.3.0 opens: chains of groups, withdrawn texts in other dress, proposals, and what has its day ahead."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.sqlite.base import connect_to_copy
from tests.maintenance.test_squashed_migrations import chains_of, restored
from tests.settings import REPOSITORY
from tests.shell import Shell, shell

FIXTURES = REPOSITORY / "tests" / "fixtures"  # made by make_store.py there
STORE, LATER_STORE = FIXTURES / "store-0.3.0.zip", FIXTURES / "store-0.3.0-feedback.zip"
MOVED_STORE, GUARDED_STORE = FIXTURES / "store-0.3.0-moved.zip", FIXTURES / "store-0.3.0-guarded.zip"
pytestmark = pytest.mark.model


@pytest.fixture
def loci(tmp_path: Path) -> Iterator[Shell]:
    with restored(STORE, tmp_path / "home") as commands:
        yield commands


def count(home: Path, statement: str) -> int:
    database = connect_to_copy(home / "memory.db")
    try:
        [(number,)] = database.execute(statement)
    finally:
        database.close()
    return int(number)


def test_a_store_of_0_3_0_opens_with_all_that_is_in_it(loci: Shell) -> None:
    examined = loci("doctor")
    assert (examined.returncode, examined.stdout.splitlines()[-1]) == (0, "All is well.")
    chains = {line[0]: line[-1] for line in chains_of(loci)}
    assert chains == dict.fromkeys(("ledger", "garden", "heads", "instance"), "unbroken")
    stats = json.loads(loci("stats", "--group", "ledger", "--json").stdout)
    assert (stats["memories"], stats["live"]) == (34, 28)
    assert count(loci.home, "SELECT count(*) FROM memories_proposal WHERE status = 'waiting'") == 1
    assert count(loci.home, "SELECT count(*) FROM memories_link WHERE status = 'open'") >= 3


def test_its_facts_stay_global_by_default(loci: Shell) -> None:
    stored = json.loads(
        loci("remember", "The roof of the lab is green.", "--group", "ledger", "--json").stdout
    )
    assert stored["scope"] == "global"
    assert "stored by-type, as before the upgrade" in loci("doctor").stdout
    (loci.home / "config.toml").write_text('[access]\ndefault_scope = "group"\n')
    with shell(loci.home) as later:
        stored = json.loads(
            later("remember", "The roof of the barn is red.", "--group", "ledger", "--json").stdout
        )
        assert stored["scope"] == "group"
        narrowed = json.loads(later("group", "narrow", "ledger", "--json").stdout)
        assert narrowed["changed"] == 1
        assert later("doctor").stdout.splitlines()[-1] == "All is well."


def test_what_it_decided_stays_decided(loci: Shell) -> None:
    for question, answer in (
        ("which port does the gate listen on", "The gate listens on 7070."),
        ("when does the lift stop", "The lift stops at ten."),
    ):
        found = json.loads(loci("recall", question, "--group", "ledger", "--json").stdout)
        assert found["results"][0]["content"] == answer
    refused = loci("remember", "The door code of the lab is 7719.", "--group", "ledger")
    assert refused.returncode != 0
    dressed = loci("remember", "the door code of the lab is: **7719**", "--group", "ledger", "--json")
    assert "candidate" in dressed.stdout


def test_a_store_with_feedback_and_a_group_for_everyone_opens(tmp_path: Path) -> None:
    with restored(LATER_STORE, tmp_path / "later") as loci:
        examined = loci("doctor")
        assert (examined.returncode, examined.stdout.splitlines()[-1]) == (0, "All is well.")
        stats = json.loads(loci("stats", "--group", "ledger", "--json").stdout)
        assert (stats["memories"], stats["live"]) == (35, 29)
        assert (stats["feedback_used"], stats["feedback_wrong"]) == (1, 1)
        found = json.loads(loci("recall", "how long are answers", "--group", "ledger", "--json").stdout)
        first = found["results"][0]
        assert (first["content"], first["group"]) == ("Answers are short and in British English.", "everyone")
        assert count(loci.home, "SELECT count(*) FROM memories_memory WHERE expires_at IS NOT NULL") == 1
        stored = json.loads(
            loci("remember", "The roof of the lab is green.", "--group", "ledger", "--json").stdout
        )
        assert stored["scope"] == "group"


def test_a_store_with_files_captures_and_a_moved_memory_opens(tmp_path: Path) -> None:
    with restored(MOVED_STORE, tmp_path / "last") as loci:
        examined = loci("doctor")
        assert (examined.returncode, examined.stdout.splitlines()[-1]) == (0, "All is well.")
        moved = json.loads(loci("recall", "when is the hedge cut", "--group", "garden", "--json").stdout)
        assert moved["results"][0]["content"] == "The hedge is cut in May."
        question = (
            "recall",
            "when does the north gate open",
            "--group",
            "ledger",
            "--kind",
            "evidence",
            "--json",
        )
        assert "docs/gates.md" in loci(*question).stdout
        assert count(loci.home, "SELECT count(*) FROM memories_thread WHERE title = 'Trams'") == 1
        waiting = "SELECT count(*) FROM memories_proposal WHERE status = 'waiting' AND memory_id IS NULL"
        assert count(loci.home, waiting) == 1


def test_a_store_with_findings_a_released_chunk_and_a_suspended_token_opens(tmp_path: Path) -> None:
    with restored(GUARDED_STORE, tmp_path / "guarded") as loci:
        examined = loci("doctor")
        assert (examined.returncode, examined.stdout.splitlines()[-1]) == (0, "All is well.")
        found = json.loads(loci("recall", "crane camera uploads", "--group", "ledger", "--json").stdout)
        first = found["results"][0]["content"]
        assert first.startswith("The crane's camera uploads with [aws-access-key:")
        assert "QWERTZUIOPASDFG2" not in first
        kinds = "SELECT count(DISTINCT kind) FROM memories_memoryfinding"
        assert count(loci.home, kinds) >= 3
        assert count(loci.home, "SELECT count(*) FROM sources_chunk WHERE released_by = 'alice'") == 1
        again = json.loads(loci("remember", "The crane's camera uploads with AKIAQWERTZUIOPASDFG2.", "--group", "ledger",
                                "--json").stdout)  # fmt: skip
        assert again["outcome"] == "reinforced"  # the keyed fingerprint is the same after a restore
        tokens = json.loads(loci("token", "list", "--json").stdout)
        assert [token["state"] for token in tokens if token["name"] == "old-agent"] == ["suspended"]
