"""The tables of runs hold what undo needs, and only known statuses."""

import pytest
from django.db import IntegrityError, transaction

from maintenance.models import JobLock, Run

pytestmark = pytest.mark.django_db


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.create(kind="decay", actor="operator", status="maybe")


def test_a_lock_has_one_row_by_name() -> None:
    JobLock.objects.create(name="cycle", holder="a")
    with pytest.raises(IntegrityError), transaction.atomic():
        JobLock.objects.create(name="cycle", holder="b")
