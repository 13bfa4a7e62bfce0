"""Recall, relations, groups, stats, log, checkpoints, context and runs over REST."""

from urllib.parse import urlencode

import pytest

from maintenance.models import Run
from tests.loci_site.api.conftest import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def test_a_question_finds_its_answer_by_meaning(owner: Caller) -> None:
    stored = owner.store("We settled on PostgreSQL 16 for the ledger.")
    owner.store("The cafeteria serves soup on Mondays.")
    answer = owner.post(
        "/recall", {"query": "which database do we use?", "group": "ledger", "max_results": 1}
    )
    assert [item["id"] for item in answer["results"]] == [stored["id"]]
    assert (answer["count"], answer["mode"], answer["degraded"], answer["abstained"]) == (
        1,
        "hybrid",
        "",
        False,
    )
    assert "explain" not in answer


def test_the_answer_and_the_pack_say_how_sure_they_are(owner: Caller) -> None:
    owner.store("We settled on PostgreSQL 16 for the ledger database.")
    sure = owner.post("/recall", {"query": "PostgreSQL database of the ledger", "group": "ledger"})
    unsure = owner.post("/recall", {"query": "Qui a choisi PostgreSQL pour notre base ?", "group": "ledger"})
    none = owner.post("/recall", {"query": "photosynthesis", "group": "ledger"})
    assert (sure["confidence"], unsure["confidence"], none["confidence"]) == ("high", "low", "low")
    assert (unsure["count"], none["abstained"]) == (1, True)
    for query, confidence in (
        ("PostgreSQL database of the ledger", "high"),
        ("Qui a choisi PostgreSQL pour notre base ?", "low"),
    ):
        pack = owner.get(f"/context?{urlencode({'query': query, 'group': 'ledger'})}")
        [relevant] = [section for section in pack["sections"] if section["title"].startswith("Relevant")]
        assert relevant["confidence"] == confidence
        assert not any("confidence" in section for section in pack["sections"] if section != relevant)


def test_recall_by_address_is_the_same_as_by_body(owner: Caller) -> None:
    owner.store("We settled on PostgreSQL 16 for the ledger.", tags=["db"])
    body = owner.post(
        "/recall",
        {"query": "PostgreSQL", "group": "ledger", "where": {"tags": ["db"], "types": ["semantic"]}},
    )
    address = owner.get("/recall?query=PostgreSQL&group=ledger&tag=db&type=semantic")
    assert {**address, "duration_ms": 0} == {**body, "duration_ms": 0}
    assert owner.get("/recall?query=PostgreSQL&group=ledger&type=entity")["count"] == 0


def test_ids_are_read_in_full_and_missing_ones_named(owner: Caller) -> None:
    stored = owner.store("The deploy port is 8081.")
    unknown = "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f"
    answer = owner.post("/recall", {"ids": [stored["id"], unknown], "group": "ledger"})
    assert ([item["id"] for item in answer["results"]], answer["missing"]) == ([stored["id"]], [unknown])


def test_an_answer_explains_itself_on_request(owner: Caller) -> None:
    owner.store("The deploy port is 8081.")
    answer = owner.post("/recall", {"query": "deploy port", "group": "ledger", "explain": True})
    assert [step["step"] for step in answer["explain"]][:2] == ["question", "candidates"]
    assert answer["results"][0]["numbers"]["vector_rank"] == 1


def test_two_things_are_tied_and_a_walk_finds_the_way(owner: Caller) -> None:
    tie = {"subject": "Ledger", "predicate": "runs on", "object": "PostgreSQL", "group": "ledger"}
    made = owner.post("/relations", tie, status=201)
    assert (made["outcome"], made["predicate"], made["entities_created"]) == (
        "created",
        "runs_on",
        ["Ledger", "PostgreSQL"],
    )
    assert owner.post("/relations", tie)["outcome"] == "reinforced"
    owner.post(
        "/relations", {**tie, "subject": "PostgreSQL", "predicate": "needs", "object": "disk"}, status=201
    )
    near = owner.get("/relations?of=ledger&group=ledger")["items"]
    assert [(edge["subject"]["content"], edge["predicate"], edge["depth"]) for edge in near] == [
        ("Ledger", "runs_on", 1)
    ]
    far = owner.get(f"/relations?of={made['subject']}&depth=2")["items"]
    assert [edge["predicate"] for edge in far] == ["runs_on", "needs"]
    assert owner.get("/relations?of=nothing&group=ledger", status=404)["field"] == "of"


