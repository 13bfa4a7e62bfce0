"""The schedule as people see and change it: rights, audit log and wording of states, in every interface."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from access.actor import Actor
from access.errors import Conflict, InvalidInput, LociError, NotFound, NotPermitted, Unavailable
from access.models import AuditEntry, Group
from access.tokens import operator
from loci_site.mcp.results import shown
from loci_site.server.health import schedule_check
from loci_site.worker.tasks import schedule_of
from maintenance import schedule
from maintenance.jobs import HEARTBEAT, Job, run_job, take_lock
from maintenance.models import JobLock
from maintenance.schedule import job_status, list_schedule, pause_job, request_run, resume_job, run_now
from maintenance.schedule.wording import (
    StatsOut,
    describe_schedule,
    format_duration,
    format_interval,
    format_next_run,
    format_state,
)
from memories.review.stats import memory_stats
from tests.loci_site.admin.conftest import browser_of
from tests.people import agent, make_token, person

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DONE: list[Actor] = []
CHANGES = [pause_job, resume_job, request_run, run_now]


def breaks(actor: Actor) -> None:
    raise ValueError("no room in /srv/loci")


TIDY = Job("tidy", every=DAY, work=DONE.append)
BREAKS = Job("breaks", every=HOUR, work=breaks)
NEEDED = Job("needed", every=HOUR, work=DONE.append, is_due=lambda: False)
NEVER = Job("never", every=timedelta(0), work=DONE.append)


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test jobs instead of Loci's own."""
    DONE.clear()
    monkeypatch.setenv("COLUMNS", "160")
    heartbeat = Job(HEARTBEAT, every=timedelta(seconds=20), work=lambda actor: None)
    monkeypatch.setattr(schedule, "JOBS", (heartbeat, TIDY, BREAKS, NEEDED, NEVER))


def command(*words: str) -> str:
    out = io.StringIO()
    call_command("schedule", *words, stdout=out)
    return out.getvalue()


def actions() -> list[tuple[str, str, str, str]]:
    """Audit entries about jobs: actor, operation, subject, action."""
    rows = AuditEntry.objects.filter(operation="schedule").order_by("key").select_related("payload_row")
    return [(e.actor, e.operation, e.subject, e.payload_row.payload["action"]) for e in rows]


def state(job: Job, *, now: datetime = NOON, **columns: object) -> str:
    return job_status(job, JobLock(**{"name": job.name, "expected_since": NOON, **columns}), now=now).state


@pytest.mark.parametrize("change", CHANGES)
def test_only_administrators_of_all_groups_may_change_it(
    change: Callable[[Actor, str], object],
    alice: User,
    bob: User,
    ledger: Group,
) -> None:
    for actor in (person(bob), agent(alice), agent(alice, name="b", scopes=("admin",), groups=[ledger])):
        with pytest.raises(NotPermitted):
            change(actor, "tidy")
    assert (DONE, actions(), JobLock.objects.count()) == ([], [], 0)
    with pytest.raises(NotPermitted):
        list_schedule(person(bob))


@pytest.mark.parametrize("change", CHANGES)
def test_an_unknown_job_is_refused_with_the_known_ones(change: Callable[[Actor, str], object]) -> None:
    with pytest.raises(NotFound) as refused:
        change(operator(), "tydi")
    assert refused.value.message == "There is no job 'tydi'."
    assert refused.value.hint == "The jobs are heartbeat, tidy, breaks, needed, never."
    assert not JobLock.objects.exists()


def test_a_pause_is_stored_and_logged_until_it_ends() -> None:
    paused = pause_job(operator(), "tidy")
    assert (paused.state, paused.by, paused.next_run) == ("paused", "operator", None)
    assert not run_job(TIDY)
    with pytest.raises(Conflict, match="already paused"):
        pause_job(operator(), "tidy")
    resumed = resume_job(operator(), "tidy")
    assert resumed.state == "due"
    assert run_job(TIDY)
    with pytest.raises(Conflict, match="not paused"):
        resume_job(operator(), "tidy")
    assert actions() == [
        ("operator", "schedule", "job:tidy", "pause"),
        ("operator", "schedule", "job:tidy", "resume"),
    ]


def test_the_heartbeat_is_never_paused() -> None:
    with pytest.raises(InvalidInput, match="a worker is alive"):
        pause_job(operator(), HEARTBEAT)


def test_a_long_pause_does_not_make_a_job_overdue_when_it_ends() -> None:
    JobLock.objects.create(
        name="tidy", last_finished=timezone.now() - 90 * DAY, paused_at=timezone.now(), paused_by="ann"
    )
    assert resume_job(operator(), "tidy").state == "due"


def test_a_requested_job_runs_once_at_the_next_tick() -> None:
    assert run_job(TIDY)
    asked = request_run(operator(), "tidy")
    assert (asked.state, asked.by) == ("asked", "operator")
    with pytest.raises(Conflict, match="'operator' has already requested"):
        request_run(operator(), "tidy")
    assert run_job(TIDY)
    assert not run_job(TIDY)
    assert len(DONE) == 2
    assert actions() == [("operator", "schedule", "job:tidy", "ask")]


