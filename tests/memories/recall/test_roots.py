"""Five common letters count as a word of the question only in texts that the answer would contain."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.recall import RecallRequest, recall
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
TEXTS = (
    "Transfers are settled every Friday.", "Customer data is kept in Frankfurt.", "Amounts are integers in cents.",
    "The reconciliation job runs at night.", "Refunds need two approvals.", "The API keys rotate monthly.",
    "The webhook timeout is 30 seconds.", "We settled on PostgreSQL 16.",
)  # fmt: skip


@pytest.fixture
def stored(alice: User, ledger: Group, encoder: Encoder) -> None:
    for text in TEXTS:
        kept(person(alice), text, group="ledger")


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("asked", ["translation", "integrity"])
def test_a_word_that_only_begins_alike_finds_nothing(alice: User, asked: str) -> None:
    assert recall(person(alice), RecallRequest(asked, group="ledger")).abstained


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("asked", "text"), [("transfer", TEXTS[0]), ("customers", TEXTS[1]), ("reconciling jobs", TEXTS[3])]
)
def test_another_form_of_a_word_finds_it(alice: User, asked: str, text: str) -> None:
    assert recall(person(alice), RecallRequest(asked, group="ledger")).items[0].text == text
