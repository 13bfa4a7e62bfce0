"""`manage.py memory`: every verb for the operator, in words and as JSON, with a dry run that changes nothing."""

import json

import pytest
from django.contrib.auth.models import User

from access.models import AuditEntry, Group
from memories.models import Memory
from tests.loci_site.management.conftest import Run
from tests.memories.builders import fresh, kept
from tests.memories.tables import all_rows
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT, OTHER = "The deploy port is 8081.", "Deployments listen on the port 8081."


@pytest.fixture
def memory(alice: User, ledger: Group) -> Memory:
    return kept(person(alice), TEXT, group="ledger")


@pytest.fixture
def other(alice: User, ledger: Group) -> Memory:
    return kept(person(alice), OTHER, group="ledger")


@pytest.mark.parametrize(
    ("verb", "before", "state", "trust"),
    [
        ("forget", {}, "forgotten", "active"),
        ("restore", {"state": "forgotten"}, "live", "active"),
        ("retract", {}, "retracted", "active"),
        ("dispute", {}, "live", "active"),
        ("verify", {}, "live", "verified"),
        ("approve", {"trust": "candidate"}, "live", "active"),
        ("reject", {}, "live", "rejected"),
        ("pin", {}, "live", "active"),
        ("unpin", {"pinned": True}, "live", "active"),
    ],
)
def test_a_verb_is_done_said_and_logged(
    run: Run, memory: Memory, verb: str, before: dict[str, object], state: str, trust: str
) -> None:
    Memory.objects.filter(pk=memory.pk).update(**before)
    rows = all_rows()
    dry = run("memory", verb, str(memory.id), "--dry-run", "--json")
    assert (json.loads(dry.out)["state"], json.loads(dry.out)["changed"], all_rows()) == (state, 0, rows)
    ran = run("memory", verb, str(memory.id), columns=200)
    assert ran.status == 0
    assert ran.out.startswith(
        f"{'trust' if verb in ('approve', 'reject') else verb}: {memory.id} {state}, {trust}"
    )
    assert (fresh(memory).state, fresh(memory).trust, fresh(memory).pinned) == (state, trust, verb == "pin")
    assert AuditEntry.objects.latest("key").via == "command"


def test_two_are_merged_and_taken_apart(run: Run, memory: Memory, other: Memory) -> None:
    ran = run("memory", "merge", str(memory.id), str(other.id), "--content", "Port 8081 is for deployments.")
    assert "In its place: " in ran.out
    assert fresh(memory).state == "merged"
    assert run("memory", "restore", str(memory.id)).status == 0
    assert fresh(memory).state == "live"


def test_the_new_text_may_come_on_standard_input(run: Run, memory: Memory, other: Memory) -> None:
    run("memory", "merge", str(memory.id), str(other.id), "--content", "-", stdin="Für Läufe: 8081.".encode())
    assert Memory.objects.filter(content="Für Läufe: 8081.", state="live").exists()


def test_one_takes_anothers_place(run: Run, memory: Memory, other: Memory) -> None:
    done = json.loads(run("memory", "supersede", str(memory.id), str(other.id), "--json").out)
    assert (done["state"], done["successor"]) == ("superseded", str(other.id))
    assert run("memory", "supersede", str(other.id), str(memory.id)).status == 1


def test_what_is_right_stands_in_its_place(run: Run, memory: Memory) -> None:
    done = json.loads(run("memory", "retract", str(memory.id), "--successor", "The port is 9.", "--json").out)
    assert Memory.objects.get(id=done["successor"]).content == "The port is 9."
    refused = run("memory", "retract", done["successor"], "--successor", TEXT)
    assert (refused.status, "retracted here before" in refused.error) == (1, True)


def test_an_edit_is_a_new_version(run: Run, memory: Memory) -> None:
    words = ("edit", str(memory.id), "--content", "The deploy port is 8082.", "--tag", "ports")
    rows = all_rows()
    assert run("memory", *words, "--dry-run").out.startswith("Dry run: Saved as a new version.")
    assert all_rows() == rows
    done = json.loads(run("memory", *words, "--json").out)
    assert (done["outcome"], done["replaced"], done["memory"]["tags"]) == (
        "new_version",
        str(memory.id),
        ["ports"],
    )
    assert run("memory", "edit", str(memory.id)).status == 1


def test_a_dry_run_says_what_would_be_and_that_nothing_was_written(run: Run, memory: Memory) -> None:
    tried = run("memory", "forget", str(memory.id), "--dry-run")
    assert tried.out.startswith(f"forget would leave {memory.id} forgotten, active. Nothing was written.\n")
    assert run("memory", "forget", str(memory.id)).out.startswith(
        f"forget: {memory.id} forgotten, active; 1 row changed.\n"
    )


def test_a_purge_asks_to_be_meant(run: Run, memory: Memory) -> None:
    refused = run("memory", "purge", str(memory.id))
    assert (refused.status, "--yes" in refused.error) == (1, True)
    assert Memory.objects.count() == 1
    assert run("memory", "purge", str(memory.id), "--dry-run").status == 0
    assert Memory.objects.count() == 1
    ran = run("memory", "purge", str(memory.id), "--yes", "--reason", "asked for")
    assert "purged, active; 1 row changed." in ran.out
    assert "Destroyed: 1 memory, 1 piece, 0 links, 1 log payload," in ran.out
    assert "Cleared in other places: " in ran.out
    assert Memory.objects.count() == 0


def test_what_is_not_there_is_said(run: Run, ledger: Group) -> None:
    ran = run("memory", "forget", "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f", "--json")
    assert (ran.status, json.loads(ran.out)["code"]) == (1, "not_found")
    assert run("memory", "forget", "nonsense").status == 1