def test_a_group_is_made_changed_and_listed(owner: Caller) -> None:
    made = owner.post("/groups", {"slug": "orchard", "title": "The orchard", "private": True}, status=201)
    assert (made["slug"], made["private"], made["policy"]) == ("orchard", True, "none")
    changed = owner.patch(
        "/groups/orchard", {"instructions": "Be kind to bees.", "policy": "below", "policy_confidence": 0.6}
    )
    assert (changed["instructions"], changed["policy"], changed["policy_confidence"]) == (
        "Be kind to bees.",
        "below",
        0.6,
    )
    assert changed["title"] == "The orchard"
    assert [group["slug"] for group in owner.get("/groups")["items"]] == ["ledger", "orchard"]
    assert owner.get("/groups/orchard") == changed
    assert owner.post("/groups", {"slug": "orchard"}, status=409)["field"] == "slug"


def test_counts_are_true(owner: Caller) -> None:
    owner.store("The deploy port is 8081.")
    gone = owner.store("To deploy, run make ship.", type="procedural")
    owner.delete(f"/memories/{gone['id']}")
    counted = owner.get("/stats?group=ledger")
    assert (counted["memories"], counted["live"], counted["by_type"]) == (2, 1, {"semantic": 1})
    assert counted["by_state"] == {"forgotten": 1, "live": 1}
    assert owner.get("/stats?everywhere=true")["groups"] == 1


def test_the_log_tells_what_was_done_page_by_page(owner: Caller) -> None:
    stored = owner.store("The deploy port is 8081.")
    owner.post(f"/memories/{stored['id']}/forget", {"reason": "moved"})
    rows = owner.get(f"/log?memory={stored['id']}")["items"]
    assert [(row["operation"], row["actor"], row["via"]) for row in rows] == [
        ("forget", "alice/agent", "rest"),
        ("store", "alice/agent", "rest"),
    ]
    assert rows[0]["payload"]["reason"] == "moved"
    first = owner.get("/log?limit=1")
    second = owner.get(f"/log?limit=1&cursor={first['next']}")
    assert [page["items"][0]["operation"] for page in (first, second)] == ["forget", "store"]
    assert [row["operation"] for row in owner.get("/log?operation=forget")["items"]] == ["forget"]


def test_a_checkpoint_is_kept_and_the_newest_is_read(owner: Caller) -> None:
    assert owner.get("/checkpoints/latest?group=ledger", status=404)["code"] == "not_found"
    owner.post("/checkpoints", {"group": "ledger", "thread": "t1", "state": {"done": ["a"]}}, status=201)
    saved = owner.post("/checkpoints", {"group": "ledger", "thread": "t1", "state": "b is next"}, status=201)
    assert saved["count"] == 2
    latest = owner.get("/checkpoints/latest?group=ledger&thread=t1")
    assert (latest["id"], latest["state"], latest["author"]) == (
        saved["id"],
        {"text": "b is next"},
        "alice/agent",
    )


def test_a_context_pack_holds_instructions_and_memories(owner: Caller) -> None:
    owner.patch("/groups/ledger", {"instructions": "Amounts are in cents."})
    stored = owner.store("We settled on PostgreSQL 16 for the ledger.")
    pack = owner.get("/context?group=ledger&query=database&token_budget=600")
    assert "Amounts are in cents." in pack["text"]
    assert [section["ids"] for section in pack["sections"] if section["ids"]] == [[stored["id"]]]


def test_runs_are_listed_newest_first(owner: Caller) -> None:
    assert owner.get("/maintenance/runs") == {"items": [], "next": None}
    Run.objects.create(kind="decay", actor="operator")
    Run.objects.create(kind="compact", actor="operator", status="done", counts={"compacted": 3})
    runs = owner.get("/maintenance/runs")["items"]
    assert [(run["kind"], run["status"], run["counts"]) for run in runs] == [
        ("compact", "done", {"compacted": 3}),
        ("decay", "running", {}),
    ]
