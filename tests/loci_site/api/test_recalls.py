"""The recall log over REST: one's own recalls, or those of groups that one curates; and feedback on them."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.models import Group, Membership, Role
from access.tokens import operator
from memories.browse.recalls import recall_id, with_hits
from memories.browse.serializers import WITHHELD
from memories.lifecycle import verbs
from memories.models import Memory, RecallLog
from memories.recall_log import COUNTER, pack_hits
from tests.loci_site.api.conftest import Caller
from tests.people import make_token

pytestmark = pytest.mark.django_db


def logged(actor: str, group: Group, question: str, *found: Memory) -> RecallLog:
    return RecallLog.objects.create(
        at=timezone.now(),
        group=group,
        actor=actor,
        via="rest",
        mode="hybrid",
        query=question,
        hits=pack_hits([(memory.key, 0.25) for memory in found]),
        duration_ms=1.5,
    )


@pytest.fixture
def owner(alice: User, ledger: Group) -> Caller:
    return Caller(make_token(alice, name="owner", scopes=("read", "write", "curate"))[1])


@pytest.fixture
def member(bob: User) -> Caller:
    return Caller(make_token(bob, name="agent")[1])


def questions(caller: Caller, query: str = "") -> list[str]:
    return [row["question"] for row in caller.get(f"/recalls{query}")["items"]]


def test_an_answered_recall_can_be_read_with_what_it_returned(owner: Caller, member: Caller) -> None:
    stored = owner.store("The deploy port is 8081.")
    assert (
        member.post("/recall", {"query": "deploy port", "group": "ledger", "mode": "keyword"})["count"] == 1
    )
    COUNTER.flush()
    (row,) = member.get("/recalls?question=DEPLOY&group=ledger&since=2026-01-01")["items"]
    assert (row["question"], row["group"], row["actor"], row["via"]) == (
        "deploy port",
        "ledger",
        "bob/agent",
        "rest",
    )
    assert [(hit["id"], hit["state"]) for hit in row["hits"]] == [(stored["id"], "live")]
    assert (row["unseen"], row["abstained"], row["untrusted"]) == (0, False, True)
    assert member.get(f"/recalls/{row['id']}") == row


def test_a_member_reads_its_own_and_a_curator_those_of_the_group(
    owner: Caller, member: Caller, bob: User, ledger: Group, garden: Group
) -> None:
    logged("bob/agent", ledger, "mine")
    logged("alice", ledger, "hers")
    logged("alice", garden, "in the garden")
    assert questions(member) == ["mine"]
    hers = next(row["id"] for row in owner.get("/recalls")["items"] if row["question"] == "hers")
    assert member.get(f"/recalls/{hers}", status=404)["field"] == "recall"
    assert questions(owner) == ["in the garden", "hers", "mine"]
    Membership.objects.filter(user=bob).update(role=Role.CURATOR)
    curator = Caller(make_token(bob, name="curator", scopes=("read", "curate"))[1])
    assert questions(curator) == ["hers", "mine"]
    assert questions(member) == ["mine"]  # its scope has no right to curate
    assert len(hers) == 32  # encrypted: a key would tell how often all groups ask


def test_filters_and_pages(owner: Caller, ledger: Group, garden: Group) -> None:
    for n in range(5):
        logged("alice", ledger, f"port {n}?")
    logged("alice", garden, "roses?")
    assert questions(owner, "?question=port&group=ledger") == [f"port {n}?" for n in (4, 3, 2, 1, 0)]
    first = owner.get("/recalls?question=port&limit=3")
    second = owner.get(f"/recalls?question=port&limit=3&cursor={first['next']}")
    assert [len(first["items"]), len(second["items"]), second["next"]] == [3, 2, None]
    assert questions(owner, "?since=2096-01-01") == []
    for wrong in ("limit=0", "since=soon", "cursor=x", "asked=x"):
        owner.get(f"/recalls?{wrong}", status=422)
    assert owner.get("/recalls?group=nowhere", status=404)["field"] == "group"
    assert owner.get("/recalls/7", status=422)["field"] == "recall"


def test_results_that_the_caller_may_not_see_are_counted(
    member: Caller, owner: Caller, ledger: Group, garden: Group
) -> None:
    hidden = Memory.objects.get(id=owner.store("Roses are red.", group="garden", scope="group")["id"])
    logged("bob/agent", ledger, "red?", hidden)
    (row,) = member.get("/recalls")["items"]
    assert (row["hits"], row["unseen"]) == ([], 1)


def test_feedback_names_used_and_wrong_memories(owner: Caller, member: Caller, ledger: Group) -> None:
    port, lamp = (owner.store(text) for text in ("The deploy port is 8081.", "The lamp is red."))
    logged("bob/agent", ledger, "port?", Memory.objects.get(id=port["id"]))
    body = {"used": [port["id"][-8:]], "wrong": [lamp["id"]]}
    answer = member.post("/feedback", body)
    (row,) = member.get("/recalls")["items"]
    assert answer == {
        "recorded": 2,
        "feedback": [
            {"id": port["id"], "verdict": "used", "recall": row["id"]},
            {"id": lamp["id"], "verdict": "wrong", "recall": None},
        ],
    }
    assert member.post("/feedback", body)["recorded"] == 0
    assert owner.get(f"/memories/{port['id']}/inspect")["feedback"] == {"used": 1, "wrong": 0}
    counts = owner.get("/stats?group=ledger")
    assert (counts["feedback_used"], counts["feedback_wrong"]) == (1, 1)
    assert member.post("/feedback", {}, status=422)["field"] == "used"
    assert member.post("/feedback", {"used": [port["id"]], "recall": "7"}, status=422)["field"] == "recall"
    assert member.post("/feedback", {"useful": [port["id"]]}, status=422)["field"] == "useful"


def test_a_recall_of_a_body_takes_its_filters_in_where(owner: Caller) -> None:
    owner.store("The deploy port is 8081.", importance=9)
    asked = {"query": "deploy port", "group": "ledger", "mode": "keyword"}
    assert owner.post("/recall", asked | {"where": {"min_importance": 9}})["count"] == 1
    assert owner.post("/recall", asked | {"where": {"min_importance": 10}})["count"] == 0
    refused = owner.post("/recall", asked | {"where": {"importance": 9}}, status=422)
    assert (refused["field"], refused["message"]) == ("where", "There is no filter 'importance'.")
    assert "min_importance" in refused["hint"]
    assert owner.post("/recall", asked | {"min_importance": 9}, status=422)["field"] == "min_importance"


def test_a_question_with_a_quarantined_text_is_withheld_from_agents(owner: Caller, ledger: Group) -> None:
    text = "The deploy port is 8081."
    stored = owner.store(text)
    same, other = logged("bob/agent", ledger, text, Memory.objects.get(id=stored["id"])), "deploy port"
    logged("bob/agent", ledger, other)
    assert questions(owner) == [other, text]
    verbs.quarantine(operator(), stored["id"], reason="unsafe")
    assert questions(owner) == [other, WITHHELD]
    assert owner.get(f"/recalls/{recall_id(same)}")["question"] == WITHHELD
    [logged_same] = with_hits(operator(), [same])
    assert logged_same.row.query == text
