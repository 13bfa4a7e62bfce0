"""The recall log and access counters: a row per recall, and each memory's number of recalls and last one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from access.models import Group
from memories.models import Memory, RecallLog
from memories.recall_log import PendingRecall, RecallCounter, unpack_hits, write_recalls
from tests.memories.builders import row

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def memories() -> list[Memory]:
    group = Group.objects.create(slug="ledger")
    return [row(group, f"Port {n} is open.") for n in range(3)]


def recalled(memories: list[Memory], *, at: datetime) -> PendingRecall:
    hits = tuple((memory.key, 0.5) for memory in memories)
    return PendingRecall(
        at, memories[0].group_id, "alice", "mcp", "hybrid", "which ports?", hits, 7.25, False, True
    )


def test_counts_add_up_and_the_latest_time_stays(memories: list[Memory]) -> None:
    first, second, third = memories
    later = recalled([first], at=NOON + timedelta(hours=1))
    write_recalls([later, recalled([first, second], at=NOON)])  # not in the order of their times
    write_recalls([replace(recalled([second], at=NOON - timedelta(days=1)), query="again?")])
    for memory in memories:
        memory.refresh_from_db()
    assert [memory.access_count for memory in memories] == [2, 2, 0]
    assert first.last_accessed == NOON + timedelta(hours=1)
    assert third.last_accessed is None


def test_a_row_says_what_was_asked_and_what_came(memories: list[Memory]) -> None:
    write_recalls([recalled(memories[:2], at=NOON)])
    kept = RecallLog.objects.get()
    assert (kept.at, kept.group_id, kept.actor, kept.via) == (NOON, memories[0].group_id, "alice", "mcp")
    assert (kept.mode, kept.query, kept.duration_ms) == ("hybrid", "which ports?", 7.25)
    assert (kept.abstained, kept.degraded) == (False, True)
    assert unpack_hits(kept.hits) == [(memories[0].key, 0.5), (memories[1].key, 0.5)]


def test_a_recall_of_no_group_that_found_nothing_is_kept(memories: list[Memory]) -> None:
    write_recalls([replace(recalled(memories, at=NOON), group_key=None, hits=(), abstained=True)])
    kept = RecallLog.objects.get()
    assert (kept.group_id, bytes(kept.hits), kept.abstained) == (None, b"", True)
    assert Memory.objects.filter(access_count__gt=0).count() == 0


def test_what_a_lock_kept_from_being_written_is_written_later(
    memories: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = RecallCounter()
    counter.add(recalled(memories, at=NOON))

    def locked(*args: Any) -> Any:
        raise OperationalError("database is locked")

    with connection.execute_wrapper(locked), pytest.raises(OperationalError):
        counter.flush()
    counter.add(recalled(memories[:1], at=NOON))
    assert counter.flush() == 2
    assert [row.access_count for row in Memory.objects.order_by("key")] == [2, 1, 1]
    assert counter.flush() == 0
