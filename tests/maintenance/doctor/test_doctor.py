"""The doctor reports faults and rebuilds derived data."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import lru_cache
from io import StringIO
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.actor import Actor
from access.errors import NotPermitted
from access.models import AuditEntry, AuditHead
from access.tokens import operator
from maintenance.doctor import CheckStatus, Diagnosis, Finding, examine, repair
from maintenance.doctor import environment as doctor_place
from maintenance.doctor import rows as doctor_rows
from maintenance.doctor.rows import faulty_chains, keys_in_cycles, stale_contexts
from maintenance.models import JobLock
from memories.embedding.install import verify_model
from memories.models import IndexState, Link, Memory, Piece
from storage.dialect import dialect
from tests.memories.indexes import VECTORS, WORD_TRIGGER, drop_word_trigger, lose_words, texts_with

Remember = Callable[..., Memory]
NoModel = Callable[[], AbstractContextManager[None]]
YEAR = timedelta(days=365)

pytestmark = pytest.mark.django_db
WELL = {
    "driver", "home", "disk", "model", "migrations", "schema", "index model", "heads", "orphans", "vectors",
    "tombstones", "clock", "jobs", "backups", "integrity", "indexes", "chains", "contexts", "forms", "folds", "audit",
    "default scope", "languages",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def model_verified_once() -> Iterator[None]:
    """Reading, hashing and trying the real model takes a second; its files do not change while these tests run."""
    with patch.object(doctor_place, "verify_model", lru_cache(verify_model)):
        yield


def wrong(diagnosis: Diagnosis) -> dict[str, str]:
    return {f.check: f.detail for f in diagnosis.findings if f.verdict is CheckStatus.WRONG}


@pytest.mark.model
def test_a_sound_store_is_well(remember: Remember) -> None:
    remember("The port is 8081")
    diagnosis = examine(operator())
    assert wrong(diagnosis) == {}
    assert {finding.check for finding in diagnosis.findings} == WELL


@pytest.mark.model
def test_a_row_gone_from_the_keyword_index_is_found_and_repaired(remember: Remember) -> None:
    memory = remember("The port is 8081")
    lose_words(memory)
    assert "keyword index" in wrong(examine(operator()))["indexes"]
    after = repair(operator())
    assert wrong(after) == {}
    assert after.repairs[0].startswith("rebuilt the search indexes (")


@pytest.mark.model
def test_a_dropped_trigger_is_found_and_put_back(remember: Remember) -> None:
    drop_word_trigger()
    remember("Written while the trigger was gone")
    assert f"{WORD_TRIGGER} is missing" in wrong(examine(operator()))["indexes"]
    assert wrong(repair(operator())) == {}
    assert texts_with("trigger") == 1


@pytest.mark.model
def test_a_lost_vector_row_is_found_and_made_anew(remember: Remember) -> None:
    memory = remember("The port is 8081")
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {VECTORS} WHERE piece = %s", [memory.pieces.get().key])
    assert "1 lack their vector row" in wrong(examine(operator()))["indexes"]
    assert wrong(repair(operator())) == {}


@pytest.mark.model
def test_a_memory_without_a_piece_gets_its_vector(remember: Remember) -> None:
    memory = remember("The port is 8081")
    Piece.objects.all().delete()
    assert wrong(examine(operator()))["vectors"].startswith("1 memories have no piece")
    after = repair(operator())
    assert after.repairs == ("created the missing pieces of 1 memories", "embedded 1 memories")
    assert memory.pieces.get().embedding is not None


@pytest.mark.model
def test_an_owed_vector_is_a_notice_not_a_fault(remember: Remember, no_model: NoModel) -> None:
    with no_model():
        remember("The port is 8081")
    diagnosis = examine(operator())
    (finding,) = [f for f in diagnosis.findings if f.check == "vectors"]
    assert finding.verdict is CheckStatus.NOTICE
    assert finding.detail.startswith("1 memories have no vector yet")
    assert diagnosis.is_well


def test_a_missing_model_is_said_with_what_works_without_it(no_model: NoModel) -> None:
    with no_model():
        faults = wrong(examine(operator()))
    assert "Until then recall uses keywords only" in faults["model"]


def test_a_stale_context_is_written_anew(remember: Remember) -> None:
    memory = remember("The port is 8081", tags=("deploy",))
    Memory.objects.filter(pk=memory.pk).update(context="something else")
    assert wrong(examine(operator()))["contexts"].startswith("1 contexts are out of date")
    assert "rewrote 1 contexts" in repair(operator()).repairs
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
    assert [*faulty_chains()] == [f"{third.id} has a root that has a root itself"]
    Memory.objects.filter(pk=third.pk).update(root=F("key"))
    assert [*faulty_chains()] == [f"{third.id} names itself as its root"]


def found(check: str) -> Finding:
    (finding,) = [one for one in examine(operator(), quick=True).findings if one.check == check]
    return finding


def test_every_fault_says_what_to_do(remember: Remember) -> None:
    memory = remember("The port is 8081")
    Memory.objects.filter(pk=memory.pk).update(context="something else", state="merged")
    Piece.objects.all().delete()
    AuditEntry.objects.filter(operation="store").update(actor="somebody else", at=timezone.now() + YEAR)
    JobLock.objects.create(name="cycle", last_error="ValueError: no room")
    faults = [one for one in examine(operator()).findings if one.verdict is CheckStatus.WRONG]
    assert {one.check for one in faults} >= {"vectors", "audit", "clock", "jobs", "orphans"}
    assert all(one.advice for one in faults)


def test_a_missing_column_table_or_index_is_named() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX memory_expiry")
        cursor.execute("ALTER TABLE memories_recalllog DROP COLUMN degraded")
        cursor.execute("ALTER TABLE maintenance_joblock ADD COLUMN mood TEXT")
    assert wrong(examine(operator(), quick=True))["schema"].split(", ") == [
        "maintenance_joblock has an unknown column mood",
        "memories_memory lacks the index or constraint memory_expiry",
        "memories_recalllog lacks the column degraded",
    ]
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE memories_recalllog")
    assert "the table memories_recalllog is missing" in wrong(examine(operator(), quick=True))["schema"]


def test_a_table_that_is_not_locis_is_a_notice() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE somebody_elses (x integer)")
    assert (found("schema").verdict, found("schema").detail) == (
        CheckStatus.NOTICE,
        "tables that do not belong to Loci: somebody_elses",
    )


def test_vectors_of_another_model_are_found(remember: Remember) -> None:
    IndexState.objects.update_or_create(name="model", defaults={"value": "other@1"})
    assert "the index holds vectors of other@1" in wrong(examine(operator(), quick=True))["index model"]
    assert found("index model").advice == "run 'loci model reembed'"


@pytest.mark.model
def test_a_language_that_the_model_does_not_read_is_named_with_its_share(remember: Remember) -> None:
    for port in range(12):
        remember(f"The port of the {port}th service is {8080 + port}")
    assert found("languages").verdict is CheckStatus.OK
    for word in ("Sicherung", "Auswertung", "Anmeldung", "Abrechnung"):
        remember(f"Die {word} läuft jede Nacht um halb drei im Rechenzentrum")
    told = found("languages")
    assert told.verdict is CheckStatus.NOTICE
    assert "25 % German, which all-MiniLM-L6-v2 does not read well" in told.detail
    assert "loci model use e5-small" in told.advice


def test_two_versions_that_count_are_found(remember: Remember) -> None:
    first, second = remember("The port is 8081"), remember("The queue is called ledger-events")
    assert found("heads").verdict is CheckStatus.OK
    Memory.objects.filter(pk=second.pk).update(root=first)
    assert str(first.id) in wrong(examine(operator(), quick=True))["heads"]
    third = remember("Anna leads billing")
    Memory.objects.filter(pk=third.pk).update(root=first)
    Memory.objects.filter(pk=first.pk).update(state="superseded")
    assert str(first.id) in wrong(examine(operator(), quick=True))["heads"]
    Memory.objects.filter(pk=third.pk).update(state="superseded")
    assert found("heads").verdict is CheckStatus.OK


def test_what_hangs_on_a_later_version_is_found(remember: Remember) -> None:
    root, version, other = (remember(text) for text in ("One port", "Two queues", "Three people"))
    Link.objects.create(kind="duplicate", source=version, target=other)
    assert found("orphans").verdict is CheckStatus.OK
    Memory.objects.filter(pk=version.pk).update(root=root, state="superseded")
    assert (
        wrong(examine(operator(), quick=True))["orphans"] == "1 links point to a version that is not a root"
    )


def test_compacted_events_must_lead_to_a_summary_that_stands(remember: Remember) -> None:
    source, summary = remember("We met on Monday", type="episodic"), remember("They meet on Mondays")
    Memory.objects.filter(pk=source.pk).update(summary=summary)
    assert found("orphans").verdict is CheckStatus.OK
    Memory.objects.filter(pk=summary.pk).update(state="forgotten")
    said = wrong(examine(operator(), quick=True))["orphans"]
    assert said == "1 compacted events have a summary that does not stand"


def test_rows_from_the_future_are_found(remember: Remember) -> None:
    memory = remember("The port is 8081")
    assert found("clock").verdict is CheckStatus.OK
    Memory.objects.filter(pk=memory.pk).update(created_at=timezone.now() + YEAR)
    assert "a memory is dated" in wrong(examine(operator(), quick=True))["clock"]


def test_jobs_that_failed_are_faults_and_paused_or_dead_ones_notices() -> None:
    past = timezone.now() - timedelta(hours=1)
    JobLock.objects.create(name="cycle", paused_at=past, paused_by="ann")
    JobLock.objects.create(name="backup", holder="gone", held_until=past)
    JobLock.objects.create(name="heartbeat", last_finished=past)
    assert (found("jobs").verdict, found("jobs").detail) == (
        CheckStatus.NOTICE,
        "backup was interrupted; paused: cycle by ann; no worker has reported for a while",
    )
    JobLock.objects.filter(name="cycle").update(last_error="ValueError: no room")
    assert wrong(examine(operator(), quick=True))["jobs"] == "the last run failed: cycle: ValueError: no room"


def test_a_chain_without_its_head_is_found(remember: Remember) -> None:
    remember("The port is 8081")
    AuditHead.objects.all().delete()
    assert "the chain's head is missing" in wrong(examine(operator()))["audit"]


def test_contexts_in_threads_are_compared_without_a_query_for_each(remember: Remember) -> None:
    turns = [remember(f"Turn {n} of the talk", type="episodic", thread="monday") for n in range(12)]
    with CaptureQueriesContext(connection) as queries:
        assert list(stale_contexts()) == []
    assert len(queries) == 2
    Memory.objects.filter(pk=turns[5].pk).update(context="something else")
    assert [memory.pk for memory in stale_contexts()] == [turns[5].pk]
    assert "rewrote 1 contexts" in repair(operator()).repairs
    assert list(stale_contexts()) == []


@pytest.mark.model
def test_a_quick_look_leaves_out_what_reads_every_row(remember: Remember) -> None:
    memory = remember("The port is 8081")
    Memory.objects.filter(pk=memory.pk).update(context="something else")
    AuditEntry.objects.filter(operation="store").update(actor="somebody else")
    look = examine(operator(), quick=True)
    assert look.is_well
    skipped = {one.check for one in look.findings if one.verdict is CheckStatus.SKIPPED}
    assert skipped == {"integrity", "chains", "contexts", "forms", "folds", "audit"}
    drop_word_trigger()
    assert f"{WORD_TRIGGER} missing" in wrong(examine(operator(), quick=True))["indexes"]


def test_a_check_that_cannot_look_says_so_and_the_others_go_on(remember: Remember) -> None:
    with patch.object(doctor_rows, "verify_log", side_effect=DatabaseError("disk I/O error")):
        look = examine(operator())
    assert wrong(look)["audit"] == "the check itself failed: disk I/O error"
    assert {one.check for one in look.findings} == WELL


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
    assert keys_in_cycles(successors) == in_circles


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
    out = StringIO()
    call_command("doctor", "--quick", stdout=out)
    assert "SKIPPED audit" in out.getvalue()
    with pytest.raises(CommandError, match="cannot be combined with --quick"):
        call_command("doctor", "--quick", "--repair")


def test_the_command_ends_with_1_where_something_is_wrong(no_model: NoModel) -> None:
    out = StringIO()
    with no_model(), pytest.raises(SystemExit) as ended:
        call_command("doctor", stdout=out)
    assert ended.value.code == 1
    assert out.getvalue().splitlines()[-1] == "Something is wrong: model."


@pytest.mark.postgresql
def test_an_index_that_is_not_valid_is_named(remember: Callable[..., Memory]) -> None:
    remember("The port is 8081")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'piece_search_room'::regclass"
        )
    try:
        found = next(f for f in examine(operator()).findings if f.check == "integrity")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'piece_search_room'::regclass"
            )
    assert (found.verdict, found.detail) == ("wrong", "the index piece_search_room is not valid")
    assert "REINDEX" in found.advice


@pytest.mark.postgresql
def test_indexes_are_checked_by_amcheck_where_the_role_may_run_it() -> None:
    """The test server has no amcheck, so a function with the same name takes its place."""
    with connection.cursor() as cursor:
        cursor.execute("""
            CREATE FUNCTION bt_index_check(regclass) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
                IF $1 = 'memories_memory_pkey'::regclass THEN RAISE 'item order is wrong'; END IF;
            END $$
        """)
        cursor.execute("REVOKE EXECUTE ON FUNCTION bt_index_check FROM PUBLIC")
        assert dialect().index_faults() == ["memories_memory_pkey: item order is wrong"]
        cursor.execute("SET LOCAL ROLE pg_read_all_data")
        assert dialect().index_faults() == []
        cursor.execute("RESET ROLE")
