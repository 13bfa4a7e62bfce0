"""Memories over REST: stored, listed, read, edited, and whatever else can be done to one."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import AuditPayload, Group, RowChange
from memories.models import Memory, Piece, Thread
from tests.guard.samples import secret_samples
from tests.loci_site.api.conftest import Caller
from tests.memories.builders import pin_as_before
from tests.people import agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def test_a_new_text_is_created_and_can_be_read(owner: Caller) -> None:
    stored = owner.store("We settled on PostgreSQL 16 for the ledger.", tags=["Database"], confidence=0.9)
    assert (stored["outcome"], stored["group"], stored["scope"]) == ("created", "ledger", "group")
    memory = owner.get(f"/memories/{stored['id']}")
    assert memory["content"] == "We settled on PostgreSQL 16 for the ledger."
    assert (memory["tags"], memory["confidence"], memory["author"]) == (["database"], 0.9, "alice/agent")
    assert memory["head"] == stored["id"]
    assert "versions" not in memory


def test_the_same_text_again_answers_200_and_reinforces(owner: Caller, member: Caller) -> None:
    first = owner.store("The deploy port is 8081.")
    again = member.store("The deploy port is 8081.", status=200)
    assert (again["outcome"], again["id"]) == ("reinforced", first["id"])
    assert again["confidence"] == 0.8  # 0.7 + 0.1: bob had not said so today


def test_what_waits_for_a_curator_answers_202(owner: Caller, member: Caller) -> None:
    owner.patch("/groups/ledger", {"policy": "agents"})
    stored = member.store("Releases go out on Tuesdays.", status=202)
    assert (stored["outcome"], stored["trust"]) == ("queued", "candidate")
    waiting = owner.get("/review/candidates")
    assert [memory["id"] for memory in waiting["items"]] == [stored["id"]]


def test_a_retracted_text_is_refused_with_409(owner: Caller) -> None:
    stored = owner.store("The office is in Bonn.")
    done = owner.post(f"/memories/{stored['id']}/retract", {"reason": "it never was"})
    assert (done["verb"], done["state"], done["changed"]) == ("retract", "retracted", 1)
    error = owner.store("The office is in Bonn.", status=409)
    assert error["code"] == "refused"
    assert error["hint"].startswith("Nothing was written. If the text is right after all, a curator can lift")
    assert "it never was" in error["message"]


def test_a_list_is_read_page_by_page_and_ends(owner: Caller) -> None:
    ids = [
        owner.store(f"Shelf {name} holds {name}.")["id"]
        for name in ("apples", "bolts", "cloth", "dyes", "eggs")
    ]
    first = owner.get("/memories?limit=2&group=ledger")
    second = owner.get(f"/memories?limit=2&group=ledger&cursor={first['next']}")
    third = owner.get(f"/memories?limit=2&group=ledger&cursor={second['next']}")
    seen = [memory["id"] for page in (first, second, third) for memory in page["items"]]
    assert seen == ids[::-1]  # newest first
    assert [len(page["items"]) for page in (first, second, third)] == [2, 2, 1]
    assert third["next"] is None


def test_a_list_costs_the_same_queries_however_long(owner: Caller) -> None:
    owner.store("Shelf one holds apples.")
    with CaptureQueriesContext(
        connection,
    ) as short:
        owner.get("/memories")
    for name in ("bolts", "cloth", "dyes", "eggs"):
        owner.store(f"Shelf two holds {name}.")
    with CaptureQueriesContext(connection) as long:
        owner.get("/memories")
    assert len(long) == len(short)
    assert not [q for q in long.captured_queries if "COUNT(" in q["sql"].upper()]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("type=procedural", ["To deploy, run the pipeline."]),
        (
            "type=procedural&type=semantic&state=live",
            ["To deploy, run the pipeline.", "The colour is green."],
        ),
        ("tag=Paint", ["The colour is green."]),
        ("tag=paint&tag=wall", []),
        ("q=PIPELINE", ["To deploy, run the pipeline."]),
        ("q=100%25", []),
        ("state=forgotten", ["The colour was red."]),
        ("state=all", ["The colour was red.", "To deploy, run the pipeline.", "The colour is green."]),
        ("trust=verified", []),
        ("group=ledger&type=entity", []),
    ],
)
def test_a_filter_narrows_a_list(owner: Caller, filters: str, expected: list[str]) -> None:
    owner.store("The colour is green.", tags=["paint"])
    owner.store("To deploy, run the pipeline.", type="procedural")
    gone = owner.store("The colour was red.")
    owner.delete(f"/memories/{gone['id']}")
    assert [memory["content"] for memory in owner.get(f"/memories?{filters}")["items"]] == expected


def test_an_edit_of_the_text_is_a_new_version_of_the_chain(owner: Caller) -> None:
    stored = owner.store(
        "The deploy port is 8081.", valid_from="2026-01-05T09:00:00+01:00", thread="ops", tags=["port"]
    )
    edited = owner.patch(
        f"/memories/{stored['id']}", {"content": "The deploy port is 8082.", "reason": "a typo"}
    )
    memory = edited["memory"]
    assert (edited["outcome"], edited["replaced"]) == ("new_version", stored["id"])
    assert (memory["version"], memory["content"], memory["state"]) == (2, "The deploy port is 8082.", "live")
    # An edit corrects: when it was true, where it stands and its tags stay.
    assert memory["valid_from"] == "2026-01-05T08:00:00+00:00"
    assert (memory["thread"], memory["position"], memory["tags"]) == ("ops", 0, ["port"])
    old = owner.get(f"/memories/{stored['id']}?versions=true")
    assert (old["state"], old["valid_to"], old["head"]) == ("superseded", None, memory["id"])
    assert [version["version"] for version in old["versions"]] == [1, 2]
    row = Memory.objects.get(id=stored["id"])
    assert row.retired_at is not None
    assert Piece.objects.filter(memory__id=memory["id"], embedding__isnull=False).count() == 1
    found = owner.post("/recall", {"query": "deploy port", "group": "ledger"})
    assert [item["id"] for item in found["results"]] == [memory["id"]]


def test_an_edit_of_tags_or_importance_changes_in_place(owner: Caller) -> None:
    stored = owner.store("The deploy port is 8081.", tags=["port"])
    edited = owner.patch(
        f"/memories/{stored['id']}", {"tags": ["Harbour"], "importance": 9, "metadata": {"by": "hand"}}
    )
    assert (edited["outcome"], edited["replaced"], edited["memory"]["id"]) == ("changed", None, stored["id"])
    assert edited["changes"]["tags"] == [["port"], ["harbour"]]
    assert edited["changes"]["importance"] == [5, 9]
    # Tags are searched as words (alone in a store, a word tells nothing: the memory may come as the nearest).
    found = owner.post("/recall", {"query": "harbour", "group": "ledger", "mode": "keyword"})
    assert [item["id"] for item in found["results"] + found["nearest"]] == [stored["id"]]
    log = owner.get(f"/log?memory={stored['id']}")["items"]
    assert [row["operation"] for row in log] == ["edit", "store"]


@pytest.mark.parametrize("kind", ["aws-access-key", "github-token", "google-api-key", "slack-token"])
def test_a_secret_in_a_tag_is_masked_whichever_way_it_comes(owner: Caller, ledger: Group, kind: str) -> None:
    """Tags are stored in lower case, and most secrets are known by their capital letters."""
    value = secret_samples()[kind]
    stored = owner.store("The deploy port is 8081.", tags=[value, "Harbour"], thread="tea")
    tags = owner.get(f"/memories/{stored['id']}")["tags"]
    edited = owner.patch(f"/memories/{stored['id']}", {"tags": [value, "Quay"]})
    [talk] = Thread.objects.all()
    owner.patch(f"/conversations/{talk.id}", {"tags": ["Harbour", value]})
    talk.refresh_from_db()
    assert [tags[1], edited["memory"]["tags"][1], talk.tags[0]] == ["harbour", "quay", "harbour"]
    assert all(tag.startswith(f"[{kind}:") for tag in (tags[0], edited["memory"]["tags"][0], talk.tags[1]))
    logged = AuditPayload.objects.values_list("payload", flat=True)
    assert (
        value.lower() not in json.dumps([*logged, *RowChange.objects.values_list("vals", flat=True)]).lower()
    )


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 422, "names no field"),
        ({"content": "The deploy port is 8081."}, 409, "already has these values"),
        ({"content": "Elsewhere live."}, 409, "is live as"),
        ({"content": "x", "version": 7}, 409, "now has version 1, not 7"),
        ({"content": None}, 422, "'content' cannot be null"),
        ({"scope": "global"}, 422, "'scope' is not a known field"),
        ({"importance": 11}, 422, "'importance'"),
        ({"valid_from": "yesterday"}, 422, "'yesterday' in valid_from is not a date"),
    ],
)
def test_an_edit_that_cannot_be_done_says_why_and_does_nothing(
    owner: Caller, body: dict[str, Any], status: int, said: str
) -> None:
    owner.store("Elsewhere live.")
    stored = owner.store("The deploy port is 8081.")
    error = owner.patch(f"/memories/{stored['id']}", body, status=status)
    assert said in error["message"]
    assert owner.get(f"/memories/{stored['id']}")["content"] == "The deploy port is 8081."
    assert Memory.objects.count() == 2


def test_an_edit_where_writes_wait_leaves_the_old_text_in_force(owner: Caller, member: Caller) -> None:
    stored = owner.store("The deploy port is 8081.")
    owner.patch("/groups/ledger", {"policy": "agents"})
    edited = member.send(
        "patch", f"/memories/{stored['id']}", {"content": "The deploy port is 8082."}, status=202
    )
    assert (edited["outcome"], edited["memory"]["trust"]) == ("queued", "candidate")
    assert owner.get(f"/memories/{stored['id']}")["state"] == "live"
    links = owner.get("/review/links?group=ledger")["items"]
    assert [(link["kind"], link["target"]) for link in links] == [("conflict", stored["id"])]
    assert [memory["content"] for memory in links[0]["memories"]] == [
        "The deploy port is 8082.",
        "The deploy port is 8081.",
    ]


def test_a_member_cannot_edit_a_memory_into_what_was_retracted(owner: Caller, member: Caller) -> None:
    wrong = owner.store("The office is in Bonn.")
    owner.post(f"/memories/{wrong['id']}/retract", {"reason": "never"})
    stored = member.store("The office is in Cologne.")
    error = member.patch(f"/memories/{stored['id']}", {"content": "The office is in Bonn."}, status=409)
    assert "retracted here before: never" in error["message"]


def test_forgetting_hides_and_restoring_brings_back(owner: Caller) -> None:
    stored = owner.store("The deploy port is 8081.")
    tried = owner.delete(f"/memories/{stored['id']}?dry_run=true")
    assert (tried["dry_run"], tried["changed"], tried["state"]) == (True, 0, "forgotten")
    assert owner.get(f"/memories/{stored['id']}")["state"] == "live"
    assert owner.delete(f"/memories/{stored['id']}")["state"] == "forgotten"
    assert owner.post("/recall", {"query": "deploy port", "group": "ledger"})["results"] == []
    assert owner.post(f"/memories/{stored['id']}/restore")["state"] == "live"
    again = owner.post(f"/memories/{stored['id']}/restore", status=409)
    assert again["code"] == "conflict"


def test_a_purge_leaves_nothing_and_certifies_it(owner: Caller) -> None:
    stored = owner.store("My number is 555-0100.")
    newer = owner.patch(f"/memories/{stored['id']}", {"content": "My number is 555-0199."})["memory"]
    owner.delete(f"/memories/{stored['id']}?verb=purge&reason=asked", status=409)
    done = owner.delete(f"/memories/{newer['id']}?verb=purge&reason=asked")
    assert done["certificate"]["memories"] == 2
    assert owner.get(f"/memories/{stored['id']}", status=404)["code"] == "not_found"
    assert Memory.objects.count() == 0


def test_a_program_asks_for_a_pin_and_takes_its_own_off(owner: Caller, alice: User) -> None:
    stored = owner.store("The deploy port is 8081.")
    assert owner.post(f"/memories/{stored['id']}/pin", status=202)["outcome"] == "queued"
    memory = Memory.objects.get(id=stored["id"])
    assert not memory.pinned
    pin_as_before(agent(alice), memory)
    assert owner.post(f"/memories/{stored['id']}/unpin")["changes"]["pinned"] == [True, False]
    assert owner.post(f"/memories/{stored['id']}/unpin", status=409)["code"] == "conflict"


def test_only_a_person_verifies(owner: Caller) -> None:
    stored = owner.store("The deploy port is 8081.")
    error = owner.post(f"/memories/{stored['id']}/verify", status=403)
    assert error["message"] == "Only a person can verify a memory."


def test_inspecting_says_why_a_question_brings_it(owner: Caller) -> None:
    stored = owner.store("The deploy port is 8081.")
    seen = owner.get(f"/memories/{stored['id']}/inspect?query=deploy+port")
    assert (seen["recall"], seen["pieces"], seen["why"]["rank"]) == ("return", 1, 1)
    assert "why" not in owner.get(f"/memories/{stored['id']}/inspect")