def test_run_now_acts_as_its_caller() -> None:
    ran = run_now(operator(), "tidy")
    assert (ran.state, ran.failures) == ("idle", 0)
    assert ran.last_run is not None
    assert [actor.name for actor in DONE] == ["operator"]
    run_now(operator(), "tidy")  # due or not
    assert len(DONE) == 2


@pytest.mark.parametrize("change", [request_run, run_now])
def test_a_running_or_paused_job_is_not_started(change: Callable[[Actor, str], object]) -> None:
    take_lock("tidy", holder="host/7/1", at_most=HOUR / 2)
    with pytest.raises(Conflict, match=r"has been running since .* UTC \(host/7/1\)"):
        change(operator(), "tidy")
    JobLock.objects.update(holder="", held_until=None, paused_at=NOON, paused_by="ann")
    with pytest.raises(Conflict, match="paused by 'ann'"):
        change(operator(), "tidy")
    assert (DONE, actions()) == ([], [])


def test_a_failure_by_hand_is_reported_and_recorded() -> None:
    with pytest.raises(Unavailable, match="failed \\(ValueError: no room"):
        run_now(operator(), "breaks")
    (job,) = [job for job in list_schedule(operator()) if job.name == "breaks"]
    assert (job.state, job.failures, job.error) == ("failing", 1, "ValueError: no room in /srv/loci")


@pytest.mark.parametrize(
    ("job", "columns", "after", "expected"),
    [
        (TIDY, {}, HOUR, "due"),
        (TIDY, {"last_finished": NOON}, HOUR, "idle"),
        (TIDY, {"last_finished": NOON}, DAY, "due"),
        (TIDY, {"last_finished": NOON}, 2 * DAY, "due"),
        (TIDY, {"last_finished": NOON}, 2 * DAY + HOUR, "overdue"),
        (TIDY, {}, 2 * DAY + HOUR, "overdue"),
        (TIDY, {"held_until": NOON + HOUR, "last_started": NOON}, HOUR / 2, "running"),
        (TIDY, {"paused_at": NOON}, 9 * DAY, "paused"),
        (TIDY, {"asked_at": NOON}, HOUR, "asked"),
        (TIDY, {"failures": 2, "last_failed": NOON}, HOUR, "failing"),
        (NEEDED, {"last_finished": NOON}, 9 * DAY, "idle"),
        (NEVER, {}, 9 * DAY, "off"),
    ],
)
def test_the_state_of_a_job(job: Job, columns: dict[str, object], after: timedelta, expected: str) -> None:
    assert state(job, now=NOON + after, **columns) == expected


def test_the_list_shows_each_job_with_its_last_run_and_state() -> None:
    run_now(operator(), "tidy")
    JobLock.objects.filter(name="tidy").update(
        last_finished=datetime(2026, 3, 1, 12, tzinfo=UTC), last_took_s=0.25, expected_since=timezone.now()
    )
    with pytest.raises(CommandError):
        command("run", "breaks")
    pause_job(operator(), "never")
    lines = {line.split()[0]: line for line in command().splitlines()}
    assert lines["job"].split() == ["job", "every", "last", "run", "took", "next", "run", "state"]
    assert " ".join(lines["tidy"].split()) == "tidy 1 d 2026-03-01 12:00:00 250 ms next tick due"
    assert "failed once: ValueError: no room in /srv/loci" in lines["breaks"]
    assert lines["needed"].split()[-3:] == ["when", "needed", "idle"]
    assert lines["never"].endswith("paused by operator")


def test_before_the_first_run_the_list_says_so() -> None:
    assert "Nothing has run yet" in command()
    assert command("run", "tidy").startswith("The job 'tidy' ran in ")
    assert "Nothing has run yet" not in command()


def test_the_command_pauses_resumes_and_answers_as_json() -> None:
    assert "is paused" in command("pause", "tidy")
    assert json.loads(command("resume", "tidy", "--json"))["state"] == "due"
    jobs = json.loads(command("--json"))["jobs"]
    assert [job["name"] for job in jobs] == ["heartbeat", "tidy", "breaks", "needed", "never"]


