"""Retrieval: what a caller sets as the most is the most."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.visibility import Narrowing
from memories.draft import Draft
from memories.embedding import Encoder
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.verbs import dispute, pin, verify
from memories.recall import RecallRequest, recall
from memories.recall.budget import count_tokens
from memories.recall.scoring import MODES
from memories.sessions.context_pack import get_context
from memories.store.bulk import store_many
from tests.acceptance.house import House
from tests.memories.builders import kept
from tests.people import the_group, the_owner

pytestmark = [pytest.mark.django_db, pytest.mark.model]

QUESTION = "Which crane lifts the containers in the harbour?"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def full(shared_rows: None, encoder: Encoder) -> House:
    """A group in which forty memories answer: turns of a thread with neighbours, pinned, verified and related ones."""
    the_group("ledger")
    house = House.of(the_owner())
    texts = [f"Crane {at} lifts the containers at berth {at} of the harbour." for at in range(40)]
    turns = [
        Draft(
            text, type="episodic", group="ledger", thread="harbour", valid_from=START + timedelta(minutes=at)
        )
        for at, text in enumerate(texts[:20])
    ]
    store_many(house.person, turns)
    facts = [kept(house.person, text, group="ledger", scope="group" if at % 2 else "global")
             for at, text in enumerate(texts[20:])]  # fmt: skip
    for fact in facts[:6]:
        pin(house.person, fact.id)
        verify(house.person, fact.id)
    dispute(house.person, facts[10].id)
    for at in range(3):
        store_relation(house.person, RelationDraft("Crane", "lifts", f"Container {at}", group="ledger"))
    return house


@pytest.mark.parametrize("mode", MODES)
def test_k_is_an_upper_bound(full: House, mode: str) -> None:
    """However many are fused, pinned, related or beside an answer, no more come back than were asked for."""
    for most in (1, 2, 7, 25):
        asked = RecallRequest(QUESTION, group="ledger", max_results=most, token_budget=100_000, mode=mode)
        found = recall(full.agent, asked)
        ids = [item.memory.id for item in found.items]
        assert (len(ids), len(set(ids))) == (most, most)
        assert recall(full.agent, asked).items == found.items  # and they are the same each time
    past = RecallRequest(QUESTION, group="ledger", max_results=3, narrowing=Narrowing(as_of=START), mode=mode)
    assert len(recall(full.agent, past).items) <= 3


def test_k_is_an_upper_bound_on_every_face(full: House) -> None:
    """The tool and REST obey it as the service does, and refuse what is not a number."""
    assert len(full.fields("recall_memory", query=QUESTION, group="ledger", max_results=4)["results"]) == 4
    status, said = full.rest("post", "/recall", {"query": QUESTION, "group": "ledger", "max_results": 4})
    assert (status, said.count('"content"')) == (200, 4)
    for wrong in (0, -1, 101):
        body = {"query": QUESTION, "group": "ledger", "max_results": wrong}
        assert full.rest("post", "/recall", body)[0] == 422
        assert full.tool("recall_memory", **body).is_error


Counter = Callable[[str], int]


@pytest.mark.parametrize("budget", [50, 120, 400, 1500])
def test_the_token_budget_is_an_upper_bound(full: House, encoder: object, budget: int) -> None:
    """An answer's texts with their labels stay within the token budget; the answer says what was cut."""
    found = recall(full.agent, RecallRequest(QUESTION, group="ledger", max_results=40, token_budget=budget))
    spent = count_tokens(found.show(), encoder)  # type: ignore[arg-type]
    assert spent == found.tokens <= budget
    assert found.left_out + len(found.items) == 40
    assert found.items or found.relations or budget == 50  # an id of many tokens leaves no room for a text


@pytest.mark.parametrize("budget", [100, 300, 1500, 20_000])
def test_a_pack_keeps_to_its_budget(full: House, alice: User, encoder: object, budget: int) -> None:
    """A session's pack takes no more tokens than were allowed, with pins, a query and instructions in it."""
    Group.objects.filter(slug="ledger").update(instructions="Answer in one sentence. " * 20)
    pack = get_context(full.agent, group="ledger", query=QUESTION, token_budget=budget)
    # Titles and line breaks between sections are counted one by one, so the whole may differ by a few.
    assert count_tokens(pack.text, encoder) <= max(budget, 100)  # type: ignore[arg-type]
    assert (pack.left_out > 0) == (budget < 1500)
    ids = [id_ for section in pack.sections for id_ in section.ids]
    assert len(ids) == len(set(ids))
    assert (len(ids) > 0) == (budget >= 300)
