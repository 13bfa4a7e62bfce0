"""A job runs once at a time, says when it ran, and keeps what went wrong."""

from datetime import timedelta

import pytest
from django.utils import timezone

from access.actor import Actor
from loci_site.tasks import JOBS, app, schedule_of
from maintenance.jobs import Job, last_finished, release_lock, run_job, take_lock
from maintenance.models import JobLock

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def job(work: object = lambda actor: None, **more: object) -> Job:
    return Job("tidy", every=MINUTE, work=work, **more)  # type: ignore[arg-type]


def test_a_job_acts_as_a_job_with_every_right() -> None:
    actors: list[Actor] = []
    assert run_job(job(actors.append))
    (actor,) = actors
    assert (actor.name, actor.via, actor.is_person, actor.all_groups) == ("job/tidy", "job", False, True)
    assert last_finished("tidy") is not None


def test_while_it_is_under_way_nobody_else_does_it() -> None:
    again: list[bool] = []
    assert run_job(job(lambda actor: again.append(run_job(job()))))
    assert again == [False]
    assert run_job(job())


def test_a_lock_whose_holder_died_is_free_when_its_time_is_over() -> None:
    assert take_lock("tidy", holder="dead", at_most=MINUTE)
    assert not take_lock("tidy", holder="next", at_most=MINUTE)
    JobLock.objects.filter(name="tidy").update(held_until=timezone.now() - MINUTE)
    assert take_lock("tidy", holder="next", at_most=MINUTE)
    assert not release_lock("tidy", holder="dead")
    assert release_lock("tidy", holder="next")


def test_a_paused_job_is_left_alone() -> None:
    JobLock.objects.create(name="tidy", paused_at=timezone.now(), paused_by="ann")
    assert not run_job(job(pytest.fail))


def test_a_job_that_is_not_due_writes_nothing() -> None:
    assert not run_job(job(pytest.fail, is_due=lambda: False))
    assert not JobLock.objects.exists()


def test_what_went_wrong_is_kept_until_it_works_again() -> None:
    def breaks(actor: Actor) -> None:
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        run_job(job(breaks))
    row = JobLock.objects.get(name="tidy")
    assert (row.last_error, row.holder, row.held_until) == ("ValueError: no room", "", None)
    run_job(job())
    assert JobLock.objects.get(name="tidy").last_error == ""


def test_a_message_expires_before_the_next_one_comes() -> None:
    entry = schedule_of(job())
    assert (entry["schedule"], entry["options"], entry["args"]) == (60.0, {"expires": 54.0}, ["tidy"])
    assert set(app.conf.beat_schedule) == {job.name for job in JOBS} >= {"heartbeat", "embed_owed"}


def test_tasks_travel_as_json_through_folders_of_ours() -> None:
    assert (app.conf.task_serializer, app.conf.accept_content) == ("json", ["json"])
    options = app.conf.broker_transport_options
    assert options["polling_interval"] == 0.2
    assert options["data_folder_in"] == options["data_folder_out"]
