"""Each fault that random histories have found, as the smallest history that shows it; one that is mended holds."""

import pytest

from tests.changes.found import FOUND
from tests.changes.histories import run_history

pytestmark = [pytest.mark.django_db, pytest.mark.model]


class StillThere(AssertionError):
    """The fault that was found, and not another one."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.xfail(strict=True, raises=StillThere, reason=each.why)] if each.why else [],
        )
        for name, each in FOUND.items()
    ],
)
def test_the_history_keeps_every_promise(name: str) -> None:
    fault = run_history(FOUND[name].history, is_whole=True).fault
    if fault is not None and fault.kind == FOUND[name].kind:
        raise StillThere(fault.detail)
    assert fault is None
