"""The first path an agent walks: ten facts into two groups that did not exist, found again, corrected, destroyed."""

import pytest
from django.contrib.auth.models import User

from access.actor import CREATE_GROUP, CURATE, READ, WRITE
from access.models import Group
from memories.models import Memory
from tests.fences import inside
from tests.loci_site.mcp.people import Agent, make_agent

pytestmark = [pytest.mark.model, pytest.mark.django_db]

LEDGER = (
    "We settled on PostgreSQL 16 for the ledger",
    "Invoices are rounded half to even, line by line",
    "The deploy port is 8081.",
    "The deploy port is 8082.",
    "Marta reviews every change to the posting rules",
)
GARDEN = (
    "The greenhouse is watered at six in the morning",
    "Tomatoes stand in the third bed from the gate",
    "Compost is turned on the first Sunday of a month",
    "The shed key hangs behind the blue door",
    "Seeds are ordered from the cooperative in Lyon",
)


@pytest.fixture
def agent(db: None) -> Agent:
    """An agent that may make groups, in a store without any of its own."""
    user, _ = User.objects.get_or_create(username="alice")
    return make_agent(user, READ, WRITE, CURATE, CREATE_GROUP)


@pytest.fixture(scope="module")
def ids(shared_rows: None, encoder: object) -> dict[str, str]:
    """The ten facts, stored; their ids by their texts."""
    stored, agent = {}, make_agent(User.objects.create_user("alice"), READ, WRITE, CURATE, CREATE_GROUP)
    for group, facts in (("ledger", LEDGER), ("garden", GARDEN)):
        for fact in facts:
            stored[fact] = agent.answer("store_memory", content=fact, group=group, scope="group")["id"]
    return stored


def test_a_store_makes_the_group_and_says_so_once(agent: Agent) -> None:
    first = agent.answer("store_memory", content=LEDGER[0], group="ledger", scope="group")
    second = agent.answer("store_memory", content=LEDGER[1], group="ledger", scope="group")
    assert (first["outcome"], first["group"], first["group_created"]) == ("created", "ledger", True)
    assert "group_created" not in second
    assert Group.objects.get().slug == "ledger"


def test_a_fact_may_hang_on_a_commit(agent: Agent) -> None:
    stored = agent.answer("store_memory", content=LEDGER[2], group="ledger", anchor_commit="ab" * 20)
    assert Memory.objects.get(id=stored["id"]).anchor_commit == "ab" * 20
    assert "anchor_commit" in agent.error(
        "store_memory", content=LEDGER[3], group="ledger", anchor_commit="x" * 65
    )


def test_a_question_finds_its_fact_by_meaning(agent: Agent, ids: dict[str, str]) -> None:
    found = agent.answer("recall_memory", query="which database do we use?", group="ledger")
    assert found["results"][0]["id"] == ids["We settled on PostgreSQL 16 for the ledger"]
    assert inside(found["results"][0]["text"]) == "We settled on PostgreSQL 16 for the ledger"


def test_a_question_finds_its_fact_by_the_exact_word(agent: Agent, ids: dict[str, str]) -> None:
    found = agent.answer("recall_memory", query="Lyon", group="garden")
    assert found["results"][0]["id"] == ids["Seeds are ordered from the cooperative in Lyon"]


@pytest.mark.parametrize("query", ["which database do we use?", "PostgreSQL", "tomatoes in the third bed"])
def test_the_other_group_never_answers(agent: Agent, ids: dict[str, str], query: str) -> None:
    for group, others in (("ledger", GARDEN), ("garden", LEDGER)):
        found = agent.answer("recall_memory", query=query, group=group, max_results=50, token_budget=5000)
        seen = {inside(item["text"]) for item in found["results"] + found.get("nearest", [])}
        assert seen.isdisjoint(others)


def test_two_ports_are_two_facts(agent: Agent, ids: dict[str, str]) -> None:
    assert ids["The deploy port is 8081."] != ids["The deploy port is 8082."]
    found = agent.answer("recall_memory", query="deploy port", group="ledger")
    assert {inside(item["text"]) for item in found["results"]} >= {
        "The deploy port is 8081.",
        "The deploy port is 8082.",
    }


def test_the_near_one_comes_with_its_reason(agent: Agent) -> None:
    first = agent.answer("store_memory", content="The deploy port is 8081.", group="ledger")
    (near,) = agent.answer("store_memory", content="The deploy port is 8082.", group="ledger")["near"]
    assert (near["id"], inside(near["content"])) == (first["id"], "The deploy port is 8081.")
    assert "8081" in near["why"]
    assert "8082" in near["why"]


def test_the_counts_are_true(agent: Agent, ids: dict[str, str]) -> None:
    agent.answer("forget_memory", id=ids["The shed key hangs behind the blue door"])
    counts = agent.answer("memory_stats", group="garden")
    assert (counts["memories"], counts["live"]) == (5, 4)
    assert counts["by_state"] == {"forgotten": 1, "live": 4}
    assert counts["by_type"] == {"semantic": 4}
    assert (counts["pieces"], counts["pieces_owed"]) == (5, 0)


