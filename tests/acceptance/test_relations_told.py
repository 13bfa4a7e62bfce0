"""What was stored as a relation answers questions about it, as a line with its evidence."""

import json

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.entities.store_relation import RelationDraft, store_relation
from memories.models import Memory
from memories.models.short_id import short_id
from tests.acceptance.house import House, command
from tests.fences import inside
from tests.loci_site.mcp.answers import fields_of
from tests.memories.builders import kept

pytestmark = [pytest.mark.django_db, pytest.mark.model]
QUESTION = "which team owns the Ledger service?"
LINE = "Ledger service —owned_by_team→ Payments"


@pytest.fixture
def house(alice: User, ledger: Group) -> House:
    return House.of(alice, groups=[ledger])


@pytest.fixture
def proof(house: House) -> Memory:
    """The memory that proves that Payments owns the Ledger service, beside another relation and other facts."""
    proof = kept(house.person, "In the March review the posting engine went to Payments.", group="ledger")
    kept(house.person, "The canteen serves soup on Mondays.", group="ledger")
    kept(house.person, "Invoices are rounded half to even.", group="ledger")
    for predicate, other in (("owned_by_team", "Payments"), ("runs_on", "host a")):
        evidence = (str(proof.id),) if other == "Payments" else ()
        draft = RelationDraft("Ledger service", predicate, other, group="ledger", evidence=evidence)
        store_relation(house.person, draft)
    return proof


def test_a_question_about_a_relation_is_answered_by_its_line(house: House, proof: Memory) -> None:
    _, rest = house.rest("post", "/recall", {"query": QUESTION, "group": "ledger"})
    answer = json.loads(rest)
    [line] = answer["relations"]
    assert (line["line"], line["evidence"], line["confidence"]) == (LINE, [str(proof.id)], 0.7)
    assert (answer["abstained"], line["date"]) == (False, f"{proof.created_at:%Y-%m-%d}")
    result = house.tool("recall_memory", query=QUESTION, group="ledger")
    text = result.content[0].text
    assert [each["line"] for each in fields_of(result)["relations"]] == [LINE]
    assert f"<relations>\n{LINE} ({proof.created_at:%Y-%m-%d}, by " in text
    assert f"1 memory proves it: {short_id(proof.id)})" in text
    assert LINE in command("recall", QUESTION, "--group", "ledger")
    as_json = json.loads(command("recall", QUESTION, "--group", "ledger", "--json"))
    assert [each["line"] for each in as_json["relations"]] == [LINE]


def test_only_what_is_asked_for_is_told(house: House, proof: Memory) -> None:
    answer = house.fields("recall_memory", query="which host does the Ledger service run on?", group="ledger")
    assert [each["line"] for each in answer["relations"]] == ["Ledger service —runs_on→ host a"]
    assert "relations" not in house.fields("recall_memory", query="how are invoices rounded?", group="ledger")


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Who is in charge of Orbit?", "Ada Okafor —manages→ Orbit"),
        ("What breaks if Kafka is down?", "Orbit —depends_on→ Kafka"),
        ("Where is Nadia based?", "Nadia Brandt —lives_in→ Graz"),
        ("Who is Ben's employer?", "Ben —works_at→ Heronry"),
        ("Who leads the team that owns Checkout?", "Payments team —led_by→ Kim"),
        ("Which database does Checkout depend on in the end?", "Cart —stores_data_in→ PostgreSQL"),
    ],
)
def test_a_relation_is_told_whatever_words_ask_for_it(house: House, question: str, line: str) -> None:
    for subject, predicate, object_ in (
        ("Ada Okafor", "manages", "Orbit"), ("Orbit", "depends_on", "Kafka"), ("Nadia Brandt", "lives_in", "Graz"),
        ("Ben", "works_at", "Heronry"), ("Checkout", "owned_by_team", "Payments team"), ("Payments team", "led_by", "Kim"),
        ("Checkout", "depends_on", "Cart"), ("Cart", "stores_data_in", "PostgreSQL"),
    ):  # fmt: skip
        store_relation(house.person, RelationDraft(subject, predicate, object_, group="ledger"))
    kept(house.person, "The stand-up is at ten.", group="ledger")
    answer = house.fields("recall_memory", query=question, group="ledger")
    assert line in [each["line"] for each in answer["relations"]]
    assert not answer["results"]


