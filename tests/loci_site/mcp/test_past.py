"""Agents ask about the past: recall, inspect and get_context take the moments, and history carries its label."""

import json
from typing import Any

import pytest

from access.models import Group
from memories.models import Memory
from memories.sessions.checkpoints import save_checkpoint
from tests.loci_site.mcp.people import Agent, text_of
from tests.loci_site.mcp.test_resources_and_prompts import read, refused
from tests.memories.builders import NOW, day, row

pytestmark = pytest.mark.django_db
STORED = {"created_at": day(-10), "valid_from": day(-20)}
ENDED = {"valid_to": day(-5), "valid_to_known_at": day(-5)}
BEFORE, AFTER = "2026-04-24", "2026-04-29T12:00:00Z"
OLD = "superseded: was true until 2026-04-26"


@pytest.fixture
def ledger(groups: dict[str, Group], monkeypatch: pytest.MonkeyPatch) -> Group:
    """Stop the clock at NOW."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    return groups["ledger"]


@pytest.fixture
def chain(ledger: Group) -> tuple[Memory, Memory]:
    old = row(ledger, "The harbour master is Jonas.", **STORED, **ENDED, state="superseded")
    new = row(
        ledger, "The harbour master is Ebba.", created_at=day(-5), valid_from=day(-5), root=old, version=2
    )
    Memory.objects.filter(pk=old.pk).update(superseded_by=new)
    return old, new


def test_an_agent_inspects_the_version_of_then(alice: Agent, chain: tuple[Memory, Memory]) -> None:
    old, new = chain
    for moments in ({"as_of": BEFORE}, {"known_at": BEFORE}, {"as_of": BEFORE, "known_at": AFTER}):
        said = alice.answer("memory_inspect", id=str(new.id), where=moments)
        assert (said["memory"]["id"], said["memory"]["label"]) == (str(old.id), OLD)
        assert f'trust="{OLD}"' in said["memory"]["content"]
        assert [version.get("label", "") for version in said["versions"]] == [OLD, ""]
        assert said["versions"][1]["known_from"] == "2026-04-26T12:00Z"
    assert alice.answer("memory_inspect", id=str(old.id), where={"as_of": AFTER})["memory"]["id"] == str(
        new.id
    )


def test_an_agent_reads_the_context_of_then(alice: Agent, chain: tuple[Memory, Memory]) -> None:
    now, then = alice.call("get_context"), alice.call("get_context", where={"as_of": BEFORE})
    assert ("Ebba" in text_of(now), "Jonas" in text_of(now)) == (True, False)
    assert ("Ebba" in text_of(then), "Jonas" in text_of(then)) == (False, True)
    assert f'trust="{OLD}"' in text_of(then)
    assert "as Loci knew them at 2026-04-24" in text_of(alice.call("get_context", where={"known_at": BEFORE}))


def test_an_agent_reads_its_threads_checkpoint(alice: Agent, ledger: Group) -> None:
    for thread in ("build", "ui"):
        save_checkpoint(alice.actor, group="ledger", thread=thread, state=f"{thread} is open")
    assert "build is open" in alice.answer("get_context", thread="build")["text"]
    newest = alice.answer("get_context")["text"]
    assert "ui is open" in newest
    assert "There are also checkpoints of: 'build' (2026-05-01)." in newest


@pytest.mark.parametrize("tool", ["recall_memory", "memory_inspect", "get_context"])
@pytest.mark.parametrize(
    ("moments", "message"),
    [
        ({"known_at": "2026-05-02"}, "known_at is in the future (2026-05-02 00:00 UTC)"),
        ({"as_of": "last week"}, "'last week' in as_of is not a date."),
    ],
)
def test_a_wrong_moment_is_named(
    alice: Agent, chain: tuple[Memory, Memory], tool: str, moments: dict[str, str], message: str
) -> None:
    arguments: dict[str, Any] = {
        "recall_memory": {"query": "harbour"},
        "memory_inspect": {"id": str(chain[0].id)},
        "get_context": {},
    }[tool]
    assert alice.error(tool, **arguments, where=moments).startswith(message)


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        (ENDED | {"state": "superseded"}, OLD),
        ({"state": "retracted", "retired_at": day(-5)}, "retracted since 2026-04-26: it was wrong"),
        (
            {"state": "expired", "expires_at": day(-5)},
            "expired since 2026-04-26: its time to live ended",
        ),
    ],
)
def test_history_comes_labelled_or_not_at_all(
    alice: Agent, ledger: Group, fields: dict[str, Any], label: str
) -> None:
    memory = row(ledger, "The harbour master is Jonas.", **STORED, **fields)
    inspected = alice.answer("memory_inspect", id=str(memory.id))["memory"]
    assert f'trust="{label}"' in inspected["content"]
    assert inspected["label"] == label
    [recalled] = alice.answer("recall_memory", ids=[str(memory.id)], where={"known_at": BEFORE})["results"]
    assert recalled["label"] == label
    assert "Jonas" not in json.dumps(alice.answer("recall_memory", ids=[str(memory.id)]))
    assert "so it cannot be read here" in refused(alice, f"loci://memories/{memory.id}")[1]
    assert "Jonas" not in read(alice, "loci://groups/ledger/context")


def test_a_resource_says_that_its_time_is_over(alice: Agent, ledger: Group) -> None:
    memory = row(ledger, "The harbour master is Jonas.", **STORED, **ENDED)
    assert 'trust="ended: was true until 2026-04-26"' in read(alice, f"loci://memories/{memory.id}")
