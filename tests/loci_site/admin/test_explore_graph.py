"""The relation graph in the admin: what it draws."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

import loci_site
from access.models import Group
from memories.entities.store_relation import RelationDraft, store_relation
from memories.models import Memory
from tests.loci_site.admin.conftest import Remember
from tests.loci_site.admin.exploring import get, relate
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def on_map(client: Client, *, group: str = "ledger", **asked: Any) -> Any:
    return get(client, f"groups/{group}/map/", **asked)


def test_the_graph_has_the_relations_of_the_address(
    owner: Client, alice: User, ledger: Group, garden: Group
) -> None:
    one = relate(alice, "Ines", "maintains", "Ledger")
    two = relate(alice, "Ledger", "uses", "PostgreSQL")
    other = relate(alice, "Rose", "needs", "Sun", group="garden")

    def edges(**asked: Any) -> set[str]:
        return {edge["id"] for edge in on_map(owner, **asked).context["data"]["edges"]}

    assert edges() == {str(one.id), str(two.id)}
    assert edges(group="garden") == {str(other.id)}
    assert edges(predicate="uses") == {str(two.id)}
    ines = str(one.subject.id)
    assert edges(of=ines) == {str(one.id)}
    assert edges(of=ines, depth="2") == {str(one.id), str(two.id)}
    shown = on_map(owner, of=ines).context
    assert {(node["label"], node["kind"], node["main"]) for node in shown["data"]["nodes"]} == {
        ("Ines", "entity", True),
        ("Ledger", "entity", False),
    }
    assert json.loads(get(owner, "graph/around/", of=ines).content) == shown["data"]
    assert [name for name, _ in on_map(owner).context["predicates"]] == ["uses", "maintains"]


def test_the_map_begins_with_memories_and_entities(owner: Client, alice: User, remember: Remember) -> None:
    relation = relate(alice, "Ines", "maintains", "Ledger")
    named = remember("Ines is on holiday in May.")
    relate(alice, "Tea", "is", "Green")
    remember("Inessa plays chess.")
    hidden = remember("Ines has a secret.")
    Memory.objects.filter(pk=hidden.pk).update(trust="quarantined")
    data = on_map(owner).context["data"]
    assert {node["label"] for node in data["nodes"]} == {"Ines", "Ledger", "Tea", "Green", named.content}
    mentions = [(edge["from"], edge["to"]) for edge in data["edges"] if edge["kind"] == "mention"]
    assert mentions == [(str(named.id), str(relation.subject.id))]
    assert named.content not in str(on_map(owner, predicate="maintains").context["data"])


def test_the_table_says_the_same(owner: Client, alice: User, ledger: Group) -> None:
    relate(alice, "Ines", "maintains", "Ledger")
    table = on_map(owner).content.decode().split('id="graph-table"', 1)[1]
    assert [word in table for word in ("Ines", "maintains", "Ledger")] == [True] * 3


@pytest.mark.parametrize("depth", ["9", "x"])
def test_a_graph_has_limits(owner: Client, remember: Remember, depth: str) -> None:
    memory = remember("something")
    answer = get(owner, "graph/around/", status=422, of=str(memory.id), depth=depth)
    assert json.loads(answer.content)["field"] == "depth"
    assert json.loads(get(owner, "graph/around/", status=422).content)["field"] == "of"


def test_the_memories_behind_a_node_are_those_that_prove_or_name_it(
    owner: Client, member: Client, alice: User, ledger: Group, garden: Group, remember: Remember
) -> None:
    proof = remember("The rota has her name on every Monday.")
    named = remember("Ines is on holiday in May.")
    remember("Inessa plays chess.")
    elsewhere = remember("Ines waters the roses.", group="garden")
    draft = RelationDraft("Ines", "maintains", "Ledger", group="ledger", evidence=(str(proof.id),))
    ines = store_relation(person(alice), draft).relation.subject

    def behind(client: Client) -> dict[str, str]:
        answer = json.loads(get(client, "graph/around/", of=str(ines.id), memories="1").content)
        assert {edge["to"] for edge in answer["edges"]} == {str(ines.id)}
        assert {node["id"] for node in answer["nodes"]} == {
            str(ines.id),
            *(edge["from"] for edge in answer["edges"]),
        }
        return {edge["from"]: edge["label"] for edge in answer["edges"]}

    ours = {str(proof.id): "evidence", str(named.id): "mention"}
    assert behind(owner) == ours | {str(elsewhere.id): "mention"}
    assert behind(member) == ours  # who does not belong to garden


def test_the_vendored_layout_has_the_versions_of_its_lock_and_their_licence() -> None:
    folder = Path(loci_site.__file__).parent / "static" / "loci" / "vendor"
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    code = (folder / "d3-force.js").read_text()
    versions = dict(re.findall(r"// https://d3js.org/(d3-\w+)/ v([\d.]+) Copyright", code))
    assert versions == {name.split("/")[1]: each["version"] for name, each in locked.items() if name}
    assert "Permission to use, copy, modify, and/or distribute this software" in code
    assert not re.search(r"\beval\(|new Function\(", code)
