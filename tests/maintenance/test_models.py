"""The tables of runs hold what undo needs, and only known statuses."""

import pytest
from django.db import IntegrityError, transaction

from maintenance.models import JobLock, Run, RunChange

pytestmark = pytest.mark.django_db


def test_a_run_keeps_the_values_before_and_after() -> None:
    run = Run.objects.create(kind="decay", actor="operator")
    RunChange.objects.create(
        run=run,
        step="decay",
        table="memories_memory",
        row=1,
        before={"confidence": 0.7},
        after={"confidence": 0.6},
    )
    change = run.changes.get()
    assert (run.status, change.before, change.after) == ("running", {"confidence": 0.7}, {"confidence": 0.6})
    run.delete()
    assert RunChange.objects.count() == 0


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.create(kind="decay", actor="operator", status="maybe")


def test_a_lock_has_one_row_by_name() -> None:
    JobLock.objects.create(name="cycle", holder="a")
    with pytest.raises(IntegrityError), transaction.atomic():
        JobLock.objects.create(name="cycle", holder="b")
