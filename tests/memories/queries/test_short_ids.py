"""Short ids: the last characters of an id name a memory among those that the caller may see."""

from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection

from access.actor import Actor
from access.errors import InvalidInput, NotFound
from access.models import Group
from memories.browse.inspection import inspect_memory
from memories.browse.listing import list_log
from memories.browse.suggest import MatchKind, suggest
from memories.draft import Draft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.verbs import forget, merge, pin, retract, supersede
from memories.models import Memory
from memories.models.short_id import id_ends_with, short_id
from memories.queries.versions import find_memory
from memories.recall import RecallRequest, recall
from memories.store import store
from tests.memories.builders import kept, row
from tests.people import agent, person

pytestmark = pytest.mark.django_db
FIRST = UUID("01a20634-d35a-7404-8651-fed2077fa3b6")
SECOND = UUID("01a20634-d35a-7404-8652-fee2077fa3b6")  # ends like the first


@pytest.fixture
def actor(alice: User) -> Actor:
    return person(alice)


def test_a_short_id_is_random_and_finds_its_memory(actor: Actor, ledger: Group) -> None:
    made = [row(ledger, f"text {n}") for n in range(20)]
    assert len({short_id(each.id) for each in made}) == 20
    for each in made:
        assert find_memory(actor, short_id(each.id)) == each
        assert find_memory(actor, f"loci://memories/{str(each.id)[-12:].upper()}") == each


def test_an_ambiguous_one_asks_for_more_characters(actor: Actor, ledger: Group) -> None:
    first, _ = row(ledger, "first", id=FIRST), row(ledger, "second", id=SECOND)
    with pytest.raises(InvalidInput) as error:
        find_memory(actor, "077fa3b6", field="by")
    assert str(error.value) == (
        "'077fa3b6' is the end of 2 ids. Pass more of the id's last characters: fed2077fa3b6, fee2077fa3b6."
    )
    assert error.value.field == "by"
    assert find_memory(actor, "fed2077fa3b6") == first


def test_only_what_the_caller_may_see_counts(
    alice: User, bob: User, charlie: User, ledger: Group, garden: Group
) -> None:
    ours = row(ledger, "ours", id=FIRST, scope="group")
    row(garden, "theirs", id=SECOND, scope="group")
    assert find_memory(agent(bob), "077fa3b6") == ours
    with pytest.raises(NotFound):
        find_memory(agent(charlie), "077fa3b6")


@pytest.mark.parametrize("wrong", ["77fa3b6", "077fa3bg", "", "01a20634-d35a-7404-8651-fed2077fa3b6a"])
def test_other_words_are_no_id(actor: Actor, ledger: Group, wrong: str) -> None:
    row(ledger, "first", id=FIRST)
    with pytest.raises(InvalidInput, match="is not a memory id"):
        find_memory(actor, wrong)


@pytest.mark.sqlite(reason="its planner's choice of an index")
def test_an_index_finds_it(ledger: Group) -> None:
    sql, params = Memory.objects.filter(id_ends_with("077fa3b6")).order_by().query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        plan = " ".join(step[-1] for step in cursor.fetchall())
    assert "memory_short_id" in plan


@pytest.mark.model
def test_every_service_takes_one(actor: Actor, ledger: Group) -> None:
    def text(content: str) -> Memory:
        return kept(actor, content, group="ledger")

    a, b, c = text("The deploy port is 8081."), text("Anna owns the cellar."), text("Ships sail at noon.")
    short = short_id(a.id)
    assert inspect_memory(actor, short).memory == a
    assert [item.memory for item in recall(actor, RecallRequest(ids=(short, "0123abcd"))).items] == [a]
    assert recall(actor, RecallRequest(ids=("0123abcd",))).missing == ("0123abcd",)
    assert pin(actor, short).id == a.id
    assert [entry.memory_id for entry in list_log(actor, memory=short).rows] == [a.id, a.id]
    [found] = suggest(actor, short)
    assert (found.memory, found.how) == (a, MatchKind.ID)
    related = store_relation(actor, RelationDraft(short, "part_of", short_id(b.id), group="ledger"))
    assert (related.subject, related.object) == (a, b)
    new = store(actor, Draft("The deploy port is 8082.", supersedes=short_id(a.id)))
    assert new.superseded == a.id
    merge(actor, short_id(b.id), short_id(c.id))
    d, e = text("Lamps hang low."), text("Ropes are wet.")
    supersede(actor, short_id(d.id), short_id(e.id))
    f = text("Charts are old.")
    assert retract(actor, short_id(f.id), successor=short_id(e.id)).successor == e.id
    assert forget(actor, short_id(c.id)).id == c.id


@pytest.mark.model
def test_eight_digits_that_are_no_id_are_a_name(actor: Actor, ledger: Group) -> None:
    related = store_relation(actor, RelationDraft("20261122", "day_of", "launch", group="ledger"))
    assert related.subject.content == "20261122"
