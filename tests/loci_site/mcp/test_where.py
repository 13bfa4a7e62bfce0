"""The filters of an agent's recall, context and inspection: one object, `where`."""

import pytest

from tests.fences import inside
from tests.loci_site.mcp.people import Agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PORT = "The deploy port is 8081."
OTHER = "The deploy port of the test machine is 9090."


@pytest.fixture
def agent(alice: Agent) -> Agent:
    alice.answer("store_memory", content=PORT, tags=["Deploy"], importance=9, source="wiki", thread="release")
    alice.answer("store_memory", content=OTHER, importance=2, confidence=0.4, type="procedural")
    return alice


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, [PORT, OTHER]),
        ({"tags": ["deploy"]}, [PORT]),
        ({"min_importance": 5}, [PORT]),
        ({"min_confidence": 0.5}, [PORT]),
        ({"thread": "release"}, [PORT]),
        ({"source": "wiki"}, [PORT]),
        ({"types": ["procedural"]}, [OTHER]),
        ({"types": ["procedural"], "tags": ["deploy"]}, []),
        ({"before": "2020-01-01"}, []),
        ({"after": "2020-01-01", "scope": "group"}, [PORT, OTHER]),
        ({"tags": None}, [PORT, OTHER]),
    ],
    ids=str,
)
def test_a_recall_is_narrowed(agent: Agent, where: dict[str, object], found: list[str]) -> None:
    answer = agent.answer("recall_memory", query="which is the deploy port?", where=where)
    assert {inside(each["text"]) for each in answer["results"]} == {*found}


def test_a_context_is_narrowed_by_the_same_object(agent: Agent) -> None:
    text = agent.answer("get_context", where={"min_importance": 5})["text"]
    assert (PORT in text, OTHER in text) == (True, False)


def test_an_inspection_says_which_filter_leaves_a_memory_out(agent: Agent) -> None:
    (found,) = agent.answer("recall_memory", query="deploy port", where={"types": ["procedural"]})["results"]
    why = agent.answer("memory_inspect", id=found["id"], query="deploy port", where={"min_importance": 5})
    assert why["why"]["reason"] == "the filter 'min_importance' leaves it out"
