"""A wrong clock destroys nothing: what became due while no retention ran waits for one more run."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from access.tokens import operator
from maintenance.retention import enforce_retention
from memories.models import Memory
from tests.maintenance.test_retention import aged, destroyed

Remember = Callable[..., Memory]
pytestmark = [pytest.mark.django_db, pytest.mark.model]


def test_a_clock_that_jumps_ahead_destroys_nothing_at_once(remember: Remember) -> None:
    enforce_retention(operator())
    memory = aged(remember("The vault code is 4711"), days=0)
    with time_machine.travel(timezone.now() + timedelta(days=400), tick=False):
        report = enforce_retention(operator())
        assert destroyed(report, "memories") == {}
        assert "waits for the next run" in report.waits
    later = timezone.now() + timedelta(days=1)
    with time_machine.travel(later, tick=False):  # the clock is right again
        assert enforce_retention(operator()).waits == ""
    assert Memory.objects.filter(pk=memory.pk).exists()


def test_what_became_due_while_nothing_ran_goes_with_the_second_run(remember: Remember) -> None:
    aged(remember("The vault code is 4711"), days=0)
    with time_machine.travel(timezone.now() + timedelta(days=31), tick=False):
        assert destroyed(enforce_retention(operator()), "memories") == {}
        assert destroyed(enforce_retention(operator()), "memories")["memories"] == 1
