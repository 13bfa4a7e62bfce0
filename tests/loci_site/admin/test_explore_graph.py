"""The relation graph in the admin: what it draws, and merging two entities and undoing it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

import loci_site
from access.groups.members import set_member
from access.models import Group
from access.tokens import operator
from memories.entities.store_relation import RelationDraft, store_relation
from memories.models import Memory
from tests.loci_site.admin.conftest import Remember, browser_of
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
    assert edges(limit="1") == {str(two.id)}
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


@pytest.mark.parametrize(
    ("field", "value"), [("depth", "9"), ("depth", "x"), ("limit", "0"), ("limit", "301")]
)
def test_a_graph_has_limits(owner: Client, remember: Remember, field: str, value: Any) -> None:
    memory = remember("something")
    answer = get(owner, "graph/around/", status=422, of=str(memory.id), **{field: value})
    assert json.loads(answer.content)["field"] == field
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


def merge(client: Client, what: str, one: Memory, other: Memory, *, status: int = 200) -> dict[str, Any]:
    body = {"what": what, "from": str(one.id), "into": str(other.id)}
    answer = client.post("/admin/graph/merge/", json.dumps(body), content_type="application/json")
    assert answer.status_code == status, answer.content
    told: dict[str, Any] = json.loads(answer.content)
    return told


def test_two_entities_are_merged_and_taken_apart(owner: Client, alice: User, ledger: Group) -> None:
    ines, agnes = (
        relate(alice, "Ines", "maintains", "Ledger").subject,
        relate(alice, "Agnes", "likes", "Tea").subject,
    )
    preview = merge(owner, "preview", agnes, ines)
    assert not preview["done"]
    assert preview["consequences"]
    assert Memory.objects.get(pk=agnes.pk).state == "live"
    done = merge(owner, "merge", agnes, ines)
    assert (done["done"], done["survivor"]["label"]) == (True, "Ines")
    assert Memory.objects.get(pk=agnes.pk).state == "merged"
    around = json.loads(get(owner, "graph/around/", of=str(ines.id)).content)
    assert {edge["label"] for edge in around["edges"]} == {"maintains", "likes"}
    merge(owner, "undo", agnes, ines)
    assert Memory.objects.get(pk=agnes.pk).state == "live"
    around = json.loads(get(owner, "graph/around/", of=str(ines.id)).content)
    assert {edge["label"] for edge in around["edges"]} == {"maintains"}


def test_who_may_merge_and_what_is_refused(
    owner: Client, member: Client, stranger: Client, alice: User, bob: User, ledger: Group
) -> None:
    one, other = (
        relate(alice, "Ines", "maintains", "Ledger").subject,
        relate(alice, "Agnes", "likes", "Tea").subject,
    )
    assert merge(stranger, "merge", one, other, status=404 if one.scope == "group" else 403)["message"]
    set_member(operator(), ledger, user=bob, role="contributor")
    assert "curate" in merge(browser_of(bob), "merge", one, other, status=403)["message"]
    assert merge(owner, "burn", one, other, status=422)["field"] == "what"
    assert merge(owner, "merge", one, one, status=409)["message"]
    for body in ("", "[1]", '{"what": 5}', "{"):
        answer = owner.post("/admin/graph/merge/", body, content_type="application/json")
        assert answer.status_code == 422
    assert owner.get("/admin/graph/merge/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post("/admin/graph/merge/", "{}", content_type="application/json").status_code == 403
    assert set(Memory.objects.filter(type="entity").values_list("state", flat=True)) == {"live"}


def test_the_vendored_layout_has_the_versions_of_its_lock_and_their_licence() -> None:
    folder = Path(loci_site.__file__).parent / "static" / "loci" / "vendor"
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    code = (folder / "d3-force.js").read_text()
    versions = dict(re.findall(r"// https://d3js.org/(d3-\w+)/ v([\d.]+) Copyright", code))
    assert versions == {name.split("/")[1]: each["version"] for name, each in locked.items() if name}
    assert "Permission to use, copy, modify, and/or distribute this software" in code
    assert not re.search(r"\beval\(|new Function\(", code)
