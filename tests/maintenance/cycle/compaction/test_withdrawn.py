"""A summary never restates a withdrawn text, and the check does not read vectors under the write lock."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import Group
from access.tokens import operator
from maintenance.cycle.compaction import Compact
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.undo import undo_run
from maintenance.models import Run
from memories.lifecycle.verbs import retract
from memories.models import Memory
from memories.types import State
from tests.maintenance.cycle.compaction.test_compaction import states, summaries
from tests.maintenance.events import DEPLOYS, NOW, TOMATOES, drive, happen, turn_of

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def summary_text_of(group: Group) -> str:
    """The text of the group's summary; the run that wrote it is undone."""
    _, _, run = drive(Compact(), turn_of(group))
    [summary] = summaries()
    undo_run(operator(), run.id)
    assert summaries() == []
    return summary.content


def withdraw(text: str) -> None:
    [event] = happen([text])
    retract(operator(), event.id)


def reworded(text: str) -> str:
    """The same statement in another text: a retracted text itself has a tombstone."""
    assert "We built" in text
    return text.replace("We built", "We have built")


def test_a_summary_that_restates_a_withdrawn_text_is_dropped(ledger: Group) -> None:
    events = happen(TOMATOES)
    withdraw(reworded(summary_text_of(ledger)))
    assert drive(Compact(), turn_of(ledger))[0] == {"summaries_dropped": 1}
    assert (summaries(), states(events)) == ([], {"live"})


def test_a_text_withdrawn_after_the_preparation_is_still_caught(ledger: Group) -> None:
    events = happen(TOMATOES)
    text = summary_text_of(ledger)
    withdraw("Parking permit renewed at the town hall")
    batch = Compact().next_batch(turn_of(ledger), None)
    assert batch is not None
    withdraw(reworded(text))
    run = Run.objects.latest("started_at")
    assert dict(batch.write(Recorder(operator(), run, "compact"))) == {"summaries_dropped": 1}
    assert (summaries(), states(events)) == ([], {"live"})


def test_withdrawn_vectors_are_read_once_for_a_turn_and_before_its_transactions(ledger: Group) -> None:
    happen([*TOMATOES, *DEPLOYS])
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
