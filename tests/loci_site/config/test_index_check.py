"""The system checks of search name a fault and never raise one."""

import pytest
from django.db import connection

from loci_site.config.checks import indexes_are_whole

pytestmark = pytest.mark.django_db


def test_a_database_without_a_search_engine_is_a_fault_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert indexes_are_whole([], databases=["default"]) == []
    monkeypatch.setattr(connection, "vendor", "oracle")
    (fault,) = indexes_are_whole([], databases=["default"])
    assert (fault.id, "no search index for oracle" in fault.msg, bool(fault.hint)) == (
        "memories.E002",
        True,
        True,
    )