@pytest.mark.parametrize("word", ["walrus", "cello", "glacier", "umbrella", "pretzel"])
def test_a_name_that_is_not_shown_opens_no_answer(house: House, proof: Memory, word: str) -> None:
    store_relation(house.person, RelationDraft("cart", "depends_on", "Stripe", group="ledger"))
    answer = house.fields("recall_memory", query=word, group="ledger")
    assert (answer["results"], "relations" in answer) == ([], False)


def test_another_group_learns_nothing_of_it(house: House, proof: Memory, bob: User, garden: Group) -> None:
    told = House.of(bob, groups=[garden]).tool_text("recall_memory", query=QUESTION, group="garden")
    assert "owned_by_team" not in told


def test_the_context_pack_shows_the_lines_of_its_query(house: House, proof: Memory) -> None:
    assert LINE in house.tool("get_context", group="ledger", query=QUESTION).content[0].text


def test_an_inspection_shows_the_lines(house: House, proof: Memory) -> None:
    entity = Memory.objects.get(content="Ledger service")
    answer = house.fields("memory_inspect", id=str(entity.id))
    lines = [inside(each["line"]) for each in answer["relations"]]
    assert lines == [LINE, "Ledger service —runs_on→ host a"]
    _, rest = house.rest("get", "/relations?of=Ledger service&group=ledger")
    assert [each["line"] for each in json.loads(rest)["items"]] == lines


def test_an_agent_asks_for_the_relations_of_a_name(house: House, proof: Memory) -> None:
    answer = house.fields("memory_inspect", id="ledger service")
    assert inside(answer["relations"][0]["line"]) == LINE
    unknown = house.tool("memory_inspect", id="no such thing")
    assert unknown.is_error


def test_names_alone_are_no_news(house: House, proof: Memory) -> None:
    """The entities that a relation made fill neither a pack nor an answer."""
    pack = house.tool("get_context", group="ledger").content[0].text
    assert "host a" not in pack
    answer = house.fields("recall_memory", query=QUESTION, group="ledger")
    shown = {inside(item["text"]) for item in answer["results"]}
    assert shown.isdisjoint({"Ledger service", "Payments", "host a"})
    named = house.fields("recall_memory", query="Ledger service", group="ledger", where={"types": ["entity"]})
    assert inside(named["results"][0]["text"]) == "Ledger service"


@pytest.fixture
def lab(house: House) -> Memory:
    """A group of two memories and four relations of the Lab System, one with evidence."""
    proof = kept(house.person, "Since May the samples are counted by the lab itself.", group="ledger")
    kept(house.person, "The canteen serves soup on Mondays.", group="ledger")
    for predicate, other in (
        ("owned_by", "Diagnostics"),
        ("runs_on", "host b"),
        ("feeds", "Ledger"),
        ("uses", "HL7"),
    ):
        evidence = (str(proof.id),) if other == "Diagnostics" else ()
        store_relation(
            house.person, RelationDraft("Lab System", predicate, other, group="ledger", evidence=evidence)
        )
    return proof


@pytest.mark.parametrize("question", ["Lab System", "the lab system?", "What is the Lab System?"])
def test_a_name_alone_asks_for_its_relations(house: House, lab: Memory, question: str) -> None:
    answer = house.fields("recall_memory", query=question, group="ledger")
    lines = {each["line"]: each["evidence"] for each in answer["relations"]}
    assert lines == {
        "Lab System —owned_by→ Diagnostics": [str(lab.id)],
        "Lab System —runs_on→ host b": [],
        "Lab System —feeds→ Ledger": [],
        "Lab System —uses→ HL7": [],
    }
    shown = {inside(item["text"]) for item in answer["results"]}
    assert shown.isdisjoint({"Lab System", "Diagnostics", "host b", "Ledger", "HL7"})


def test_a_question_about_more_than_a_name_gets_few_relations_next_to_the_memories(
    house: House, lab: Memory
) -> None:
    answer = house.fields("recall_memory", query="Why was the Lab System cancelled?", group="ledger")
    assert len(answer["results"]) == 1
    assert len(answer.get("relations", [])) <= 5
