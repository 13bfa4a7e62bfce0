"""A question about a day is answered by the memories of that day, whether or not their text names it."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.recall import RecallRequest, recall
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
EVENTS = (
    ("The ledger deploy failed because the migration locked a table.", datetime(2026, 3, 4, tzinfo=UTC)),
    ("The pipeline was moved to new runners.", datetime(2026, 2, 6, tzinfo=UTC)),
    ("Otto rotated the keys of the mail service.", datetime(2026, 1, 9, tzinfo=UTC)),
)
FACTS = ("Amounts are integers in cents.", "Refunds need two approvals.", "The kitchen closes at nine.")


@pytest.fixture
def stored(alice: User, ledger: Group, encoder: Encoder) -> None:
    for text, moment in EVENTS:
        kept(person(alice), text, group="ledger", type="episodic", valid_from=moment)
    for text in FACTS:
        kept(person(alice), text, group="ledger")


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("asked", "event"),
    [
        ("what happened on 4 March", 0),
        ("what happened on March 4?", 0),
        ("what happened in March?", 0),
        ("what did we do on February 6?", 1),
        ("what happened on 2026-01-09?", 2),
    ],
)
def test_the_event_of_that_date_answers(alice: User, asked: str, event: int) -> None:
    answer = recall(person(alice), RecallRequest(asked, group="ledger"))
    assert [item.text for item in answer.items][:1] == [EVENTS[event][0]]