@pytest.mark.parametrize("words", [("pause",), ("list", "tidy"), ("run", "tydi"), ("resume", "tidy")])
def test_an_impossible_command_fails(words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        command(*words)


def test_states_are_worded() -> None:
    job = job_status(TIDY, JobLock(name="tidy", last_finished=NOON), now=NOON + HOUR)
    assert (format_state(job), format_interval(job), format_next_run(job)) == (
        "idle",
        "1 d",
        "2026-03-02 12:00:00",
    )
    failed = replace(job, state="paused", by="ann", failures=3, error="ValueError: x")
    assert format_state(failed) == "paused by ann; failed 3 times: ValueError: x"
    assert format_state(replace(job, state="overdue", since=NOON)) == "overdue since 2026-03-01 12:00:00"
    assert [format_duration(s) for s in (None, 0.004, 1.26, 20, 60, 90, 5400, 7200, 86_400)] == [
        "-", "4 ms", "1.3 s", "20 s", "1 min", "90 s", "90 min", "2 h", "1 d",
    ]  # fmt: skip


def test_health_names_failed_and_overdue_jobs_without_errors() -> None:
    assert (schedule_check().ok, schedule_check().detail) == (True, "on time")
    with pytest.raises(Unavailable):
        run_now(operator(), "breaks")
    JobLock.objects.create(name="tidy", last_finished=NOON, expected_since=NOON)
    check = schedule_check()
    assert (check.ok, check.detail) == (False, "breaks failed 1×, tidy is overdue: see 'loci schedule'")
    pause_job(operator(), "breaks")
    pause_job(operator(), "tidy")
    assert (schedule_check().ok, schedule_check().detail) == (True, "on time; paused: tidy, breaks")


def test_health_needs_one_query_for_all_jobs(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(1):
        schedule_check()


def test_stats_include_a_line_per_job_without_its_error() -> None:
    JobLock.objects.create(name="tidy", last_finished=NOON, expected_since=NOON)
    with pytest.raises(Unavailable):
        run_now(operator(), "breaks")
    lines = describe_schedule()
    assert lines["tidy"] == "last run 2026-03-01T12:00Z, next 2026-03-02T12:00Z, overdue"
    assert "failed 1×" in lines["breaks"]
    assert "no room" not in str(lines)
    assert (HEARTBEAT in lines, lines["never"]) == (False, "never ran")
    out = io.StringIO()
    call_command("stats", stdout=out)
    assert "last run 2026-03-01T12:00Z" in out.getvalue()
    out = io.StringIO()
    call_command("stats", "--json", stdout=out)
    assert json.loads(out.getvalue())["schedule"]["never"] == "never ran"


def test_rest_and_mcp_return_the_same_lines(alice: User, settings: Settings) -> None:
    settings.LOCI_DB_THREADS = "sensitive"
    _, secret = make_token(alice)
    answer = Client().get("/api/stats?everywhere=true", headers={"Authorization": f"Bearer {secret}"})
    assert answer.json()["schedule"] == describe_schedule()
    told = shown(StatsOut.json(memory_stats(operator(), everywhere=True)))
    assert told["schedule"] == describe_schedule() != {}


def press(browser: Client, job: str, action: str) -> str:
    answer = browser.post(f"/admin/maintenance/joblock/{job}/{action}-job/", follow=True)
    return answer.content.decode()


def test_the_page_shows_every_job_with_its_buttons(alice: User) -> None:
    browser = browser_of(alice)
    page = browser.get("/admin/maintenance/joblock/").content.decode()
    assert "Nothing has run yet" in page
    assert all(f'id="{name}"' in page for name in ("heartbeat", "tidy", "breaks", "needed", "never"))
    assert "heartbeat/pause-job" not in page
    assert "is paused until it is resumed" in press(browser, "tidy", "pause")
    page = browser.get("/admin/maintenance/joblock/").content.decode()
    assert "tidy/resume-job" in page
    assert "tidy/pause-job" not in page
    assert "is resumed" in press(browser, "tidy", "resume")
    assert "within a minute" in press(browser, "tidy", "run")
    assert "has already requested the job" in press(browser, "tidy", "run")
    assert [action for *_, action in actions()] == ["pause", "resume", "ask"]
    assert run_job(TIDY)


def test_an_error_in_the_page_cannot_write_html(alice: User) -> None:
    JobLock.objects.create(name="tidy", last_failed=NOON, failures=1, last_error="<script>alert(1)</script>")
    page = browser_of(alice).get("/admin/maintenance/joblock/").content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page


def test_neither_a_get_nor_other_users_change_anything(alice: User, bob: User, ledger: Group) -> None:
    owner, member = browser_of(alice), browser_of(bob)
    address = "/admin/maintenance/joblock/tidy/pause-job/"
    assert owner.get(address).status_code == 405
    assert owner.post("/admin/maintenance/joblock/tidy/drop-job/").status_code == 404
    assert owner.post("/admin/maintenance/joblock/tydi/pause-job/").status_code == 404
    assert member.post(address).status_code == 403
    assert member.get("/admin/maintenance/joblock/").status_code == 403
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post(address).status_code == 403
    assert (actions(), JobLock.objects.count()) == ([], 0)


def test_the_dashboard_shows_failed_jobs_to_admins_only(alice: User, bob: User, ledger: Group) -> None:
    JobLock.objects.create(name="tidy", last_failed=NOON, failures=1, last_error="x")
    said = "failed or overdue job"
    assert said in browser_of(alice).get("/admin/").content.decode()
    assert said not in browser_of(bob).get("/admin/").content.decode()


def test_every_job_is_checked_at_least_once_a_minute() -> None:
    for job in schedule.JOBS:
        assert 0 < schedule_of(job)["schedule"] <= 60
    with pytest.raises(LociError):
        run_now(operator(), "nothing")
