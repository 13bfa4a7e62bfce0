"""Expired rows are destroyed once, in short transactions; rows still needed are held."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from random import randrange
from unittest.mock import patch
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from access.audit import GENESIS, append, chain_hash, start_hash
from access.audit.operations import Operation
from access.audit.verify import chain_names, dropped_through, is_log_whole, verify_chain
from access.errors import NotPermitted
from access.models import AuditEntry, AuditHead, AuditPayload, Group, RowChange
from access.tokens import operator
from maintenance import retention
from maintenance.cycle.recorder import step_change
from maintenance.models import Run
from maintenance.retention import RetentionReport, enforce_retention
from memories.draft import Draft
from memories.lifecycle.verbs import forget, restore
from memories.models import IndexChange, IndexState, Link, Memory, Piece, RecallLog, Tombstone
from memories.store import store
from storage.postgresql.months import months_of
from tests.memories.tables import all_rows
from tests.people import agent, bob, person  # noqa: F401 - fixtures

Remember = Callable[..., Memory]
pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def aged(memory: Memory, *, days: float) -> Memory:
    """Forget a memory so many days ago."""
    forget(operator(), memory.id)
    Memory.objects.filter(pk=memory.pk).update(state_changed_at=timezone.now() - timedelta(days=days))
    return memory


def id_of(moment: datetime) -> UUID:
    """A UUID v7 of that moment."""
    return UUID(int=(int(moment.timestamp() * 1000) << 80) | (7 << 76) | (2 << 62) | randrange(1 << 60))


def run_forgot(memory: Memory, *, days: float) -> None:
    """A run that ended so many days ago forgot the memory, and can be undone for a month."""
    ended = timezone.now() - timedelta(days=days)
    run = Run.objects.create(
        id=id_of(ended), kind="cleanup", actor="operator", status="done", started_at=ended, finished_at=ended
    )
    change, vals = step_change(run.id, "cleanup"), {"state": ["live", "forgotten"]}
    RowChange.objects.create(change=change, op="u", kept="memories_memory", row=memory.pk, vals=vals)
    AuditEntry.objects.create(seq=999, at=timezone.now(), operation="forget", run=run.id, change=change)


def destroyed(report: RetentionReport, step: str) -> dict[str, int]:
    return next(said.destroyed for said in report.steps if said.step == step)


def held(report: RetentionReport, step: str = "memories") -> dict[str, int]:
    return next(said.held for said in report.steps if said.step == step)


def recalled(query: str, at: datetime) -> RecallLog:
    return RecallLog.objects.create(
        at=at, actor="operator", via="command", mode="keyword", query=query, duration_ms=1.0
    )


@pytest.mark.model
def test_a_forgotten_memory_past_its_time_is_destroyed_with_all_that_holds_its_text(
    remember: Remember,
) -> None:
    memory = aged(remember("The vault code is 4711"), days=31)
    kept = remember("The queue is called ledger-events")
    recalled("is it true that the vault code is 4711 today", timezone.now())
    report = enforce_retention(operator())
    assert destroyed(report, "memories") == {
        "memories": 1, "pieces": 1, "log payloads": 2, "recalls": 1, "row changes": 2,
    }  # fmt: skip
    assert list(Memory.objects.all()) == [kept]
    assert not Piece.objects.filter(memory_id=memory.pk).exists()
    assert not AuditPayload.objects.filter(payload__icontains="vault").exists()
    assert not RecallLog.objects.exists()


@pytest.mark.model
def test_the_log_tells_why_and_its_chain_stays_whole(remember: Remember) -> None:
    memory = aged(remember("The vault code is 4711"), days=31)
    enforce_retention(operator())
    row = AuditEntry.objects.filter(memory_id=memory.id).order_by("-key")[0]
    assert (row.operation, row.payload_row.payload) == ("purge", {"reason": "past its retention of 30 days"})
    report = verify_chain(row.chain)
    assert (report.is_whole, report.purged_payloads) == (True, 2)


@pytest.mark.model
def test_nobody_asked_for_it_so_the_text_may_come_again(remember: Remember) -> None:
    aged(remember("The vault code is 4711"), days=31)
    enforce_retention(operator())
    assert not Tombstone.objects.exists()
    assert store(operator(), Draft("The vault code is 4711", group="ledger")).outcome == "created"


@pytest.mark.model
def test_what_was_forgotten_lately_stays_and_can_be_restored(remember: Remember) -> None:
    memory = aged(remember("The vault code is 4711"), days=29)
    assert enforce_retention(operator()).total == 0
    assert restore(operator(), memory.id).state == "live"


@pytest.mark.model
def test_a_second_time_it_finds_nothing_and_writes_nothing(remember: Remember) -> None:
    aged(remember("The vault code is 4711"), days=31)
    now = timezone.now()
    enforce_retention(operator(), now=now)
    before = AuditEntry.objects.count()
    report = enforce_retention(operator(), now=now)
    assert (report.total, AuditEntry.objects.count()) == (0, before)


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_a_dry_run_counts_the_same_and_changes_nothing(remember: Remember) -> None:
    aged(remember("The vault code is 4711"), days=31)
    held_by_run = aged(remember("The archive is locked"), days=31)
    run_forgot(held_by_run, days=31)  # the first step releases it
    recalled("what is the code?", timezone.now() - timedelta(days=91))
    before = all_rows()
    trial = enforce_retention(operator(), dry_run=True)
    assert all_rows() == before
    done = enforce_retention(operator())
    assert [step.destroyed for step in trial.steps] == [step.destroyed for step in done.steps]
    assert destroyed(done, "memories")["memories"] == 2
    assert (trial.dry_run, done.dry_run) == (True, False)


@pytest.mark.model
def test_all_versions_of_a_chain_go_together(remember: Remember) -> None:
    old = remember("The port is 8081")
    new = remember("The port is 9090", supersedes=str(old.id))
    aged(new, days=31)
    assert destroyed(enforce_retention(operator()), "memories")["memories"] == 2
    assert not Memory.objects.exists()


@pytest.mark.model
@pytest.mark.parametrize("state", ["live", "retracted"])
def test_a_chain_with_a_version_that_counts_or_was_retracted_is_held(remember: Remember, state: str) -> None:
    old = remember("The port is 8081")
    new = remember("The port is 9090", supersedes=str(old.id))
    aged(new, days=31)
    Memory.objects.filter(pk=old.pk).update(state=state)
    report = enforce_retention(operator())
    assert held(report) == {"another version is live or retracted": 1}
    assert Memory.objects.count() == 2


@pytest.mark.model
@pytest.mark.parametrize("kind", ["derived", "evidence"])
def test_what_a_live_memory_was_made_from_is_held_until_that_one_goes(remember: Remember, kind: str) -> None:
    source = aged(remember("We met on Monday", type="episodic"), days=31)
    made = remember("They meet on Mondays")
    Link.objects.create(kind=kind, source=made, target=source)
    assert held(enforce_retention(operator())) == {"a live memory was derived from it": 1}
    aged(made, days=31)
    assert destroyed(enforce_retention(operator()), "memories")["memories"] == 2


@pytest.mark.model
def test_what_a_run_forgot_is_held_while_the_run_can_be_undone(remember: Remember) -> None:
    run_forgot(aged(remember("The vault code is 4711"), days=31), days=0)
    assert held(enforce_retention(operator())) == {"a run that can be undone forgot it": 1}
    later = timezone.now() + timedelta(days=31)
    report = enforce_retention(operator(), now=later)
    assert (destroyed(report, "runs"), destroyed(report, "memories")["memories"]) == ({"row changes": 3}, 1)


@pytest.mark.model
def test_a_memory_restored_meanwhile_is_left(remember: Remember) -> None:
    """Between the look and the write somebody restores it."""
    memory = aged(remember("The vault code is 4711"), days=31)
    free = retention.releasable

    def restored_meanwhile(*args: object) -> object:
        found = list(free(*args))  # type: ignore[arg-type]
        restore(operator(), memory.id)
        return found

    with patch.object(retention, "releasable", restored_meanwhile):
        report = enforce_retention(operator())
    assert destroyed(report, "memories") == {}
    assert Memory.objects.get(pk=memory.pk).state == "live"


@pytest.mark.model
def test_killed_between_two_batches_the_next_call_goes_on(remember: Remember) -> None:
    for number in ("one", "two", "three"):
        aged(remember(f"Fact number {number}"), days=31)

    def killed(step: str, done: int, total: int) -> None:
        if step == "memories":
            raise KeyboardInterrupt

    with patch.object(retention, "BATCH_MEMORIES", 2):
        with pytest.raises(KeyboardInterrupt):
            enforce_retention(operator(), report=killed)
        assert Memory.objects.count() == 1
        assert destroyed(enforce_retention(operator()), "memories")["memories"] == 1
    assert not Memory.objects.exists()
    assert is_log_whole()


def test_old_recalls_go_in_batches_and_young_ones_stay(ledger: Group) -> None:
    for days in (0, 89, 91, 92, 200):
        recalled(f"asked {days} days ago", timezone.now() - timedelta(days=days))
    heard: list[tuple[str, int, int]] = []
    with patch.object(retention, "BATCH_ROWS", 2):
        report = enforce_retention(operator(), report=lambda *said: heard.append(said))
    assert destroyed(report, "recalls") == {"recalls": 3}
    if connection.vendor == "sqlite":  # elsewhere whole months go first
        assert heard == [("recalls", 2, 3), ("recalls", 3, 3)]
    left = set(RecallLog.objects.values_list("query", flat=True))
    assert left == {"asked 0 days ago", "asked 89 days ago"}


@pytest.mark.postgresql
def test_the_recall_log_s_months_are_made_ahead_and_go_as_a_whole(ledger: Group) -> None:
    def months() -> list[str]:
        with connection.cursor() as cursor:
            found = months_of(cursor, "memories_recalllog")
        return [f"{month:%Y-%m}" for month in found]

    def rows_of(partition: str) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT COUNT(*) FROM memories_recalllog_{partition}")
            return int(cursor.fetchone()[0])

    for day in ("2031-01-05", "2031-01-31", "2031-03-01", "2031-04-02"):  # before anybody made their months
        recalled(f"asked on {day}", datetime.fromisoformat(f"{day}T12:00:00+00:00"))
    assert rows_of("rest") == 4
    now = datetime(2031, 4, 3, tzinfo=UTC)
    report = enforce_retention(operator(), now=now)  # of 90 days: January has not ended before that
    assert destroyed(report, "recalls") == {}
    assert months()[-6:] == ["2031-01", "2031-02", "2031-03", "2031-04", "2031-05", "2031-06"]
    assert (rows_of("rest"), rows_of("2031_01"), rows_of("2031_03")) == (0, 2, 1)
    keys = [*RecallLog.objects.order_by("key").values_list("key", flat=True)]
    assert keys == [*range(keys[0], keys[0] + 4)]
    report = enforce_retention(operator(), now=datetime(2031, 5, 2, tzinfo=UTC))
    assert destroyed(report, "recalls") == {"recalls": 2}
    assert "2031-01" not in months()
    assert RecallLog.objects.count() == 2


def run_of(*, days: float, status: str = "done") -> Run:
    ended = timezone.now() - timedelta(days=days)
    run = Run.objects.create(
        id=id_of(ended),
        kind="cycle",
        actor="operator",
        status=status,
        started_at=ended,
        finished_at=None if status == "running" else ended,
        counts={"decayed": 2},
        cursor={"marks": {"findings": {"1": 5}}},
    )
    change = step_change(run.id, "decay")
    for row in (1, 2):
        RowChange.objects.create(change=change, op="u", kept="memories_memory", row=row, vals={})
    return run


def test_an_old_run_keeps_its_counts_and_says_that_it_cannot_be_undone(ledger: Group) -> None:
    old, young, running = run_of(days=31), run_of(days=29), run_of(days=31, status="running")
    assert destroyed(enforce_retention(operator(), now=timezone.now()), "runs") == {"row changes": 4}
    assert RowChange.objects.count() == 2
    old.refresh_from_db()
    assert (old.status, old.counts, old.cursor["marks"]) == ("done", {"decayed": 2}, {"findings": {"1": 5}})
    assert "expired" in old.cursor
    assert "expired" not in Run.objects.get(pk=young.pk).cursor
    assert "expired" not in Run.objects.get(pk=running.pk).cursor


@pytest.fixture
def no_index_changes() -> None:
    """None is left of other tests: the tables of those with transactions are emptied in any order, with triggers."""
    IndexChange.objects.all().delete()


@pytest.mark.usefixtures("no_index_changes")
def test_index_changes_go_when_they_are_a_day_old_and_not_among_the_newest(ledger: Group) -> None:
    IndexChange.objects.bulk_create(IndexChange(piece=n, op="+") for n in range(30))
    first = IndexChange.objects.order_by("seq")[0].seq
    with patch.object(retention, "CHANGES_KEPT", 10):
        assert enforce_retention(operator(), now=NOW).total == 0  # nobody knows yet how old they are
        IndexChange.objects.bulk_create(IndexChange(piece=n, op="+") for n in range(5))
        assert enforce_retention(operator(), now=NOW + timedelta(hours=23)).total == 0
        report = enforce_retention(operator(), now=NOW + timedelta(hours=24))
    # Of the 35 the newest 10 stay; the first 25 are all among the 30 that were there a day ago.
    assert destroyed(report, "index changes") == {"index changes": 25}
    assert IndexChange.objects.order_by("seq")[0].seq == first + 25


@pytest.mark.usefixtures("no_index_changes")
def test_index_changes_of_the_last_day_stay_however_many_they_are(ledger: Group) -> None:
    IndexChange.objects.bulk_create(IndexChange(piece=n, op="+") for n in range(5))
    with patch.object(retention, "CHANGES_KEPT", 10):
        enforce_retention(operator(), now=NOW)
        IndexChange.objects.bulk_create(IndexChange(piece=n, op="+") for n in range(100))
        report = enforce_retention(operator(), now=NOW + timedelta(hours=25))
    assert destroyed(report, "index changes") == {"index changes": 5}
    assert IndexChange.objects.count() == 100
    assert IndexState.objects.filter(name="changes_seen").count() == 1


@pytest.fixture
def logged(ledger: Group) -> datetime:
    """Ten log rows, the first one ten days old, in place of what the fixtures wrote."""
    now = timezone.now()
    for day in range(10):
        append(operator(), Operation.RUN, subject=f"day {day}", at=now - timedelta(days=10 - day))
    return now


def kept_for(settings: Settings, **days: int) -> None:
    settings.LOCI = replace(settings.LOCI, maintenance=replace(settings.LOCI.maintenance, **days))


def test_by_default_the_audit_log_is_kept_for_ever(logged: datetime) -> None:
    before = AuditEntry.objects.count()
    assert enforce_retention(operator(), now=logged + timedelta(days=30_000)).total == 0
    assert AuditEntry.objects.count() == before


def test_old_log_rows_go_and_the_chain_stays_whole(logged: datetime, settings: Settings) -> None:
    kept_for(settings, log_days=5)
    AuditEntry.objects.exclude(subject__startswith="day").update(at=logged - timedelta(days=20))
    relink()
    report = enforce_retention(operator(), now=logged)
    anchor, first = AuditEntry.objects.filter(chain="instance").order_by("seq")[:2]
    assert first.subject == "day 5"
    others = sum(dropped_through(chain) for _, chain in chain_names() if chain != "instance")
    assert destroyed(report, "audit log")["log rows"] == anchor.seq + others
    assert is_log_whole()


def relink() -> None:
    """Chain the rows again after a test moved their times."""

    for head in AuditHead.objects.all():
        previous = start_hash(head.chain, GENESIS)
        for entry in AuditEntry.objects.filter(chain=head.chain).order_by("seq"):
            entry.hash = previous = chain_hash(previous, entry)
            entry.save(update_fields=["hash"])
        AuditHead.objects.filter(pk=head.pk).update(hash=previous)


def test_log_rows_since_the_oldest_run_that_can_be_undone_stay(logged: datetime, settings: Settings) -> None:
    kept_for(settings, log_days=5)
    AuditEntry.objects.exclude(subject__startswith="day").update(at=logged - timedelta(days=20))
    relink()
    run_of(days=7.5)
    enforce_retention(operator(), now=logged)
    assert AuditEntry.objects.filter(chain="instance").order_by("seq")[1].subject == "day 3"
    assert is_log_whole()


def test_only_an_admin_of_everything_may_destroy(bob: object, ledger: Group) -> None:  # noqa: F811
    for actor in (person(bob), agent(bob, groups=[ledger])):  # type: ignore[arg-type]
        with pytest.raises(NotPermitted):
            enforce_retention(actor)


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_the_command_tells_what_it_did_and_what_it_held(remember: Remember) -> None:
    out = StringIO()
    call_command("store", "retention", stdout=out)
    assert out.getvalue() == "Nothing has expired.\n"
    aged(remember("The vault code is 4711"), days=31)
    out = StringIO()
    call_command("store", "retention", "--dry-run", stdout=out)
    assert out.getvalue().splitlines()[-1] == "6 rows would be destroyed. Nothing was changed."
    out = StringIO()
    call_command("store", "retention", "--json", stdout=out)
    said = json.loads(out.getvalue())
    assert (said["total"], said["dry_run"]) == (6, False)
    assert next(step for step in said["steps"] if step["step"] == "memories")["destroyed"]["memories"] == 1
