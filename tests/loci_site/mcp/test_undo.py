"""Each write of an agent answers with an id that undoes it, for the same token and a day, unless somebody built on it."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.actor import CURATE, READ, WRITE, Via
from access.audit.operations import Operation
from access.audit.verify import is_log_whole
from access.models import AuditEntry, CandidatePolicy, Group
from access.tokens import actor_for_user
from memories.lifecycle import verbs
from memories.lifecycle.undo import TELLING
from memories.lifecycle.verbs import Face, offered_by
from memories.models import Checkpoint, Memory, Proposal, Tombstone
from relations.models import Relation
from tests.fences import inside
from tests.loci_site.mcp.people import Agent, make_agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TRUE, WRONG = "The backup is encrypted with age.", "The backup is encrypted with gpg."


@pytest.fixture
def agent(users: dict[str, User], groups: dict[str, Group]) -> Agent:
    return make_agent(users["bob"], READ, WRITE, default_group=groups["ledger"])


@pytest.fixture
def other(users: dict[str, User], groups: dict[str, Group]) -> Agent:
    return make_agent(users["alice"], READ, WRITE, CURATE, default_group=groups["ledger"])


def keep(agent: Agent, content: str, **fields: Any) -> dict[str, Any]:
    return agent.answer("store_memory", content=content, **({"scope": "group"} | fields))


def recalled(agent: Agent, query: str = "how is the backup encrypted?") -> list[str]:
    return [inside(each["text"]) for each in agent.answer("recall_memory", query=query)["results"]]


def state(id_: str) -> str:
    return Memory.objects.get(id=id_).state


def test_a_store_is_undone_as_if_it_had_never_been(agent: Agent) -> None:
    stored = keep(agent, WRONG)
    undone = agent.answer("forget_memory", verb="undo", id=stored["undo"])
    assert undone.pop("undo")
    assert undone == {
        "verb": "undo",
        "undone": "store",
        "consequences": [f"{stored['id']} is hidden, as if it had not been stored"],
    }
    assert recalled(agent) == []
    assert not Tombstone.objects.exists()
    again = keep(agent, WRONG)
    assert (again["outcome"], again["trust"]) == ("created", "active")
    assert is_log_whole()


def test_a_supersede_by_mistake_gives_the_true_fact_back(agent: Agent) -> None:
    true = keep(agent, TRUE)
    wrong = keep(agent, WRONG, supersedes=true["id"])
    assert recalled(agent) == [WRONG]
    agent.answer("forget_memory", verb="undo", id=wrong["undo"])
    assert recalled(agent) == [TRUE]
    # No circle: the wrong one may be said, corrected and undone again.
    again = keep(agent, WRONG, supersedes=agent.answer("memory_inspect", id=true["id"])["head"])
    assert recalled(agent) == [WRONG]
    agent.answer("forget_memory", verb="undo", id=again["undo"])
    assert recalled(agent) == [TRUE]


def test_a_supersede_of_another_kind_is_undone(agent: Agent) -> None:
    true = keep(agent, TRUE)
    wrong = keep(agent, WRONG, type="procedural", supersedes=true["id"])
    agent.answer("forget_memory", verb="undo", id=wrong["undo"])
    assert recalled(agent) == [TRUE]


@pytest.mark.parametrize("verb", ["forget", "retract", "dispute"])
def test_a_verb_is_undone(agent: Agent, verb: str) -> None:
    stored = keep(agent, TRUE)
    done = agent.answer("forget_memory", id=stored["id"], verb=verb, reason="by mistake")
    agent.answer("forget_memory", verb="undo", id=done["undo"])
    memory = Memory.objects.get(id=stored["id"])
    assert (memory.state, memory.trust) == ("live", "active")
    assert not Tombstone.objects.filter(lifted_at=None).exists()
    assert recalled(agent) == [TRUE]


def test_a_restore_is_undone(agent: Agent) -> None:
    stored = keep(agent, TRUE)
    agent.answer("forget_memory", id=stored["id"])
    restored = agent.answer("forget_memory", id=stored["id"], verb="restore")
    agent.answer("forget_memory", verb="undo", id=restored["undo"])
    assert state(stored["id"]) == "forgotten"


def test_a_restatement_gives_back_what_it_added(agent: Agent, other: Agent) -> None:
    stored = keep(agent, TRUE)
    said = keep(other, TRUE)
    assert said["outcome"] == "reinforced"
    assert Memory.objects.get(id=stored["id"]).confidence == pytest.approx(stored["confidence"] + 0.1)
    other.answer("forget_memory", verb="undo", id=said["undo"])
    assert Memory.objects.get(id=stored["id"]).confidence == pytest.approx(stored["confidence"])
    assert "undone already" in other.error("forget_memory", verb="undo", id=said["undo"])


def test_a_restatement_that_superseded_gives_the_other_back(agent: Agent) -> None:
    wrong, true = keep(agent, WRONG), keep(agent, TRUE)
    said = keep(agent, TRUE, supersedes=wrong["id"])
    assert (said["outcome"], state(wrong["id"])) == ("reinforced", "superseded")
    agent.answer("forget_memory", verb="undo", id=said["undo"])
    assert (state(wrong["id"]), state(true["id"])) == ("live", "live")
    assert Memory.objects.get(id=wrong["id"]).valid_to is None


def test_a_relation_and_its_entities_are_undone(agent: Agent) -> None:
    first = agent.answer("store_relation", subject="Ledger", predicate="uses", object="PostgreSQL")
    kept = agent.answer("store_relation", subject="Ledger", predicate="runs on", object="host a")
    undone = agent.answer("forget_memory", verb="undo", id=first["undo"])
    assert Relation.objects.get(id=first["id"]).retired_at is not None
    assert state(first["object"]) == "forgotten"
    assert state(first["subject"]) == "live"  # the second relation uses it
    assert f"{first['subject']} is in use since: a relation leads to it." in undone["consequences"]
    agent.answer("forget_memory", verb="undo", id=kept["undo"])
    again = agent.answer("store_relation", subject="Ledger", predicate="uses", object="PostgreSQL")
    assert again["outcome"] == "created"


def test_the_end_of_a_relation_is_undone(agent: Agent) -> None:
    first = agent.answer("store_relation", subject="Ledger", predicate="uses", object="PostgreSQL")
    ended = agent.answer(
        "store_relation", subject="Ledger", predicate="uses", object="PostgreSQL", valid_to="2026-01-01"
    )
    assert ended["outcome"] == "superseded"
    agent.answer("forget_memory", verb="undo", id=ended["undo"])
    assert Relation.objects.get(id=first["id"]).valid_to is None


def test_a_checkpoint_is_undone(agent: Agent) -> None:
    agent.answer("checkpoint", state="one")
    second = agent.answer("checkpoint", state="two")
    agent.answer("forget_memory", verb="undo", id=second["undo"])
    assert [row.state for row in Checkpoint.objects.all()] == [{"text": "one"}]


def test_a_proposal_is_withdrawn(agent: Agent, users: dict[str, User]) -> None:
    stored = keep(agent, TRUE)
    verbs.verify(actor_for_user(users["alice"], via=Via.ADMIN), stored["id"])
    waits = agent.answer("forget_memory", id=stored["id"], reason="old")
    assert waits["outcome"] == "queued"
    agent.answer("forget_memory", verb="undo", id=waits["undo"])
    assert Proposal.objects.get().status == "stale"


def test_a_text_that_waits_is_withdrawn(agent: Agent, groups: dict[str, Group]) -> None:
    Group.objects.filter(slug="ledger").update(policy=CandidatePolicy.AGENTS)
    waits = keep(agent, TRUE)
    assert waits["outcome"] == "queued"
    agent.answer("forget_memory", verb="undo", id=waits["undo"])
    assert state(waits["id"]) == "forgotten"


def test_a_person_who_verified_it_stands_against_the_undo(agent: Agent, users: dict[str, User]) -> None:
    stored = keep(agent, TRUE)
    verbs.verify(actor_for_user(users["alice"], via=Via.ADMIN), stored["id"])
    refused = agent.error("forget_memory", verb="undo", id=stored["undo"])
    assert "has changed since: it is live and verified" in refused
    assert state(stored["id"]) == "live"


def test_a_policy_stands_against_the_undo(agent: Agent) -> None:
    stored = keep(agent, TRUE)
    Group.objects.filter(slug="ledger").update(policy=CandidatePolicy.AGENTS)
    assert "writes of agents into 'ledger' wait for a curator" in agent.error(
        "forget_memory", verb="undo", id=stored["undo"]
    )
    assert state(stored["id"]) == "live"


def test_what_others_built_on_stays(agent: Agent, other: Agent) -> None:
    stored = keep(agent, TRUE)
    keep(other, TRUE)
    assert "alice/agent has changed" in agent.error("forget_memory", verb="undo", id=stored["undo"])
    entity = keep(agent, "Age is a tool for encryption.", type="entity")
    other.answer("store_relation", subject="Backup", predicate="uses", object=entity["id"])
    assert "a relation leads to it" in agent.error("forget_memory", verb="undo", id=entity["undo"])
    assert (state(stored["id"]), state(entity["id"])) == ("live", "live")


def test_only_the_same_token_undoes_it_once_and_for_a_day(
    agent: Agent, other: Agent, users: dict[str, User], groups: dict[str, Group]
) -> None:
    stored = keep(agent, TRUE)
    twin = make_agent(users["bob"], READ, WRITE, default_group=groups["ledger"])
    for foreign in (other, twin):
        assert "No write of this token" in foreign.error("forget_memory", verb="undo", id=stored["undo"])
    changed = ("a" if stored["undo"][0] != "a" else "e") + stored["undo"][1:]
    for made_up in ("a" * 26, changed):
        assert "No write of this token" in agent.error("forget_memory", verb="undo", id=made_up)
    assert "This is not an undo id" in agent.error("forget_memory", verb="undo", id="x")
    AuditEntry.objects.update(at=timezone.now() - timedelta(hours=25))
    assert "good for 24 hours" in agent.error("forget_memory", verb="undo", id=stored["undo"])
    assert state(stored["id"]) == "live"


def test_an_undo_is_done_once_and_can_be_undone_itself(agent: Agent) -> None:
    stored = keep(agent, TRUE)
    undone = agent.answer("forget_memory", verb="undo", id=stored["undo"])
    assert "undone already" in agent.error("forget_memory", verb="undo", id=stored["undo"])
    agent.answer("forget_memory", verb="undo", id=undone["undo"])
    assert state(stored["id"]) == "live"


def test_what_writes_nothing_has_no_id(agent: Agent) -> None:
    stored = keep(agent, TRUE)
    assert "undo" not in agent.answer("forget_memory", id=stored["id"], dry_run=True)


def test_a_purge_has_no_id_and_ends_that_of_the_store(other: Agent) -> None:
    stored = keep(other, TRUE)
    purged = other.answer("forget_memory", id=stored["id"], verb="purge")
    assert "undo" not in purged
    assert "purged" in other.error("forget_memory", verb="undo", id=stored["undo"])


def test_ids_tell_nothing_of_the_log(agent: Agent) -> None:
    ids = [keep(agent, f"Gate {number} is closed at night.")["undo"] for number in range(4)]
    assert len({undo[:4] for undo in ids}) == 4  # neighbours look unlike each other
    assert all(len(undo) == 26 and undo.isalnum() for undo in ids)


def test_each_verb_of_agents_has_its_reversal() -> None:
    operations = {verb.operation for verb in offered_by(Face.AGENTS).values()} - {Operation.PURGE}
    assert operations <= set(TELLING)
