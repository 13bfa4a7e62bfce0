"""A job runs once at a time, when its row says that it is due, and records its runs and errors."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
from django.db import DatabaseError
from django.utils import timezone

from access.actor import Actor
from loci_site.worker.tasks import app, schedule_of
from maintenance import jobs
from maintenance.jobs import (
    DIED,
    Job,
    do_job,
    is_due,
    last_finished,
    next_run,
    release_lock,
    renew_lock,
    run_job,
    take_lock,
    wait_after,
)
from maintenance.models import JobLock
from maintenance.schedule import JOBS

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
Set = Callable[[datetime], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Set:
    """Set the current time of jobs."""

    def at(moment: datetime) -> None:
        monkeypatch.setattr("maintenance.jobs.timezone.now", lambda: moment)

    at(NOON)
    return at


def job(work: object = lambda actor: None, *, every: timedelta = DAY, **more: object) -> Job:
    return Job("tidy", every=every, work=work, **more)  # type: ignore[arg-type]


def breaks(actor: Actor) -> None:
    raise ValueError("no room")


def row() -> JobLock:
    return JobLock.objects.get(name="tidy")


def test_a_job_acts_as_a_job_with_every_right() -> None:
    actors: list[Actor] = []
    assert run_job(job(actors.append))
    (actor,) = actors
    assert (actor.name, actor.via, actor.is_person, actor.all_groups) == ("job/tidy", "job", False, True)
    assert last_finished("tidy") is not None


def test_it_runs_again_when_its_period_is_over_and_not_at_each_tick(clock: Set) -> None:
    done: list[Actor] = []
    daily = job(done.append)
    ran = []
    for minutes in (0, 1, 2, 12 * 60, 24 * 60 - 1, 24 * 60, 24 * 60 + 1, 5 * 24 * 60, 5 * 24 * 60 + 1):
        clock(NOON + minutes * MINUTE)
        if run_job(daily):
            ran.append(minutes)
    # A machine that slept for four days makes up one run, not four.
    assert ran == [0, 24 * 60, 5 * 24 * 60]
    assert len(done) == 3


def test_a_tick_that_comes_a_little_early_does_not_cost_a_whole_one(clock: Set) -> None:
    quick = job(every=timedelta(seconds=20))
    assert run_job(quick)
    clock(NOON + timedelta(seconds=9.9))
    assert not run_job(quick)
    clock(NOON + timedelta(seconds=10))
    assert run_job(quick)


def test_a_clock_that_was_far_ahead_does_not_stop_a_job_for_a_year(clock: Set) -> None:
    clock(NOON + 365 * DAY)
    assert run_job(job())
    clock(NOON)
    assert run_job(job())
    assert row().last_finished == NOON
    assert not run_job(job())


def test_a_lock_and_a_failure_in_the_future_do_not_block_a_job(clock: Set) -> None:
    clock(NOON + 365 * DAY)
    assert take_lock("tidy", holder="of the future", at_most=MINUTE)
    clock(NOON)
    assert not run_job(job())  # counted as a dead holder: the next try waits a tick
    assert row().last_failed == NOON
    clock(NOON + MINUTE)
    assert run_job(job())
    JobLock.objects.update(failures=1, last_failed=NOON + 365 * DAY)
    assert run_job(job())


def test_a_job_without_a_period_waits_for_a_request() -> None:
    never = job(every=timedelta(0))
    assert not run_job(never)
    JobLock.objects.create(name="tidy", asked_at=timezone.now(), asked_by="ann")
    assert run_job(never)
    assert (row().asked_at, row().asked_by) == (None, "")
    assert not run_job(never)


def test_a_requested_job_runs_before_it_is_due(clock: Set) -> None:
    assert run_job(job())
    JobLock.objects.update(asked_at=NOON, asked_by="ann")
    assert run_job(job(is_due=lambda: False))


def test_a_running_job_is_not_started_elsewhere() -> None:
    again: list[bool] = []
    quick = job(every=timedelta(0))
    assert do_job(job(lambda actor: again.append(do_job(quick, actor=actor))), actor=jobs.job_actor("tidy"))
    assert again == [False]
    assert do_job(quick, actor=jobs.job_actor("tidy"))


def test_of_two_workers_that_find_a_job_due_one_does_it(clock: Set) -> None:
    JobLock.objects.create(name="tidy")
    seen = row()
    done: list[Actor] = []
    actor = jobs.job_actor("tidy")
    assert do_job(job(done.append), actor=actor, seen=seen)
    # The first has ended, so its lock is free again; the second read its row before that.
    assert not do_job(job(done.append), actor=actor, seen=seen)
    assert len(done) == 1


def test_the_lock_of_a_dead_holder_expires() -> None:
    assert take_lock("tidy", holder="dead", at_most=MINUTE)
    assert not take_lock("tidy", holder="next", at_most=MINUTE)
    JobLock.objects.filter(name="tidy").update(held_until=timezone.now() - MINUTE)
    assert take_lock("tidy", holder="next", at_most=MINUTE)
    assert not release_lock("tidy", holder="dead")
    assert release_lock("tidy", holder="next")


def test_a_working_holder_keeps_its_lock_and_a_stranger_cannot_renew_it(clock: Set) -> None:
    assert take_lock("tidy", holder="slow", at_most=MINUTE)
    clock(NOON + timedelta(seconds=50))
    renew_lock("tidy", holder="stranger", at_most=MINUTE)
    assert row().held_until == NOON + MINUTE
    renew_lock("tidy", holder="slow", at_most=MINUTE)
    assert row().held_until == NOON + timedelta(seconds=110)


def test_the_lock_is_renewed_during_the_work_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    renewed, calls = Event(), []

    def renew(name: str, *, holder: str, at_most: timedelta) -> None:
        calls.append((name, holder))
        renewed.set()

    monkeypatch.setattr("maintenance.jobs.renew_lock", renew)
    # A lock of 40 ms: the first renewal comes after 10.
    assert run_job(
        job(lambda actor: renewed.wait(30) or pytest.fail("no renewal"), held=timedelta(milliseconds=40))
    )
    assert calls[0] == ("tidy", jobs.holder_id())
    assert not any(thread.name == "loci-hold-tidy" for thread in jobs.threading.enumerate())


@pytest.mark.django_db(transaction=True)
def test_a_job_longer_than_its_lock_keeps_it() -> None:
    taken, ends = [], []

    def slow(actor: Actor) -> None:
        first = row().held_until
        while row().held_until == first:  # the renewal comes from a thread and a connection of its own
            Event().wait(0.01)
        ends.append(row().held_until - first)
        taken.append(take_lock("tidy", holder="next", at_most=MINUTE))

    assert run_job(job(slow, held=timedelta(seconds=2)))
    assert (taken, ends[0] > timedelta(0), row().holder) == ([False], True, "")


def test_a_renewal_on_a_busy_database_is_logged_and_retried(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(**_: object) -> None:
        raise DatabaseError("database is locked")

    monkeypatch.setattr(JobLock.objects, "filter", busy)
    renew_lock("tidy", holder="slow", at_most=MINUTE)
    assert "tidy: its lock was not renewed (DatabaseError)" in caplog.text


def test_a_job_that_lost_its_lock_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert run_job(job(lambda actor: JobLock.objects.update(holder="somebody else") and None))
    assert "tidy: another process took its lock before it ended" in caplog.text
    assert row().holder == "somebody else"


def test_a_paused_job_does_not_run_even_when_requested() -> None:
    now = timezone.now()
    JobLock.objects.create(name="tidy", paused_at=now, paused_by="ann", asked_at=now, asked_by="bob")
    assert not run_job(job(pytest.fail))
    assert not do_job(job(pytest.fail), actor=jobs.job_actor("tidy"))


def test_a_job_that_is_not_due_writes_nothing() -> None:
    assert not run_job(job(pytest.fail, is_due=lambda: False))
    assert not JobLock.objects.exists()


def test_an_error_is_kept_until_the_next_success(clock: Set) -> None:
    with pytest.raises(ValueError, match="no room"):
        run_job(job(breaks))
    failed = row()
    assert (failed.last_error, failed.failures, failed.last_failed) == ("ValueError: no room", 1, NOON)
    assert (failed.holder, failed.held_until, failed.last_finished) == ("", None, None)
    clock(NOON + MINUTE)
    assert run_job(job())
    worked = row()
    assert (worked.last_error, worked.failures, worked.last_finished) == ("", 0, NOON + MINUTE)


def test_the_wait_grows_after_each_failure(clock: Set) -> None:
    daily, tried = job(breaks), []
    for minutes in range(40):
        clock(NOON + minutes * MINUTE)
        try:
            run_job(daily)
        except ValueError:
            tried.append(minutes)
    # 1, 2, 4, 8 and 16 minutes apart.
    assert tried == [0, 1, 3, 7, 15, 31]
    assert row().failures == 6


@pytest.mark.parametrize(
    ("every", "waits"),
    [
        (DAY, [MINUTE, 2 * MINUTE, 4 * MINUTE, 32 * MINUTE, HOUR, HOUR]),
        (timedelta(seconds=30), [MINUTE / 2, MINUTE, 2 * MINUTE, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE]),
    ],
)
def test_the_wait_doubles_up_to_an_hour_or_ten_minutes(every: timedelta, waits: list[timedelta]) -> None:
    assert [wait_after(failures, job(every=every)) for failures in (1, 2, 3, 6, 7, 1000)] == waits


def test_work_that_kills_its_process_counts_as_failed_and_waits(clock: Set) -> None:
    take_lock("tidy", holder="dead", at_most=2 * MINUTE)
    clock(NOON + 2 * MINUTE)
    assert not run_job(job(pytest.fail))  # the second try waits a tick from the end of the hold
    assert (row().failures, row().last_error, row().last_failed) == (1, DIED, NOON + 2 * MINUTE)
    clock(NOON + 3 * MINUTE)
    assert run_job(job())
    assert row().failures == 0


def test_ctrl_c_releases_the_lock_and_is_not_a_failure() -> None:
    def interrupted(actor: Actor) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        do_job(job(interrupted), actor=jobs.job_actor("tidy"))
    assert (row().holder, row().held_until, row().failures, row().last_finished) == ("", None, 0, None)


def test_the_duration_is_recorded(clock: Set) -> None:
    assert run_job(job(lambda actor: clock(NOON + timedelta(seconds=90))))
    assert row().last_took_s == 90


def test_the_next_run_follows_from_the_row() -> None:
    fresh = JobLock(name="tidy", expected_since=NOON)
    assert next_run(job(), fresh) == NOON
    assert is_due(job(), fresh, now=NOON)
    assert next_run(job(), JobLock(name="tidy", last_finished=NOON)) == NOON + DAY
    failed = JobLock(name="tidy", last_finished=NOON - HOUR, last_failed=NOON, failures=2)
    assert next_run(job(), failed) == NOON + 2 * MINUTE
    assert next_run(job(every=timedelta(0)), fresh) is None
    held = JobLock(name="tidy", held_until=NOON + MINUTE)
    assert not is_due(job(), held, now=NOON)


def test_a_message_expires_before_the_next_one_comes() -> None:
    entry = schedule_of(job())
    assert (entry["schedule"], entry["options"], entry["args"]) == (60.0, {"expires": 54.0}, ["tidy"])
    assert schedule_of(job(every=timedelta(seconds=20)))["schedule"] == 20
    assert schedule_of(job(every=timedelta(0)))["schedule"] == 60
    assert {*app.conf.beat_schedule, "heartbeat"} == {job.name for job in JOBS} >= {"embed_owed", "cycle"}


def test_tasks_travel_as_json() -> None:
    assert (app.conf.task_serializer, app.conf.accept_content) == ("json", ["json"])
