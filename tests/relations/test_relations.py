"""Entities by name, relations between them, and walks that reveal nothing hidden."""

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from access.audit import collecting_rows
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry, Group
from memories.browse.inspection import inspect_memory
from memories.draft import EditDraft
from memories.entities import store_relation as entities
from memories.entities.statements import statements_around, visible_statements
from memories.entities.store_relation import RelationDraft, RelationResult, find_entity, store_relation
from memories.lifecycle.edit import edit
from memories.lifecycle.undo import large, undo_id_of, undo_write
from memories.lifecycle.undo.rows import rows_of
from memories.lifecycle.verbs import forget, reject
from memories.models import Memory
from relations import walk
from relations.models import EntityAlias, Relation, RelationEvidence
from relations.walk import walk_relations
from storage.ids import new_id
from tests.memories.builders import day, kept, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def tie(user: User, subject: str, predicate: str, object_: str, **fields: object) -> RelationResult:
    fields = {"group": "ledger"} | fields
    return store_relation(person(user), RelationDraft(subject, predicate, object_, **fields))  # type: ignore[arg-type]


def test_unknown_names_become_entities_and_known_ones_are_found(alice: User, ledger: Group) -> None:
    first = tie(alice, "Anna", "Works on!", "Ledger")
    assert (first.outcome, first.entities_created) == ("created", ("Anna", "Ledger"))
    assert first.relation.predicate == "works_on"
    assert {m.type for m in Memory.objects.all()} == {"entity"}
    second = tie(alice, "ANNA ", "owns", " ledger")
    assert second.entities_created == ()
    assert (second.subject, second.object) == (first.subject, first.object)
    assert find_entity(person(alice), ledger, "anna") == first.subject
    assert find_entity(person(alice), ledger, "Berta") is None


def test_an_entity_is_found_by_the_name_its_text_begins_with(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), "Anna: leads the data team", group="ledger", type="entity")
    assert find_entity(person(alice), ledger, "anna") == memory
    newer = kept(person(alice), "Anna: leads two teams", type="entity", supersedes=memory.id)
    assert find_entity(person(alice), ledger, "Anna") == newer
    assert tie(alice, str(memory.id), "owns", "Ledger").subject == newer


def test_a_relation_said_again_is_reinforced_once_per_author_and_day(
    alice: User, bob: User, ledger: Group
) -> None:
    with time_machine.travel("2026-05-01 12:00:00+00:00", tick=False) as clock:
        first = tie(alice, "Anna", "owns", "Ledger")
        assert tie(alice, "Anna", "owns", "Ledger").why.startswith("you confirmed this today")
        edit(person(alice), first.subject.id, EditDraft(content="Anna: leads the data team"))
        said = [tie(user, "Anna", "owns", "Ledger").relation.confidence for user in (alice, bob, bob)]
        assert said == pytest.approx([0.7, 0.8, 0.8])
        clock.move_to("2026-05-02 12:00:00+00:00")
        assert tie(alice, "Anna", "owns", "Ledger").relation.confidence == pytest.approx(0.9)
    assert Relation.objects.count() == 1
    assert AuditEntry.objects.filter(operation="relate").count() == 6


def test_a_relation_ends_once_and_can_begin_again(alice: User, ledger: Group) -> None:
    first = tie(alice, "Anna", "owns", "Ledger", valid_from=day(-20))
    ended = tie(alice, "Anna", "owns", "Ledger", valid_to=day(-10))
    assert (ended.outcome, ended.relation.key, ended.relation.valid_to) == (
        "superseded",
        first.relation.key,
        day(-10),
    )
    assert ended.relation.valid_to_known_at is not None
    again = tie(alice, "Anna", "owns", "Ledger", valid_from=day(-5))
    assert (again.outcome, Relation.objects.count()) == ("created", 2)
    roots = [first.subject.root_key]
    edges = {
        when: [e.relation.key for e in walk_relations(roots, groups=None, may_see=None, at=day(when))]
        for when in (-15, -7, -1)
    }
    assert edges == {-15: [first.relation.key], -7: [], -1: [again.relation.key]}


def test_an_end_before_the_beginning_is_refused(alice: User, ledger: Group) -> None:
    tie(alice, "Anna", "owns", "Ledger", valid_from=day(-5))
    with pytest.raises(InvalidInput) as error:
        tie(alice, "Anna", "owns", "Ledger", valid_to=day(-9))
    assert error.value.field == "valid_to"


def test_the_same_past_relation_is_stored_once(alice: User, ledger: Group) -> None:
    for _ in range(2):
        tie(alice, "Anna", "owned", "Ledger", valid_from=day(-9), valid_to=day(-5))
    assert Relation.objects.count() == 1


