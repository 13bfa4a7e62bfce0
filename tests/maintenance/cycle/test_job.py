"""A run over one group, or a refused one, does not change when the scheduled cycle is due."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.errors import InvalidInput, NotPermitted
from access.models import Group, Membership, Role
from access.tokens import operator
from maintenance import cycle
from maintenance.cycle import RunPlan
from maintenance.cycle.job import run_alone, run_scheduled_cycle
from maintenance.management.commands.compact import Command
from maintenance.models import JobLock, Run
from maintenance.runs.preview import preview_cycle
from memories.language.dates.named_days import keep_days
from tests.memories.builders import fresh, row
from tests.people import person

pytestmark = pytest.mark.django_db


def curator(user: User) -> None:
    Membership.objects.filter(user=user).update(role=Role.CURATOR)


def test_a_refused_run_is_not_a_failure_of_the_cycle(ledger: Group, bob: User) -> None:
    for plan in (RunPlan(), RunPlan(group=ledger)):
        with pytest.raises(NotPermitted):
            run_alone(person(bob), plan)
    assert not JobLock.objects.filter(name="cycle").exists()


def test_no_copy_is_made_for_somebody_who_may_not_run(
    ledger: Group, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "maintenance.runs.preview.run_on_copy", lambda work: pytest.fail("the store was copied")
    )
    with pytest.raises(NotPermitted):
        preview_cycle(person(bob), RunPlan())


@pytest.mark.parametrize("kind", ["cycle", "cleanup"])
def test_a_run_over_one_group_leaves_the_cycle_due_and_requested(ledger: Group, bob: User, kind: str) -> None:
    curator(bob)
    asked = timezone.now()
    JobLock.objects.create(name="cycle", asked_at=asked, asked_by="alice")
    assert run_alone(person(bob), RunPlan(kind=kind, group=ledger)).status == "done"
    row = JobLock.objects.get(name="cycle")
    assert (row.last_finished, row.asked_at, row.asked_by, row.holder) == (None, asked, "alice", "")


def test_a_run_over_all_groups_is_the_cycle(ledger: Group) -> None:
    JobLock.objects.create(name="cycle", asked_at=timezone.now(), asked_by="alice")
    run_alone(operator(), RunPlan())
    row = JobLock.objects.get(name="cycle")
    assert row.last_finished is not None
    assert row.asked_at is None


def test_a_failed_run_over_one_group_is_not_a_failure_of_the_cycle(
    ledger: Group, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    curator(bob)

    def breaks(turn: object, cursor: object) -> None:
        raise OSError("the disk is full")

    for step in cycle.KINDS["cleanup"]:
        monkeypatch.setattr(type(step), "next_batch", lambda self, turn, cursor: breaks(turn, cursor))
    failed = run_alone(person(bob), RunPlan(kind="cleanup", group=ledger))
    assert (failed.status, failed.error) == ("failed", "'ledger', cleanup: OSError: the disk is full")
    row = JobLock.objects.get(name="cycle")
    assert (row.failures, row.last_error, row.holder) == (0, "", "")


def test_only_a_dry_run_may_be_dated_ahead(ledger: Group) -> None:
    now = timezone.now() + timedelta(days=60)
    options = {"group": "ledger", "now": now, "max_share": 1, "changes": 0}
    with pytest.raises(InvalidInput, match="ahead"):
        Command().act(options | {"dry_run": False})
    assert not Run.objects.exists()


def test_the_nightly_cycle_reads_the_days_of_older_texts(ledger: Group) -> None:
    text = "The fair is on 3 May 2024."
    ready = row(ledger, text, days="kept-by-older-rules 2024-05-01 2020-01-01")
    never = row(ledger, "No day at all.")
    for _ in range(2):
        run_scheduled_cycle(operator())
        assert [fresh(memory).days for memory in (ready, never)] == [
            keep_days(memory.content, memory.moment) for memory in (ready, never)
        ]
