"""What comes first, and what leaves an answer: identifiers, tags, importance, equals, names alone, filters."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.errors import InvalidInput
from access.models import Group
from access.visibility import Narrowing
from memories.embedding import Encoder
from memories.entities.store_relation import RelationDraft, store_relation
from memories.recall import RecallRequest, RecallResult, recall
from memories.sessions.context_pack import get_context
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]

TICKETS = [
    "HAR-1187: Route planning times out for large depots.",
    "HAR-1203: Customers in Portugal received reminders an hour early.",
    "HAR-1240: Duplicate invoices when a payment webhook came twice.",
    "A ticket about reminders says that customers got them too early, and what it was about.",
    "What a ticket was about is written in its first line.",
]


@pytest.fixture
def tickets(alice: User, ledger: Group, encoder: Encoder) -> None:
    for text in TICKETS:
        kept(person(alice), text, group="ledger")


def ask(alice: User, question: str, **narrow: object) -> RecallResult:
    narrowing = Narrowing(**narrow)  # type: ignore[arg-type]
    return recall(person(alice), RecallRequest(question, group="ledger", narrowing=narrowing))


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("number", ["1187", "1203", "1240"])
def test_an_identifier_brings_its_memory_first(alice: User, number: str) -> None:
    found = ask(alice, f"what was the ticket HAR-{number} about?")
    assert found.items[0].text.startswith(f"HAR-{number}")


@pytest.mark.usefixtures("tickets")
def test_an_identifier_that_nothing_has_brings_nothing(alice: User) -> None:
    found = ask(alice, "what was the ticket HAR-1204 about?")
    assert (found.abstained, found.items) == (True, ())


@pytest.mark.usefixtures("encoder")
def test_a_question_that_is_a_tag_finds_what_has_it(alice: User, ledger: Group) -> None:
    kept(person(alice), "Values are read at start and never again.", group="ledger", tags=("config",))
    for text in ("The deploy key lies in the vault.", "Port 8082 is for metrics.", "Remember the milk."):
        kept(person(alice), text, group="ledger")
    for question in ("config", "configs"):
        found = ask(alice, question)
        assert not found.abstained
        assert found.items[0].text.startswith("Values are read")


@pytest.mark.usefixtures("encoder")
def test_the_same_words_are_one_answer_that_names_the_other(
    alice: User, ledger: Group, garden: Group
) -> None:
    text = "The deploy port of the web server is 8081."
    first = kept(person(alice), text, group="ledger", scope="global")
    second = kept(person(alice), "The deploy port of the web server is 8081!", group="garden", scope="global")
    other_port = "The deploy port of the web server is 8082."
    another = kept(person(alice), other_port, group="garden", scope="global")
    found = ask(alice, "What is the deploy port of the web server?")
    said = [{item.memory.id, *(other.id for other in item.also_in)} for item in found.items]
    assert sorted(said, key=len) == [{another.id}, {first.id, second.id}]


@pytest.mark.usefixtures("encoder")
def test_names_alone_fill_neither_answers_nor_the_newest(alice: User, ledger: Group) -> None:
    actor = person(alice)
    kept(actor, "The ledger service writes its export each night.", group="ledger")
    for host in ("export host a", "export host b"):
        store_relation(actor, RelationDraft("Billing", "runs_on", host, group="ledger"))
    found = ask(alice, "When is the export written?")
    assert [item.text for item in found.items] == ["The ledger service writes its export each night."]
    # Nor does the other end of a relation that nobody asks for.
    found = ask(alice, "Does Billing write the export of the ledger service each night?")
    assert [item.text for item in found.items] == ["The ledger service writes its export each night."]
    unknown = ask(alice, "HAR-1204 export host")
    assert [item.text for item in unknown.nearest] == ["The ledger service writes its export each night."]
    recent = next(s for s in get_context(actor, group="ledger").sections if s.title == "Recent")
    assert "export host" not in recent.text


@pytest.mark.usefixtures("encoder")
def test_importance_thread_and_source_are_filters(
    alice: User, ledger: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    actor = person(alice)
    kept(actor, "The load test of April took an hour.", group="ledger", importance=8)
    kept(actor, "The load test of May took an hour.", group="ledger", source="wiki")
    kept(actor, "The load test of June took an hour.", group="ledger", type="episodic", thread="tests")
    question = "How long was the load test?"
    for month, filters in (
        ("April", {"min_importance": 8}),
        ("May", {"source": "wiki"}),
        ("June", {"thread": "tests"}),
    ):
        assert [item.text.split()[4] for item in ask(alice, question, **filters).items] == [month]
        call_command("recall", question, group="ledger", json=True, **filters)
        answer = json.loads(capsys.readouterr().out)
        assert [each["content"].split()[4] for each in answer["results"]] == [month]
    with pytest.raises(InvalidInput, match="min_importance"):
        ask(alice, question, min_importance=11)
