"""Lists stay quick and true however many rows there are."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from access.models import AuditEntry
from tests.admin.conftest import Remember

pytestmark = pytest.mark.django_db


def logged(client: Client, **asked: str) -> int:
    answer = client.get("/admin/access/auditentry/", asked)
    assert answer.status_code == 200
    return len(answer.context["cl"].result_list)


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"at_from": "2026-05-02", "at_to": "2026-05-02"}, 2),
        ({"at_from": "2026-05-02"}, 3),
        ({"at_to": "2026-05-01"}, 1),
        ({"at_from": "2026-05-04"}, 0),
        ({"at_from": "soon", "at_to": "2026-05-02"}, 3),
        ({"at_to": "9999-12-31"}, 4),
    ],
)
def test_days_of_a_list_are_whole(
    owner: Client, remember: Remember, asked: dict[str, str], count: int
) -> None:
    AuditEntry.objects.all().delete()
    times = [(1, 23, 59), (2, 0, 0), (2, 23, 59), (3, 0, 0)]
    for number, (day, hour, minute) in enumerate(times, start=900):
        at = datetime(2026, 5, day, hour, minute, tzinfo=UTC)
        AuditEntry.objects.create(
            seq=number, at=at, operation="store", actor="x", via="rest", digest="d", hash="h"
        )
    assert logged(owner, **asked) == count
