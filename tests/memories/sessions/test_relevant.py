"""The pack's "Relevant" is recall's answer: no more than it, a word if there is none, and the best before the rest."""

import json

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.recall import RecallRequest, recall
from memories.sessions.context_pack import ContextPack, get_context
from memories.sessions.sections import Section
from tests.acceptance.house import House
from tests.memories.builders import NOTES_BESIDE, PORT_NOTE, PORT_QUESTION, kept
from tests.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]


@pytest.fixture
def stored(alice: User, ledger: Group, encoder: Encoder) -> None:
    for text in (*NOTES_BESIDE, PORT_NOTE):
        kept(person(alice), text, group="ledger")


def relevant(pack: ContextPack) -> Section:
    [section] = [section for section in pack.sections if section.kind == "relevant"]
    return section


@pytest.mark.usefixtures("stored")
def test_it_leaves_out_what_recall_leaves_out(alice: User) -> None:
    found = recall(person(alice), RecallRequest(PORT_QUESTION, group="ledger"))
    pack = get_context(person(alice), group="ledger", query=PORT_QUESTION, token_budget=5000)
    assert [item.memory.id for item in relevant(pack).items] == [item.memory.id for item in found.items]
    assert len(found.items) < len(NOTES_BESIDE)


@pytest.mark.usefixtures("stored")
def test_it_says_that_nothing_answers(alice: User, ledger: Group) -> None:
    query = "What did Wilhelmina say about zebra ZX-9917?"
    assert recall(person(alice), RecallRequest(query, group="ledger")).abstained
    house = House.of(alice, groups=[ledger])
    text = house.tool_text("get_context", group="ledger", query=query)
    assert f"## Relevant to: {query}\nNothing stored answers this." in text
    answer = json.loads(house.rest("get", f"/context?group=ledger&query={query}")[1])
    [section] = [each for each in answer["sections"] if each["title"].startswith("Relevant")]
    assert (section["note"], section.get("ids", [])) == ("Nothing stored answers this.", [])
    plain = get_context(person(alice), group="ledger")
    assert "Relevant" not in plain.text


def test_an_empty_group_says_so_as_well(alice: User, ledger: Group, encoder: Encoder) -> None:
    text = get_context(person(alice), group="ledger", query=PORT_QUESTION).text
    assert "Nothing is stored in 'ledger' yet." in text
    assert "Nothing stored answers this." in text


@pytest.mark.parametrize("budget", [150, 200, 300, 400])
def test_a_long_right_one_is_cut_and_no_smaller_one_takes_its_place(
    alice: User, ledger: Group, encoder: Encoder, budget: int
) -> None:
    for text in NOTES_BESIDE:
        kept(person(alice), text, group="ledger")
    long = f"{PORT_NOTE} " + " ".join(f"Step {n} of the deploy is checked by hand." for n in range(80))
    right = kept(person(alice), long, group="ledger")
    section = relevant(get_context(person(alice), group="ledger", query=PORT_QUESTION, token_budget=budget))
    assert [item.memory.id for item in section.items][:1] == [right.id]
    assert section.items[0].is_cut
    assert len(section.items) == 1
