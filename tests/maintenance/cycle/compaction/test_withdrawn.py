"""A summary never restates a withdrawn text, and the check does not read vectors under the write lock."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import Group
from access.tokens import operator
from maintenance.cycle.compaction import Compact
from maintenance.cycle.recorder import Recorder
from maintenance.models import Run
from memories.lifecycle.verbs import retract
from memories.models import Memory
from memories.types import State
from tests.maintenance.cycle.compaction.test_compaction import NOTES, WEEK, behind, summaries
from tests.maintenance.events import MONDAY, NOW, drive, happen, turn_of

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def withdraw(text: str) -> None:
    [event] = happen([text])
    retract(operator(), event.id)


def test_a_withdrawn_sentence_is_in_no_summary(ledger: Group) -> None:
    events = happen(NOTES)
    withdraw("Ines finished the basket page.")
    drive(Compact(), turn_of(ledger, now=MONDAY + timedelta(days=100)))
    [summary] = summaries()
    assert "Ines finished the basket page" not in summary.content
    assert behind(events) == [summary.key] * 5


def test_a_text_withdrawn_after_the_preparation_is_still_caught(ledger: Group) -> None:
    happen(NOTES)
    drive(Compact(), turn_of(ledger))
    [former] = summaries()
    text = former.content
    Memory.objects.filter(summary=former).update(summary=None)
    former.delete()
    withdraw("Parking permit renewed at the town hall")
    batch = Compact().next_batch(turn_of(ledger), None)
    assert batch is not None
    withdraw(f"{text} Indeed.")
    run = Run.objects.latest("started_at")
    assert dict(batch.write(Recorder(operator(), run, "compact"))) == {}
    assert summaries() == []


def test_withdrawn_vectors_are_read_once_for_a_turn_and_before_its_transactions(ledger: Group) -> None:
    happen(NOTES)
    happen(NOTES, start=MONDAY + WEEK)
    withdraw("Parking permit renewed at the town hall")
    reads_vectors = f'"memory_id" IN ({Memory.objects.get(state=State.RETRACTED).key})'
    turn, cursor, reads = turn_of(ledger), None, []
    run = Run.objects.create(kind="cycle", now=NOW)
    for _ in range(2):
        with CaptureQueriesContext(connection) as preparation:
            batch = Compact().next_batch(turn, cursor)
        assert batch is not None
        with CaptureQueriesContext(connection) as writing:
            assert batch.write(Recorder(operator(), run, "compact"))["summaries"] == 1
        cursor = batch.cursor
        reads += [
            sum(reads_vectors in query["sql"] for query in part.captured_queries)
            for part in (preparation, writing)
        ]
    assert reads == [1, 0, 0, 0]
