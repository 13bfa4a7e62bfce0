"""Merging entities moves their relations, names, evidence and links; restoring moves back what is unchanged."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import Group
from memories.entities.statements import statements_around
from memories.entities.store_relation import RelationDraft, find_entity, store_relation
from memories.lifecycle.verbs import merge, restore
from memories.models import Link, LinkKind, Memory
from relations.models import EntityAlias, Relation, RelationEvidence
from tests.memories.builders import fresh, kept, row
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def ties() -> dict[str, list[tuple[Any, ...]]]:
    """The rows that refer to roots."""
    return {
        "relations": sorted(
            Relation.objects.values_list("key", "subject", "predicate", "object", "retired_at")
        ),
        "evidence": sorted(RelationEvidence.objects.values_list("pk", "relation", "memory")),
        "names": sorted(EntityAlias.objects.values_list("key", "memory", "fold")),
        "links": sorted(Link.objects.values_list("key", "kind", "source", "target", "status")),
    }


@pytest.fixture
def people(alice: User, ledger: Group) -> dict[str, Memory]:
    """Otto, who is known twice, with relations, names, evidence and links on both."""

    def tie(subject: str, predicate: str, object_: str, *evidence: Memory) -> None:
        said = RelationDraft(
            subject, predicate, object_, group="ledger", evidence=tuple(str(e.id) for e in evidence)
        )
        store_relation(person(alice), said)

    seen, told = (
        kept(person(alice), text, group="ledger", type="episodic")
        for text in ("I saw Otto.", "Anna told of him.")
    )
    tie("Otto", "owns", "Bicycle shop", seen)
    tie("Otto Berg", "owns", "Bicycle shop", told)
    tie("Otto", "likes", "Tandems")
    tie("Anna", "knows", "Otto")
    tie("Otto", "is", "Otto Berg")
    found = {name: find_entity(person(alice), ledger, name) for name in ("Otto", "Otto Berg", "Anna")}
    people = {name: memory for name, memory in found.items() if memory is not None}
    Link.objects.create(kind=LinkKind.DUPLICATE, source=people["Otto"], target=people["Otto Berg"])
    Link.objects.create(kind=LinkKind.CONFLICT, source=people["Anna"], target=people["Otto"])
    return people


def test_merging_entities_moves_everything_and_restoring_moves_it_back(
    alice: User, ledger: Group, people: dict[str, Memory]
) -> None:
    otto, berg = people["Otto"], people["Otto Berg"]
    before = ties()
    merge(person(alice), otto.id, berg.id)

    shown = {
        (s.subject.content, s.relation.predicate, s.object.content)
        for s in statements_around(person(alice), berg)
    }
    assert shown == {
        ("Otto Berg", "owns", "Bicycle shop"), ("Otto Berg", "likes", "Tandems"), ("Anna", "knows", "Otto Berg"),
    }  # fmt: skip
    owns = Relation.objects.get(predicate="owns", retired_at=None)
    assert sorted(e.memory.content for e in owns.evidence.all()) == ["Anna told of him.", "I saw Otto."]
    assert find_entity(person(alice), ledger, "otto") == berg
    assert sorted(Link.objects.values_list("kind", "source", "target", "status")) == [
        ("conflict", people["Anna"].pk, berg.pk, "open"), ("duplicate", otto.pk, berg.pk, "settled"),
    ]  # fmt: skip

    done = restore(person(alice), otto.id)
    assert ties() == before
    assert not any("stays" in said for said in done.consequences)
    assert find_entity(person(alice), ledger, "otto") == fresh(otto)


def test_what_was_done_to_a_tie_since_stays(alice: User, ledger: Group, people: dict[str, Memory]) -> None:
    otto, berg, anna = people["Otto"], people["Otto Berg"], people["Anna"]
    merge(person(alice), otto.id, berg.id)
    likes = Relation.objects.get(predicate="likes")
    Relation.objects.filter(pk=likes.pk).update(subject=anna)
    done = restore(person(alice), otto.id)
    assert Relation.objects.get(predicate="likes").subject_id == anna.pk
    assert f"{likes.id} stays as it is: It has changed since." in done.consequences
    assert Relation.objects.get(predicate="knows").object_id == otto.pk


def test_a_place_that_was_taken_since_is_not_fought_for(
    alice: User, ledger: Group, people: dict[str, Memory]
) -> None:
    otto, berg = people["Otto"], people["Otto Berg"]
    merge(person(alice), otto.id, berg.id)
    tandems = Relation.objects.get(predicate="likes").object
    Relation.objects.create(group=ledger, subject=otto, predicate="likes", object=tandems)
    done = restore(person(alice), otto.id)
    assert sorted(Relation.objects.filter(predicate="likes").values_list("subject", flat=True)) == [
        otto.pk,
        berg.pk,
    ]
    assert sum("stays as it is" in said for said in done.consequences) == 1


def test_an_entity_with_many_relations_merges_in_few_statements(alice: User, ledger: Group) -> None:
    one, two = (row(ledger, name, type="entity") for name in ("Ada", "Ada L."))
    others = [row(ledger, f"Thing {n}", type="entity") for n in range(60)]
    Relation.objects.bulk_create(
        [Relation(group=ledger, subject=one, predicate="made", object=other) for other in others]
    )
    with CaptureQueriesContext(connection) as asked:
        merge(person(alice), one.id, two.id)
    assert Relation.objects.filter(subject=two).count() == 60
    assert len(asked) <= 70
