"""A group's question finds other groups' global memories; at equal scores its own come first."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.recall import RecallRequest, RecallResult, recall
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]


@pytest.fixture
def asked(alice: User, ledger: Group, garden: Group, encoder: Encoder) -> None:
    """Each group says where it deploys to, for everybody to see; the other one was stored first and is worded nearer."""
    actor = person(alice)
    kept(actor, "The deploy port of the web server is 8081.", group="garden", scope="global")
    kept(actor, "Our web server's port for a deploy is 9000.", group="ledger", scope="global")
    kept(actor, "The backups go to Falkenstein each night.", group="garden", scope="global")


def answer(alice: User, question: str, group: str) -> RecallResult:
    return recall(person(alice), RecallRequest(question, group=group, explain=True))


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("group", "port"), [("ledger", "9000"), ("garden", "8081")])
def test_the_groups_own_comes_first(alice: User, group: str, port: str) -> None:
    first, second = answer(alice, "What is the deploy port of the web server?", group).items[:2]
    assert port in first.text
    assert "elsewhere" not in first.numbers
    assert second.numbers["elsewhere"] == pytest.approx(-0.1)


@pytest.mark.usefixtures("asked")
def test_what_only_another_group_knows_is_found(alice: User) -> None:
    assert "Falkenstein" in answer(alice, "Where do the backups go?", "ledger").items[0].text
