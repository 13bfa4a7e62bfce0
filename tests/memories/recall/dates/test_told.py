"""A day that a text names counts as that of the memory, whenever it was stored."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.recall import RecallRequest, recall
from memories.recall.dates import written_forms
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]

TOLD = "On 19 May 2026 the emergency department worked on paper for three hours."
OTHERS = {
    "Phishing mails reached forty people of the radiology.": datetime(2026, 6, 30, 9, tzinfo=UTC),
    "The PACS archive moved to another rack.": datetime(2026, 3, 14, 9, tzinfo=UTC),
    "The lift of building B stood still.": datetime(2026, 5, 2, 9, tzinfo=UTC),
}


@pytest.fixture
def stored(alice: User, ledger: Group, encoder: Encoder) -> None:
    kept(person(alice), TOLD, group="ledger", type="episodic")
    for text, moment in OTHERS.items():
        kept(person(alice), text, group="ledger", type="episodic", valid_from=moment)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    "question",
    [
        "what happened on 19 May 2026?",
        "what happened on 19.05.2026?",
        "what happened on the 19th of May?",
        "what happened on May 19, 2026?",
        "Was anything wrong in the emergency department on 2026-05-19?",
    ],
)
def test_the_memory_that_names_the_day_answers(alice: User, question: str) -> None:
    items = recall(person(alice), RecallRequest(question, group="ledger")).items
    assert [item.text for item in items][:1] == [TOLD]


@pytest.mark.usefixtures("stored")
def test_a_question_for_that_day_alone_lists_nothing_else(alice: User) -> None:
    answer = recall(person(alice), RecallRequest("what happened on 19 May 2026?", group="ledger"))
    assert [item.text for item in answer.items] == [TOLD]


@pytest.mark.usefixtures("stored")
def test_of_another_year_it_is_not(alice: User) -> None:
    assert recall(person(alice), RecallRequest("what happened on 19 May 2025?", group="ledger")).abstained


def test_a_day_has_the_forms_of_texts() -> None:
    forms = written_forms(datetime(2026, 5, 3, tzinfo=UTC).date())
    assert {"2026 05 03", "03 05 2026", "3 may", "may 3rd", "3rd of may"} <= {*forms}
