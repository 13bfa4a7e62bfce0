"""A small budget still brings the best memory, shortened, and a long list of missing ids keeps the budget too."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Memory
from memories.recall import RecallRequest, RecallResult, recall
from memories.recall.budget import count_tokens, counting_encoder
from memories.store.pieces import available_encoder
from tests.acceptance.house import House
from tests.loci_site.mcp.answers import fields_of
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
LONG = "The deploy port of the staging server is 8081. " + "It was 8080 until the move of the servers. " * 20


@pytest.fixture
def long(alice: User, ledger: Group, encoder: object) -> Memory:
    kept(person(alice), "The canteen serves soup on Mondays.", group="ledger")
    return kept(person(alice), LONG, group="ledger")


def tokens(answer: RecallResult) -> int:
    return count_tokens(answer.show(), counting_encoder(available_encoder()))


@pytest.mark.parametrize("budget", [60, 70, 80, 100, 150])
@pytest.mark.parametrize(
    "query", ["What is the deploy port of the staging server?", "list all deploy ports", ""]
)
def test_the_best_one_comes_shortened(alice: User, long: Memory, budget: int, query: str) -> None:
    ids = () if query else (long.id, uuid4())
    answer = recall(person(alice), RecallRequest(query, ids=ids, group="ledger", token_budget=budget))
    assert [item.memory.id for item in answer.items] == [long.id]
    assert answer.items[0].text.startswith("The deploy")
    assert answer.items[0].is_cut
    assert tokens(answer) <= budget * 1.02
    assert abs(answer.tokens - tokens(answer)) <= 1


@pytest.mark.parametrize("budget", [50, 100, 300])
@pytest.mark.parametrize("group", ["ledger", "unknown"])
def test_missing_ids_keep_the_budget(alice: User, ledger: Group, budget: int, group: str) -> None:
    ids = [str(uuid4()) for _ in range(100)]
    house = House.of(alice, groups=[ledger])
    result = house.tool("recall_memory", ids=ids, token_budget=budget, group=group)
    text, answer = result.content[0].text, fields_of(result)
    assert count_tokens(text, counting_encoder(available_encoder())) <= max(
        budget * 1.02, 80 if group == "unknown" else 0
    )
    named = answer.get("missing", [])
    assert named == ids[: len(named)]
    assert f"{100 - len(named)} more" in text or "100 ids" in text


def test_without_a_budget_all_missing_ids_are_named(alice: User, ledger: Group) -> None:
    ids = [str(uuid4()) for _ in range(100)]
    result = House.of(alice, groups=[ledger]).tool("recall_memory", ids=ids)
    assert fields_of(result)["missing"] == ids
