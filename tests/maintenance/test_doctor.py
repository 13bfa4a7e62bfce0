"""The doctor finds what is broken, says it, and repairs what can be made anew."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import F

from access.actor import Actor
from access.errors import NotPermitted
from access.models import AuditEntry
from access.tokens import operator
from maintenance.chain_faults import faulty_chains, keys_in_circles
from maintenance.doctor import Diagnosis, Verdict, examine, repair
from memories.models import Memory, Piece

Remember = Callable[..., Memory]
NoModel = Callable[[], AbstractContextManager[None]]

pytestmark = pytest.mark.django_db
WELL = {
    "driver",
    "home",
    "disk",
    "model",
    "migrations",
    "integrity",
    "indexes",
    "chains",
    "contexts",
    "vectors",
    "tombstones",
    "audit",
}


def wrong(diagnosis: Diagnosis) -> dict[str, str]:
    return {f.check: f.detail for f in diagnosis.findings if f.verdict is Verdict.WRONG}


@pytest.mark.model
def test_a_sound_store_is_well(remember: Remember) -> None:
    remember("The port is 8081")
    diagnosis = examine(operator())
    assert wrong(diagnosis) == {}
    assert {finding.check for finding in diagnosis.findings} == WELL


@pytest.mark.model
def test_a_row_gone_from_the_keyword_index_is_found_and_repaired(remember: Remember) -> None:
    memory = remember("The port is 8081")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_fts (memories_fts, rowid, content, context, filter) VALUES ('delete', %s, %s, %s, %s)",
            [memory.key, memory.content, memory.context, memory.filter],
        )
    assert "the keyword index does not agree" in wrong(examine(operator()))["indexes"]
    after = repair(operator())
    assert wrong(after) == {}
    assert after.repairs[0].startswith("made the search indexes anew (the keyword index does not agree")


@pytest.mark.model
def test_a_dropped_trigger_is_found_and_put_back(remember: Remember) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER memories_fts_insert")
    remember("Written while the trigger was gone")
    assert "memories_fts_insert is missing" in wrong(examine(operator()))["indexes"]
    assert wrong(repair(operator())) == {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM memories_fts WHERE memories_fts MATCH 'trigger'")
        assert cursor.fetchone() == (1,)


@pytest.mark.model
def test_a_lost_vector_row_is_found_and_made_anew(remember: Remember) -> None:
    memory = remember("The port is 8081")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memories_vec WHERE piece = %s", [memory.pieces.get().key])
    assert "1 lack their vector row" in wrong(examine(operator()))["indexes"]
    assert wrong(repair(operator())) == {}


@pytest.mark.model
def test_a_memory_without_a_piece_gets_its_vector(remember: Remember) -> None:
    memory = remember("The port is 8081")
    Piece.objects.all().delete()
    assert wrong(examine(operator()))["vectors"].startswith("1 memories have no piece")
    after = repair(operator())
    assert after.repairs == ("gave 1 memories their missing piece", "embedded 1 memories")
    assert memory.pieces.get().embedding is not None


@pytest.mark.model
def test_an_owed_vector_is_a_notice_not_a_fault(remember: Remember, no_model: NoModel) -> None:
    with no_model():
        remember("The port is 8081")
    diagnosis = examine(operator())
    (finding,) = [f for f in diagnosis.findings if f.check == "vectors"]
    assert finding.verdict is Verdict.NOTICE
    assert finding.detail.startswith("1 memories wait for their vector")
    assert diagnosis.is_well


def test_a_missing_model_is_said_with_what_works_without_it(no_model: NoModel) -> None:
    with no_model():
        faults = wrong(examine(operator()))
    assert "Until then recall works by keywords." in faults["model"]


def test_a_stale_context_is_written_anew(remember: Remember) -> None:
    memory = remember("The port is 8081", tags=("deploy",))
    Memory.objects.filter(pk=memory.pk).update(context="something else")
    assert wrong(examine(operator()))["contexts"].startswith("1 are out of date")
    assert "wrote 1 contexts anew" in repair(operator()).repairs
    memory.refresh_from_db()
    assert memory.context == "deploy"


def test_a_changed_log_row_is_found_and_never_repaired(remember: Remember) -> None:
    remember("The port is 8081")
    AuditEntry.objects.filter(operation="store").update(actor="somebody else")
    for look in (examine, repair, examine):
        assert "the row does not follow the one before" in wrong(look(operator()))["audit"]


def test_versions_that_lead_in_a_circle_are_named(remember: Remember) -> None:
    first, second = remember("The port is 8081"), remember("The queue is called ledger-events")
    Memory.objects.filter(pk=first.pk).update(superseded_by=second)
    Memory.objects.filter(pk=second.pk).update(superseded_by=first)
    faults = wrong(examine(operator()))["chains"]
    assert faults.startswith("2 versions do not fit")
    assert str(first.id) in faults
    assert str(second.id) in faults


def test_a_root_that_is_no_root_is_named(remember: Remember) -> None:
    first, second, third = (remember(text) for text in ("One port", "Two queues", "Three people"))
    Memory.objects.filter(pk=second.pk).update(root=first)
    Memory.objects.filter(pk=third.pk).update(root=second)
    assert [(fault.id, fault.why) for fault in faulty_chains()] == [(third.id, "has a root that is no root")]
    Memory.objects.filter(pk=third.pk).update(root=F("key"))
    assert [(fault.id, fault.why) for fault in faulty_chains()] == [(third.id, "names itself as its root")]


@pytest.mark.parametrize(
    ("successors", "in_circles"),
    [
        ({}, []),
        ({1: 2, 2: 3}, []),
        ({1: 2, 2: 1}, [1, 2]),
        ({1: 2, 2: 3, 3: 2}, [2, 3]),  # 1 leads into the circle but is not part of it
        ({1: 3, 2: 3, 3: None, 5: 5}, [5]),
    ],
)
def test_only_what_comes_back_to_itself_is_a_circle(
    successors: dict[int, int | None], in_circles: list[int]
) -> None:
    assert keys_in_circles(successors) == in_circles


def test_only_an_admin_of_everything_may_look() -> None:
    for look in (examine, repair):
        with pytest.raises(NotPermitted):
            look(Actor(name="bob", via="rest", scopes=frozenset({"admin"})))


@pytest.mark.model
def test_the_command_prints_a_table_and_json() -> None:
    out = StringIO()
    call_command("doctor", stdout=out)
    assert out.getvalue().splitlines()[-1] == "All is well."
    out = StringIO()
    call_command("doctor", "--json", stdout=out)
    assert json.loads(out.getvalue())["is_well"] is True


def test_the_command_ends_with_1_where_something_is_wrong(no_model: NoModel) -> None:
    out = StringIO()
    with no_model(), pytest.raises(SystemExit) as ended:
        call_command("doctor", stdout=out)
    assert ended.value.code == 1
    assert out.getvalue().splitlines()[-1] == "Something is wrong."