def test_evidence_is_kept_by_its_root(alice: User, ledger: Group) -> None:
    said = kept(person(alice), "Anna took the ledger over in May.", group="ledger")
    stored = tie(alice, "Anna", "owns", "Ledger", evidence=(str(said.id), str(said.id)))
    assert [e.memory for e in RelationEvidence.objects.filter(relation=stored.relation)] == [said]
    logged = AuditEntry.objects.get(operation="relate")
    assert logged.payload_row.payload["evidence"] == [str(said.id)] * 2


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (RelationDraft("Anna", " ?! ", "Ledger", group="ledger"), "predicate"),
        (RelationDraft(" ", "owns", "Ledger", group="ledger"), "subject"),
        (RelationDraft("Anna", "owns", "", group="ledger"), "object"),
        (RelationDraft("Anna", "owns", "anna", group="ledger"), "object"),
        (RelationDraft("Anna", "owns", "Ledger", group="ledger", confidence=7), "confidence"),
    ],
)
def test_a_wrong_relation_is_refused_whole(
    alice: User, ledger: Group, draft: RelationDraft, field: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        store_relation(person(alice), draft)
    assert error.value.field == field
    assert (Memory.objects.count(), Relation.objects.count()) == (0, 0)


def test_unknown_ids_and_missing_rights_write_nothing(alice: User, ledger: Group, bob: User) -> None:
    with pytest.raises(NotFound):
        tie(alice, "Anna", "owns", str(new_id()))
    with pytest.raises(NotPermitted):
        store_relation(agent(bob, scopes=["read"]), RelationDraft("Anna", "owns", "Ledger", group="ledger"))
    assert Memory.objects.count() == 0


def test_a_rejected_entity_is_no_end(alice: User, ledger: Group) -> None:
    first = tie(alice, "Anna", "owns", "Ledger")
    reject(person(alice), first.subject.id)
    Relation.objects.all().delete()
    first.subject.aliases.all().delete()
    with pytest.raises(Conflict, match="'subject' repeats a withdrawn text"):
        tie(alice, "Anna", "owns", "Ledger")
    assert Relation.objects.count() == 0


def test_names_are_embedded_before_the_transaction_begins(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    depths = []
    prepare = entities.prepare_store

    def noted(*args: object) -> object:
        depths.append(len(connection.savepoint_ids))
        return prepare(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(entities, "prepare_store", noted)
    outside = len(connection.savepoint_ids)
    tie(alice, "Anna", "owns", "Ledger")
    assert depths == [outside, outside]


# Walks


@pytest.fixture
def ring(ledger: Group) -> list[Memory]:
    """Four entities, each related to the next, the last to the first."""
    ends = [row(ledger, f"e{n}", type="entity") for n in range(4)]
    for n in range(4):
        Relation.objects.create(group=ledger, subject=ends[n], predicate="next", object=ends[(n + 1) % 4])
    return ends


def test_a_walk_goes_as_deep_as_asked_and_ends_in_a_cycle(ring: list[Memory]) -> None:
    start = [ring[0].key]
    assert [e.depth for e in walk_relations(start, groups=None, may_see=None)] == [1, 1]
    assert [e.depth for e in walk_relations(start, groups=None, may_see=None, depth=2)] == [1, 1, 2, 2]
    assert len(walk_relations(start, groups=None, may_see=None, depth=4)) == 4
    with CaptureQueriesContext(connection) as queries:
        walk_relations(start, groups=None, may_see=None, depth=99)
    assert len(queries) <= 4


def test_a_walk_stops_at_its_limit_with_the_surest_first(ring: list[Memory]) -> None:
    Relation.objects.filter(subject=ring[0]).update(confidence=0.9)
    edges = walk_relations([ring[0].key], groups=None, may_see=None, depth=3, limit=1)
    assert [e.relation.subject_id for e in edges] == [ring[0].key]


def test_a_walk_stays_in_its_groups(ring: list[Memory], garden: Group) -> None:
    assert walk_relations([ring[0].key], groups=frozenset({garden.key}), may_see=None, depth=3) == []


def test_an_end_that_one_may_not_see_is_not_shown(
    alice: User, ledger: Group, garden: Group, bob: User
) -> None:
    inside, hidden = row(ledger, "inside", type="entity"), row(garden, "hidden", type="entity")
    Relation.objects.create(group=ledger, subject=inside, predicate="knows", object=hidden)
    edges = walk_relations([inside.key], groups=None, may_see=None)
    assert len(visible_statements(person(alice), edges)) == 1
    assert visible_statements(person(bob), edges) == []
    assert inspect_memory(person(bob), inside.id).relations == ()
    assert len(inspect_memory(person(alice), inside.id).relations) == 1


def test_a_relation_has_two_ends(ledger: Group) -> None:
    one = row(ledger, "one", type="entity")
    with pytest.raises(IntegrityError), transaction.atomic():
        Relation.objects.create(group=ledger, subject=one, predicate="is", object=one)


def test_a_forgotten_entity_is_not_found_by_name(alice: User, ledger: Group) -> None:
    first = tie(alice, "Anna", "owns", "Ledger")
    forget(person(alice), first.subject.id)
    assert find_entity(person(alice), ledger, "Anna") is None


def test_an_end_is_shown_as_it_stands_now(alice: User, ledger: Group) -> None:
    actor = person(alice)
    stored = store_relation(actor, RelationDraft("Anna", "leads", "Ledger team", group="ledger"))
    edit(actor, stored.subject.id, EditDraft(content="Anna Berg"))
    said = inspect_memory(actor, stored.object.id).relations[0]
    assert (said.subject.content, said.relation.predicate, said.object.content) == (
        "Anna Berg", "leads", "Ledger team",
    )  # fmt: skip


@pytest.fixture
def hub(ledger: Group, garden: Group) -> Memory:
    """An entity with three certain relations to memories that only `garden` may see, and a less certain one that all may see."""
    start, near, behind = (row(ledger, name, type="entity") for name in ("start", "near", "behind"))
    for n in range(3):
        hidden = row(garden, f"hidden {n}", type="entity")
        Relation.objects.create(group=ledger, subject=start, predicate="uses", object=hidden, confidence=0.9)
        Relation.objects.create(group=ledger, subject=hidden, predicate="uses", object=behind)
    Relation.objects.create(group=ledger, subject=start, predicate="knows", object=near, confidence=0.2)
    return start


def test_what_is_hidden_takes_no_place_of_a_walk(bob: User, hub: Memory) -> None:
    shown = statements_around(person(bob), hub, limit=1)
    assert [(s.relation.predicate, s.object.content) for s in shown] == [("knows", "near")]


def test_a_walk_looks_past_a_whole_page_of_hidden_relations(
    bob: User, hub: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "PAGE_ROWS", 2)
    assert [s.object.content for s in statements_around(person(bob), hub, limit=1)] == ["near"]


def test_a_walk_does_not_lead_through_what_is_hidden(
    alice: User, ledger: Group, garden: Group, bob: User
) -> None:
    start, behind, beyond = (row(ledger, name, type="entity") for name in ("start", "behind", "beyond"))
    hidden = row(garden, "hidden", type="entity")
    for subject, object_ in ((start, hidden), (hidden, behind), (behind, beyond)):
        Relation.objects.create(group=ledger, subject=subject, predicate="next", object=object_)
    assert [s.depth for s in statements_around(person(alice), start, depth=3)] == [1, 2, 3]
    assert statements_around(person(bob), start, depth=3) == []


def test_relations_of_an_earlier_step_take_no_place_in_the_next(ring: list[Memory]) -> None:
    Relation.objects.filter(subject=ring[0]).update(confidence=0.9)
    Relation.objects.filter(subject=ring[3]).update(confidence=0.9)
    edges = walk_relations([ring[0].key], groups=None, may_see=None, depth=2, limit=3)
    assert [(e.relation.subject_id, e.depth) for e in edges] == [
        (ring[0].key, 1), (ring[3].key, 1), (ring[1].key, 2),
    ]  # fmt: skip


def test_an_entity_whose_current_version_is_hidden_is_neither_found_nor_tied(
    alice: User, ledger: Group, garden: Group, bob: User
) -> None:
    wide = kept(person(alice), "Anna: leads the data team", group="garden", type="entity")
    inner = kept(person(alice), "Anna: leaves in May", type="entity", scope="group", supersedes=wide.id)
    assert find_entity(person(alice), garden, "Anna") == inner
    assert find_entity(agent(bob), ledger, "Anna") is None
    with pytest.raises(NotFound):
        store_relation(agent(bob), RelationDraft(str(wide.id), "owns", "Ledger", group="ledger"))
    stored = store_relation(agent(bob), RelationDraft("Anna", "owns", "Ledger", group="ledger"))
    assert stored.subject != inner
    assert stored.subject.group == ledger


@pytest.mark.parametrize("uses_it", [True, False])
def test_an_undo_leaves_the_name_of_an_entity_that_stays(
    alice: User, bob: User, ledger: Group, uses_it: bool
) -> None:
    with collecting_rows() as rows:
        tie(bob, "Kite", "uses", "Gas")
        id_ = undo_id_of(person(bob), rows)
    if uses_it:
        tie(alice, "Kite", "owns", "Rope")
    undo_write(person(bob), id_)
    names = {"Kite", "Rope"} if uses_it else set()
    assert set(EntityAlias.objects.values_list("name", flat=True)) == names
    assert set(Memory.objects.filter(state="live").values_list("content", flat=True)) == names
    assert (find_entity(person(alice), ledger, "Kite") is not None) is uses_it


def test_the_name_of_an_entity_is_taken_back_together_with_it(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "ROWS_AT_ONCE", 1)
    with collecting_rows() as work:
        tie(alice, "Kite", "uses", "Gas")
    parts = large.in_parts(rows_of([work.change]))
    together = [{row.table.model for row in part} for part in parts]
    assert together.count({Memory, EntityAlias}) == 2
    assert not any(EntityAlias in models and Memory not in models for models in together)
