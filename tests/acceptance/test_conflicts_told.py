"""Whoever reads a memory that another contradicts is told so, with both values; whoever stores one, what to do."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.lifecycle.verbs import retract
from memories.models import Link, Memory
from memories.models.short_id import short_id
from tests.acceptance.house import House, command
from tests.memories.builders import kept

pytestmark = [pytest.mark.django_db, pytest.mark.model]
OLD, NEW = "The deploy port of Heron is 8081.", "The deploy port of Heron is 8082."
QUESTION = "which deploy port has Heron?"


@pytest.fixture
def house(alice: User, ledger: Group) -> House:
    return House.of(alice, groups=[ledger])


@pytest.fixture
def pair(house: House) -> tuple[Memory, Memory]:
    """Two memories in an open conflict."""
    return tuple(kept(house.person, text, group="ledger", scope="group") for text in (OLD, NEW))  # type: ignore[return-value]


def conflicts(items: list[dict[str, Any]]) -> dict[str, list[dict[str, str]]]:
    return {item["id"]: item.get("conflicts", []) for item in items}


def expected(pair: tuple[Memory, Memory]) -> dict[str, list[dict[str, str]]]:
    old, new = (str(memory.id) for memory in pair)
    return {
        old: [{"id": new, "own": "8081", "other": "8082"}],
        new: [{"id": old, "own": "8082", "other": "8081"}],
    }


def ids_of(found: dict[str, list[dict[str, str]]]) -> dict[str, list[dict[str, str]]]:
    """What the reader of a tool's text takes from it; the values are in the label."""
    return {memory: [{"id": each["id"]} for each in told] for memory, told in found.items()}


def test_recall_names_the_other_memory_and_both_values(house: House, pair: tuple[Memory, Memory]) -> None:
    _, rest = house.rest("post", "/recall", {"query": QUESTION, "group": "ledger"})
    assert conflicts(json.loads(rest)["results"]) == expected(pair)
    found = house.fields("recall_memory", query=QUESTION, group="ledger")["results"]
    assert conflicts(found) == ids_of(expected(pair))
    note = f'trust="in conflict with {short_id(pair[1].id)}: 8081 / 8082"'
    assert any(note in item["text"] for item in found)
    by_id = house.tool("recall_memory", ids=[str(pair[0].id)])
    assert note in by_id.content[0].text
    told = command("recall", QUESTION, "--group", "ledger")
    assert f"in conflict with {short_id(pair[1].id)}: 8081 / 8082" in told
    as_json = json.loads(command("recall", QUESTION, "--group", "ledger", "--json"))
    assert conflicts(as_json["results"]) == expected(pair)


def test_the_context_pack_names_them_too(house: House, pair: tuple[Memory, Memory]) -> None:
    told = [{"memory": memory, **each} for memory, [each] in expected(pair).items()]
    text = house.tool_text("get_context", group="ledger")
    for each in told:
        note = f'trust="in conflict with {each["id"][-8:]}: {each["own"]} / {each["other"]}"'
        assert re.search(rf"<memory id={each['memory'][-8:]} \S+ \S+ {re.escape(note)}", text)
    _, rest = house.rest("get", "/context?group=ledger")
    assert sorted(json.loads(rest)["conflicts"], key=lambda each: each["own"]) == told


def test_a_settled_conflict_is_not_told(house: House, pair: tuple[Memory, Memory]) -> None:
    Link.objects.update(status="dismissed")
    answer = house.tool("recall_memory", query=QUESTION, group="ledger")
    assert "in conflict" not in answer.content[0].text


def test_a_withdrawn_or_hidden_memory_is_not_named(
    house: House, pair: tuple[Memory, Memory], ledger: Group
) -> None:
    Memory.objects.filter(key=pair[1].key).update(trust="quarantined")
    assert "in conflict" not in house.tool_text("recall_memory", query=QUESTION, group="ledger")
    Memory.objects.filter(key=pair[1].key).update(trust="active", group=Group.objects.create(slug="apart"))
    assert "in conflict" not in house.tool_text("recall_memory", query=QUESTION, group="ledger")
    Memory.objects.filter(key=pair[1].key).update(group=ledger)
    retract(house.person, pair[1].id, reason="a typo")
    assert "in conflict" not in house.tool_text("recall_memory", query=QUESTION, group="ledger")


def test_a_question_about_the_past_has_no_conflicts_of_today(
    house: House, pair: tuple[Memory, Memory]
) -> None:
    moment = pair[1].created_at.isoformat()
    told = house.tool_text("recall_memory", query=QUESTION, group="ledger", where={"known_at": moment})
    assert ("8081" in told, "in conflict" in told) == (True, False)


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        (OLD, NEW, "supersede"),
        ("Heron uses MySQL.", "Heron does not use MySQL.", "retract"),
        ("Heron uses MySQL for orders.", "Orders of Heron are kept in MySQL.", "nothing"),
    ],
)
def test_a_store_names_what_to_do(house: House, old: str, new: str, step: str) -> None:
    first = kept(house.person, old, group="ledger", scope="group")
    body = {"content": new, "group": "ledger", "scope": "group"}
    [near] = house.tool("store_memory", **body).structured_content["near"]
    assert (near["id"], near["next"]) == (str(first.id), step)
    Memory.objects.filter(content=new).delete()
    _, rest = house.rest("post", "/memories", body)
    assert [each["next"] for each in json.loads(rest)["near"]] == [step]
    Memory.objects.filter(content=new).delete()
    told = command("remember", new, "--group", "ledger", "--scope", "group")
    advice = {
        "supersede": f"store the text again with --supersedes {first.id}",
        "retract": f"loci memory retract {first.id}",
    }
    assert [each in told for each in advice.values()] == [each == step for each in advice]


def test_what_is_superseded_needs_nothing_more(house: House) -> None:
    first = kept(house.person, OLD, group="ledger", scope="group")
    stored = house.tool("store_memory", content=NEW, group="ledger", supersedes=str(first.id))
    assert [each["next"] for each in stored.structured_content.get("near", [])] in ([], ["nothing"])


def test_doing_as_told_ends_the_conflict(house: House, pair: tuple[Memory, Memory]) -> None:
    house.tool("store_memory", content=NEW, group="ledger", scope="group", supersedes=str(pair[0].id))
    told = house.tool_text("recall_memory", query=QUESTION, group="ledger")
    assert ("8082" in told, "in conflict" in told) == (True, False)


def test_an_edited_memory_that_states_something_else_has_no_conflict(
    house: House, pair: tuple[Memory, Memory]
) -> None:
    house.rest("patch", f"/memories/{pair[0].id}", {"content": "Heron is deployed by the platform team."})
    told = house.tool_text("recall_memory", query=QUESTION, group="ledger")
    assert ("8082" in told, "in conflict" in told) == (True, False)