def test_a_relation_ties_two_names_and_its_proof(agent: Agent, ids: dict[str, str]) -> None:
    proof = ids["We settled on PostgreSQL 16 for the ledger"]
    relation = {
        "subject": "ledger service",
        "predicate": "depends on",
        "object": "PostgreSQL",
        "group": "ledger",
    }
    tied = agent.answer("store_relation", **relation, evidence=[proof])
    assert (tied["outcome"], tied["predicate"]) == ("created", "depends_on")
    assert tied["entities_created"] == ["ledger service", "PostgreSQL"]
    again = agent.answer("store_relation", **relation)
    assert (again["outcome"], again["id"], again.get("entities_created")) == ("reinforced", tied["id"], None)
    looked = agent.answer("memory_inspect", id=tied["subject"])
    assert [inside(edge["object"]["content"]) for edge in looked["relations"]] == ["PostgreSQL"]


def test_a_correction_takes_the_old_facts_place(agent: Agent, ids: dict[str, str]) -> None:
    old = ids["We settled on PostgreSQL 16 for the ledger"]
    new = agent.answer("store_memory", content="We moved the ledger to PostgreSQL 17", supersedes=old)
    assert (new["outcome"], new["superseded"], new["group"]) == ("created", old, "ledger")
    found = agent.answer("recall_memory", query="which database do we use?", group="ledger")
    assert old not in [item["id"] for item in found["results"]]
    looked = agent.answer("memory_inspect", id=old)
    assert (looked["memory"]["state"], looked["head"]) == ("superseded", new["id"])
    assert [version["state"] for version in looked["versions"]] == ["superseded", "live"]


def test_inspect_tells_why_a_question_finds_it(agent: Agent, ids: dict[str, str]) -> None:
    fact = ids["Seeds are ordered from the cooperative in Lyon"]
    looked = agent.answer("memory_inspect", id=fact, query="where do seeds come from?")
    assert looked["why"]["rank"] == 1
    assert inside(looked["memory"]["content"]) == "Seeds are ordered from the cooperative in Lyon"
    assert [row["operation"] for row in looked["log"]] == ["store"]


def test_every_verb_does_what_it_says(agent: Agent, ids: dict[str, str]) -> None:
    def do(verb: str, fact: str) -> tuple[int, str, str]:
        done = agent.answer("forget_memory", id=ids[fact], verb=verb)
        return done["changed"], done["state"], done["trust"]

    def is_found(word: str) -> bool:
        found = agent.answer("recall_memory", query=word, group="garden")
        return any(word in item["text"] for item in found["results"])

    assert do("forget", GARDEN[0]) == (1, "forgotten", "active")
    assert not is_found("greenhouse")
    assert do("restore", GARDEN[0]) == (1, "live", "active")
    assert is_found("greenhouse")
    assert do("retract", GARDEN[1]) == (1, "retracted", "active")
    assert not is_found("Tomatoes")
    assert do("dispute", GARDEN[2]) == (1, "live", "active")
    assert is_found("Compost")
    assert do("purge", GARDEN[3]) == (1, "purged", "active")
    assert not Memory.objects.filter(content__contains="shed key").exists()


@pytest.mark.parametrize("verb", ["forget", "retract", "dispute", "purge"])
def test_a_dry_run_changes_nothing(agent: Agent, ids: dict[str, str], verb: str) -> None:
    done = agent.answer("forget_memory", id=ids[LEDGER[0]], verb=verb, dry_run=True)
    assert (done["changed"], done["dry_run"]) == (0, True)
    assert done["consequences"]
    looked = agent.answer("memory_inspect", id=ids[LEDGER[0]])["memory"]
    assert (looked["state"], looked["trust"]) == ("live", "active")


def test_a_purge_comes_with_its_certificate(agent: Agent, ids: dict[str, str]) -> None:
    done = agent.answer("forget_memory", id=ids[GARDEN[3]], verb="purge", reason="a key")
    assert done["certificate"]["ids"] == [ids[GARDEN[3]]]
    assert (done["certificate"]["memories"], done["certificate"]["pieces"]) == (1, 1)


def test_checkpoints_are_counted_and_open_the_next_session(agent: Agent, ids: dict[str, str]) -> None:
    first = agent.answer("checkpoint", group="ledger", state={"next": "write the migration"})
    second = agent.answer("checkpoint", group="ledger", state="The migration is written; next, run it.")
    assert (first["count"], second["count"]) == (1, 2)
    pack = agent.answer("get_context", group="ledger", query="which database do we use?")
    assert "The migration is written; next, run it." in pack["text"]
    assert "We settled on PostgreSQL 16 for the ledger" in pack["text"]
    assert "greenhouse" not in pack["text"]


def test_no_answer_says_so_and_keeps_the_nearest_apart(agent: Agent, ids: dict[str, str]) -> None:
    body = agent.answer("recall_memory", query="zoologist", group="ledger")
    assert (body["results"], body["abstained"], len(body["nearest"])) == ([], True, 3)
    assert body["text"].startswith("Nothing stored in 'ledger' answers this.")
