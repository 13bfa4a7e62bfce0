"""memory_inspect keeps its token_budget, says what it cut and with which budget or cursor one reads the rest."""

import re
from itertools import pairwise

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.recall.budget import count_tokens, counting_encoder
from memories.recall_log import COUNTER
from memories.store.pieces import available_encoder
from tests.fences import inside
from tests.loci_site.mcp.answers import fields_of, text_of
from tests.loci_site.mcp.people import Agent, make_alice, make_groups, make_users

pytestmark = [pytest.mark.django_db, pytest.mark.model]
LONG = " ".join(f"Line {n} of the ledger is rounded half to even." for n in range(60))


@pytest.fixture(scope="module")
def users(shared_rows: None) -> dict[str, User]:
    return make_users()


@pytest.fixture(scope="module")
def groups(users: dict[str, User]) -> dict[str, Group]:
    return make_groups(users)


@pytest.fixture(scope="module")
def memory(users: dict[str, User], groups: dict[str, Group], encoder: object) -> str:
    """A memory with a long text, versions, relations, fields and log."""
    alice = make_alice(users, groups)
    made = alice.answer(
        "store_memory", content=LONG, tags=["rounding", "money"], source="docs/rounding.md", metadata={"a": "b" * 300}
    )  # fmt: skip
    for n in range(4):
        alice.answer(
            "forget_memory", id=made["id"], verb="edit", changes={"content": f"{LONG} Edit {n}."}, reason="more"
        )  # fmt: skip
    head = alice.answer("memory_inspect", id=made["id"])["head"]
    for name in ("Rounder", "Auditor", "Printer"):
        alice.answer("store_relation", subject=name, predicate="reads", object=head)
    return str(head)


def tokens(text: str) -> int:
    return count_tokens(text, counting_encoder(available_encoder()))


@pytest.mark.parametrize("query", ["", "how is line 7 rounded?"])
def test_an_inspection_keeps_the_budget(alice: Agent, memory: str, query: str) -> None:
    for budget in (50, 60, 150, 400, 1200):
        result = alice.call("memory_inspect", id=memory, query=query, token_budget=budget)
        text, answer = text_of(result), fields_of(result)
        assert tokens(text) <= budget * 1.02
        assert answer["cut"]
        assert inside(answer["memory"]["content"])[-1:] in ("…", "")
        assert "Cut" in text
    whole_at = int(re.findall(r"token_budget=(\d+)", text)[0])
    rest = alice.call("memory_inspect", id=memory, query=query, token_budget=whole_at)
    assert "cut" not in fields_of(rest)
    assert "Edit 3." in text_of(rest)


def test_more_budget_shows_more(alice: Agent, memory: str) -> None:
    cut = [
        set(alice.answer("memory_inspect", id=memory, token_budget=budget)["cut"])
        for budget in (160, 400, 800, 1200)
    ]
    assert cut[0] > cut[-1]
    assert all(more >= less for more, less in pairwise(cut))
    text = text_of(alice.call("memory_inspect", id=memory, token_budget=400))
    assert "(Cut: content, " in text


def test_without_a_budget_nothing_is_cut(alice: Agent, memory: str) -> None:
    answer = alice.answer("memory_inspect", id=memory)
    assert "cut" not in answer
    assert len(answer["relations"]) == 3


@pytest.mark.parametrize("budget", [50, 300])
def test_earlier_recalls_come_in_pages_within_the_budget(alice: Agent, memory: str, budget: int) -> None:
    questions = {f"how is line {n} of the ledger rounded, and since when is it so?" for n in range(4)}
    for question in questions:
        alice.answer("recall_memory", query=question)
    COUNTER.flush()
    seen, cursor = set[str](), ""
    for _ in range(8):
        result = alice.call("memory_inspect", query="rounded", cursor=cursor, token_budget=budget)
        answer, text = fields_of(result), text_of(result)
        assert tokens(text) <= budget * 1.02
        if not answer.get("recalls"):
            assert "Raise token_budget" in text
            assert budget <= 120
            return
        seen |= {inside(each["question"]) for each in answer["recalls"]}
        cursor = answer.get("next", "")
        if not cursor:
            break
    assert len(seen) == len(questions)


@pytest.mark.parametrize("arguments", [{"id": "x"}, {"query": "x"}])
def test_a_budget_that_is_too_small_is_an_error(alice: Agent, arguments: dict[str, str]) -> None:
    assert "token_budget is 10; it must be a number from 50" in alice.error(
        "memory_inspect", token_budget=10, **arguments
    )


def test_an_empty_id_is_an_error(alice: Agent) -> None:
    assert "id is empty." in alice.error("memory_inspect", id="")
    assert alice.answer("memory_inspect", id=None)["group"] == "ledger"


def test_an_error_says_that_a_short_id_is_enough(alice: Agent) -> None:
    assert "last 8 characters are enough" in alice.error("memory_inspect", id="abc")


def test_an_unknown_group_is_told_as_recall_tells_it(alice: Agent, bob: Agent) -> None:
    for agent in (alice, bob):
        told = agent.answer("recall_memory", query="what?", group="ledgers")["note"]
        for tool, arguments in (
            ("memory_inspect", {}),
            ("memory_inspect", {"query": "x"}),
            ("memory_stats", {}),
        ):
            error = agent.error(tool, group="ledgers", **arguments)  # type: ignore[arg-type]
            assert error == f"{told} [group_not_found, group]"


def test_a_relations_id_can_be_inspected(alice: Agent, bob: Agent, charlie: Agent) -> None:
    made = alice.answer("store_relation", subject="Ledger", predicate="rounds", object="Invoices")
    result = bob.call("memory_inspect", id=made["id"])
    assert "<relations>\nLedger —rounds→ Invoices (" in text_of(result)
    [relation] = fields_of(result)["relations"]
    assert (relation["id"], relation["predicate"]) == (made["id"], "rounds")
    assert "not found" in charlie.error("memory_inspect", id=made["id"]).lower()
