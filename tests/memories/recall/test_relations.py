"""Recall follows the relations of the entities in a question: results, limits and costs."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.actor import Actor
from access.models import Group, Membership, Role
from access.visibility import Narrowing
from memories.embedding import Encoder
from memories.entities.store_relation import RelationDraft, RelationResult, find_entity, store_relation
from memories.lifecycle.retract import retract
from memories.lifecycle.verbs import forget
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall import Item, RecallRequest, recall
from memories.recall.choosing import read_visible
from memories.recall.pipeline import CandidateSet, find_ranking, gather, score_candidates
from memories.recall.question import understand
from memories.recall.relations import NO_RELATIONS, find_related
from memories.recall.scoring import Trace
from memories.search.in_memory import sync as following
from memories.store import add_alias
from memories.store.withdrawn.left_out import find_left_out
from relations.models import EntityAlias, Relation
from tests.memories.builders import kept
from tests.people import person, the_group, the_owner

pytestmark = [pytest.mark.django_db, pytest.mark.model, pytest.mark.usefixtures("encoder")]


@pytest.fixture(autouse=True)
def nothing_in_memory() -> Iterator[None]:
    following._followers.clear()
    yield
    following._followers.clear()


def tie(
    actor: Actor, subject: str, predicate: str, object_: str, *proofs: Memory, group: str = "ledger"
) -> RelationResult:
    evidence = tuple(str(proof.id) for proof in proofs)
    return store_relation(actor, RelationDraft(subject, predicate, object_, group=group, evidence=evidence))


def fact(actor: Actor, content: str, *, group: str = "ledger") -> Memory:
    return kept(actor, content, group=group, scope="group")


def given(
    actor: Actor, question: str, *, group: str = "ledger", narrowing: Narrowing | None = None
) -> list[Item]:
    """All results of a recall, including those below the threshold of an answer."""
    asked = RecallRequest(
        question,
        group=group,
        narrowing=narrowing or Narrowing(),
        explain=True,
        max_results=100,
        token_budget=100_000,
    )
    answer = recall(actor, asked)
    return [*answer.items, *answer.nearest]


def texts(actor: Actor, question: str, *, group: str = "ledger") -> list[str]:
    """All candidates, best first, by words and relations alone."""
    seen = recallable_by(actor, Group.objects.get(slug=group))
    ranked = find_ranking(understand(question, encoder=None), seen, mode="hybrid", trace=Trace()).scores
    rows = read_visible([key for key, _ in ranked], seen, Trace())
    hidden = find_left_out(rows.values(), seen)
    return [rows[key].content for key, _ in ranked if key in rows and key not in hidden]


# --- the probe: what the step brings ----------------------------------------------------------------------------------
# A fact, and the relation that it proves. The facts do not say the name: they were said where everybody knew of whom.
PROVED = {
    "desk": ("She sits by the window on the third floor in Hamburg.", "Maria Keller", "works_in", "Hamburg office"),
    "crew": ("Five people report to her since the reorganisation.", "Maria Keller", "leads", "Payments crew"),
    "mentor": ("He taught her everything about double bookkeeping.", "Otto Berg", "mentors", "Maria Keller"),
    "shop": ("The bicycle workshop in Lindenstrasse was bought in 2019.", "Otto Berg", "owns", "Bicycle shop"),
    "sister": ("Her twin sister plays the cello in the city orchestra.", "Anna Vogt", "is_sister_of", "Lena Vogt"),
    "tandem": ("The two of them cycled a tandem through Portugal.", "Otto Berg", "travels_with", "Anna Vogt"),
    "db": ("Rows are kept in PostgreSQL 16 with nightly snapshots.", "Heron", "stores_data_in", "PostgreSQL"),
    "queue": ("Messages wait in a RabbitMQ cluster of three nodes.", "Heron", "depends_on", "RabbitMQ"),
    "host": ("The rack in Falkenstein runs out of warranty in June.", "Heron", "is_hosted_in", "Falkenstein"),
    "oncall": ("Whoever is woken at night fills in the red form.", "Heron", "is_maintained_by", "Night crew"),
    "client": ("They pay within ten days and want paper invoices.", "Blue Harbour", "buys_from", "Ledger team"),
    "contract": ("The framework agreement ends with the next fiscal year.", "Blue Harbour", "signed", "Contract 77"),
}  # fmt: skip
# What names them and answers nothing of this, and what has nothing to do with it.
OTHERS = (
    "Maria Keller likes green tea without sugar.", "Maria Keller asked for a quieter keyboard.",
    "Maria Keller was ill on Tuesday.", "Otto Berg forgot his umbrella.", "Otto Berg sings in the shower.",
    "Otto Berg prefers short meetings.", "Anna Vogt collects stamps.", "Anna Vogt speaks Spanish.",
    "Anna Vogt ordered a new chair.", "Heron has a green logo.", "Heron was named after a bird.",
    "Heron got a new splash screen.", "Heron appears in the yearly report.",
    "Blue Harbour sent flowers at Christmas.", "Blue Harbour has a new logo.", "Blue Harbour visited us in May.",
    "The kitchen's coffee machine is broken.", "The deploy port of the web server is 8081.",
    "The stand-up meeting is on Monday at half past nine.",
)  # fmt: skip
ALIASES = {"Heron": ("Project H", "the ledger engine"), "Maria Keller": ("Mia",), "Blue Harbour": ("BH Ltd",)}
# Each question with the name of the fact that answers it and the other end, which answers as well; or, where no relation
# leads to the answer, with its text.
PROBE = (
    ("Where does Maria Keller work?", "desk", "Hamburg office"), ("Which team is led by Mia?", "crew", "Payments crew"),
    ("Whom does Otto Berg mentor?", "mentor", "Maria Keller"), ("Who taught Mia her trade?", "mentor", "Otto Berg"),
    ("What does Otto Berg own?", "shop", "Bicycle shop"), ("Who is the sister of Anna Vogt?", "sister", "Lena Vogt"),
    ("With whom did Anna Vogt travel?", "tandem", "Otto Berg"),
    ("What have Otto Berg and Anna Vogt to do with each other?", "tandem", ""),
    ("Where does Project H store its data?", "db", "PostgreSQL"), ("What does Heron depend on?", "queue", "RabbitMQ"),
    ("Where is the ledger engine hosted?", "host", "Falkenstein"), ("Who maintains Heron?", "oncall", "Night crew"),
    ("What do we know of BH Ltd as a buyer?", "client", ""), ("What has Blue Harbour signed?", "contract", "Contract 77"),
    ("What is the deploy port of the web server?", "The deploy port of the web server is 8081.", ""),
    ("What does Anna Vogt collect?", "Anna Vogt collects stamps.", ""),
    ("What kind of tea does Maria Keller like?", "Maria Keller likes green tea without sugar.", ""),
    ("When is the stand-up meeting?", "The stand-up meeting is on Monday at half past nine.", ""),
)  # fmt: skip
FIRST = 3


def without_relations(gathered: CandidateSet) -> CandidateSet:
    """The candidates without what only a relation brought."""
    found = [c for c in gathered.candidates if c.is_found]
    return replace(gathered, candidates=found, related=NO_RELATIONS)


@dataclass(frozen=True)
class World:
    """The group as alice sees it."""

    actor: Actor
    group: Group

    def ranked(self, question: str, encoder: Encoder, *, is_on: bool) -> list[str]:
        """All results, best first, with the step or without it."""
        asked = understand(question, encoder=encoder)
        gathered = gather(asked, recallable_by(self.actor, self.group), mode="hybrid", trace=Trace())
        if not is_on:
            gathered = without_relations(gathered)
        scores = score_candidates(gathered, asked, mode="hybrid", trace=Trace()).scores
        rows = dict(Memory.objects.values_list("key", "content"))
        return [rows[key] for key, _ in scores]


@pytest.fixture(scope="module")
def world(shared_rows: None, encoder: Encoder) -> World:
    actor, ledger = person(the_owner()), the_group("ledger")
    for content in OTHERS:
        fact(actor, content)
    for content, subject, predicate, object_ in PROVED.values():
        tie(actor, subject, predicate, object_, fact(actor, content))
    for name, others in ALIASES.items():
        entity = find_entity(actor, ledger, name)
        assert entity is not None
        for other in others:
            add_alias(entity, other)
    return World(actor, ledger)


def right_for(answer: str, end: str) -> set[str]:
    return {PROVED[answer][0] if answer in PROVED else answer, end}


def test_following_relations_finds_what_does_not_say_the_name(world: World, encoder: Encoder) -> None:
    hits = {True: 0, False: 0}
    for question, answer, end in PROBE:
        right = right_for(answer, end)
        ranked = {is_on: world.ranked(question, encoder, is_on=is_on) for is_on in hits}
        places = {
            is_on: min(found.index(text) for text in right & {*found}) + 1 for is_on, found in ranked.items()
        }
        print(f"{places[False]:>3} → {places[True]:>3}  {question}")  # noqa: T201 - docs/dev/recall.md has the figures
        for is_on, place_ in places.items():
            hits[is_on] += place_ <= FIRST
    print(f"hits@{FIRST} of {len(PROBE)}: {hits[False]} without relations, {hits[True]} with them")  # noqa: T201
    assert hits[True] >= 11
    assert hits[True] >= hits[False] + 3


# --- what it may bring ------------------------------------------------------------------------------------------------
def test_the_numbers_say_by_which_entity_and_predicate_it_came(world: World) -> None:
    asked = RecallRequest("Where does Maria Keller work?", group="ledger", explain=True, max_results=100)
    answer = recall(world.actor, asked)
    items = {item.memory.content: item for item in (*answer.items, *answer.nearest)}
    desk = items[PROVED["desk"][0]]
    assert desk.numbers["relation"] == 0.3  # the question has the predicate's word
    assert desk.numbers["final"] == pytest.approx(desk.score)
    assert items[PROVED["crew"][0]].numbers["relation"] == 0.15
    assert "relation" not in items["Maria Keller likes green tea without sugar."].numbers
    assert answer.trace is not None
    [step] = [step for step in answer.trace.steps if step.name == "relations"]
    assert step.detail["entities"] == ["Maria Keller"]
    assert f"Maria Keller works_in: {desk.memory.id}" in step.detail["followed"]


def test_another_name_of_an_entity_lifts_its_memory(world: World) -> None:
    question, entities = "Project H", Narrowing(types=frozenset({"entity"}))
    found = {item.memory.content: item for item in given(world.actor, question, narrowing=entities)}
    assert found["Heron"].numbers["relation"] == 0.15
    # What has the name that was asked for is found by its words, and tells no more than the question.
    by_name = given(world.actor, "Heron", narrowing=entities)
    assert "relation" not in {item.memory.content: item for item in by_name}["Heron"].numbers
    assert "Heron" not in {item.memory.content for item in given(world.actor, "Tell me about Heron")}


def test_what_neither_search_names_comes_with_its_true_scores(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "Who maintains Heron?"
    whole = {item.memory.key: item.numbers for item in given(world.actor, question)}
    monkeypatch.setattr("memories.recall.pipeline.CANDIDATES", 4)
    few = {item.memory.key: item.numbers for item in given(world.actor, question)}
    beside = [key for key, numbers in few.items() if not {"keyword_rank", "vector_rank"} & numbers.keys()]
    content = dict(Memory.objects.values_list("key", "content"))
    assert PROVED["oncall"][0] in {content[key] for key in beside}
    for key in set(beside) & set(whole):
        for arm in ("keyword", "vector"):
            assert few[key][arm] == pytest.approx(whole[key][arm], abs=1e-4)


def test_without_names_the_ranking_is_the_same_with_the_step_and_without_it(
    world: World, encoder: Encoder
) -> None:
    EntityAlias.objects.all().delete()
    for question, *_ in PROBE:
        asked = understand(question, encoder=encoder)
        seen = recallable_by(world.actor, world.group)
        gathered = gather(asked, seen, mode="hybrid", trace=Trace())
        usual, off = (
            score_candidates(each, asked, mode="hybrid", trace=Trace()).scores
            for each in (gathered, without_relations(gathered))
        )
        assert usual == off


def test_a_filter_binds_what_is_brought_and_not_the_way_there(world: World) -> None:
    found = given(
        world.actor, "Where does Maria Keller work?", narrowing=Narrowing(types=frozenset({"semantic"}))
    )
    assert {item.memory.type for item in found} == {"semantic"}
    [desk] = [item for item in found if item.memory.content == PROVED["desk"][0]]
    assert desk.numbers["relation"] == 0.3


# --- what it may not bring --------------------------------------------------------------------------------------------
PRIVATE = "He pays the rent of the greenhouse in cash."


@pytest.fixture
def shared(alice: User, ledger: Group, garden: Group, bob: User) -> Actor:
    """Otto is known everywhere; what he rents is known in the garden alone, and what he mends in the ledger."""
    actor = person(alice)
    kept(actor, "Otto Berg", group="garden", type="entity", scope="global")
    otto = find_entity(actor, garden, "Otto Berg") or Memory.objects.get(content="Otto Berg")
    add_alias(otto, "Otto Berg")
    tie(actor, "Otto Berg", "rents", "Greenhouse", fact(actor, PRIVATE, group="garden"), group="garden")
    tie(actor, "Otto Berg", "mends", "Tandem", fact(actor, "Spokes were replaced twice."), group="ledger")
    return person(bob)


def test_relations_of_another_group_are_not_followed(shared: Actor, alice: User) -> None:
    assert PRIVATE in texts(person(alice), "What does Otto Berg rent?", group="garden")
    found = texts(shared, "What does Otto Berg rent?")
    assert "Spokes were replaced twice." in found
    assert not {PRIVATE, "Greenhouse"} & set(found)


def test_what_proves_a_relation_in_another_group_does_not_come(shared: Actor, alice: User) -> None:
    proof = Memory.objects.get(content=PRIVATE)
    tie(
        person(alice), "Otto Berg", "mends", "Tandem", proof
    )  # the ledger's relation rests on the garden's memory
    found = texts(shared, "What does Otto Berg mend?")
    assert "Spokes were replaced twice." in found
    assert PRIVATE not in found


def test_a_relation_to_what_may_not_be_seen_does_not_lead_on(
    shared: Actor, ledger: Group, garden: Group
) -> None:
    relation = Relation.objects.get(predicate="mends")
    question = understand("What does Otto Berg mend?", encoder=None)
    seen = recallable_by(shared, ledger)
    assert find_related(question, seen).describe(find_related(question, seen).reasons)
    Memory.objects.filter(key=relation.object_id).update(group=garden, scope="group")
    assert find_related(question, seen).reasons == {}


def test_entities_of_another_group_are_not_named(shared: Actor, ledger: Group, garden: Group) -> None:
    Memory.objects.filter(content="Otto Berg").update(scope="group", group=garden)
    with CaptureQueriesContext(connection) as statements:
        related = find_related(understand("Otto Berg?", encoder=None), recallable_by(shared, ledger))
    assert (related.entities, len(statements)) == ((), 1)


def test_who_may_not_read_the_group_gets_nothing(shared: Actor, ledger: Group) -> None:
    member = User.objects.create_user("dora", password="a-long-password")
    other = Group.objects.create(slug="attic")
    Membership.objects.create(user=member, group=other, role=Role.VIEWER)
    assert texts(person(member), "What does Otto Berg mend?", group="attic") == ["Otto Berg"]  # global


# --- time -------------------------------------------------------------------------------------------------------------
def reasons(actor: Actor, group: Group, question: str, **narrowing: object) -> set[str]:
    """The predicates that recall follows."""
    seen = recallable_by(actor, group, narrowing=Narrowing(**narrowing))  # type: ignore[arg-type]
    related = find_related(understand(question, encoder=None), seen)
    return {why.predicate for why in related.reasons.values()} - {""}


def test_only_relations_true_at_the_moment_asked_about_are_followed(world: World) -> None:
    now = timezone.now()
    past = now - timedelta(days=100)
    Memory.objects.update(created_at=past - timedelta(days=100))
    Relation.objects.update(created_at=past - timedelta(days=100))
    Relation.objects.filter(predicate="owns").update(valid_to=now - timedelta(days=10), valid_to_known_at=now)
    Relation.objects.filter(predicate="mentors").update(valid_from=now - timedelta(days=10))
    asked = "What of Otto Berg?"
    assert reasons(world.actor, world.group, asked) == {"mentors", "travels_with"}
    assert reasons(world.actor, world.group, asked, as_of=past) == {"owns", "travels_with"}
    # Before its end was known, it was held to last.
    known = now - timedelta(days=1)
    assert reasons(world.actor, world.group, asked, known_at=known) == {"owns", "mentors", "travels_with"}


def test_retired_relations_are_not_followed_but_where_they_were_believed(world: World) -> None:
    now = timezone.now()
    Memory.objects.update(created_at=now - timedelta(days=9))
    Relation.objects.update(created_at=now - timedelta(days=9))
    Relation.objects.filter(predicate="owns").update(retired_at=now - timedelta(days=2))
    asked = "What does Otto Berg own?"
    assert "owns" not in reasons(world.actor, world.group, asked)
    assert "owns" not in reasons(world.actor, world.group, asked, as_of=now - timedelta(days=5))
    assert "owns" in reasons(world.actor, world.group, asked, known_at=now - timedelta(days=5))
    assert "owns" not in reasons(world.actor, world.group, asked, known_at=now - timedelta(days=1))
    assert reasons(world.actor, world.group, asked, known_at=now - timedelta(days=20)) == set()


def test_a_proof_counts_by_its_last_version_and_not_at_all_once_forgotten(world: World) -> None:
    old = Memory.objects.get(content=PROVED["shop"][0])
    new = kept(
        world.actor,
        "The bicycle workshop was sold to a cousin.",
        group="ledger",
        scope="group",
        supersedes=old.id,
    )
    found = {item.memory.content: item.numbers for item in given(world.actor, "What does Otto Berg own?")}
    assert found[new.content]["relation"] == 0.3
    assert old.content not in found
    forget(world.actor, new.id)
    assert new.content not in texts(world.actor, "What does Otto Berg own?")


def test_a_forgotten_entity_leads_nowhere(world: World) -> None:
    heron = Memory.objects.get(content="Heron")
    assert reasons(world.actor, world.group, "Heron?")
    forget(world.actor, heron.id)
    assert reasons(world.actor, world.group, "Heron?") == set()


def test_the_longest_name_counts(world: World) -> None:
    tie(world.actor, "Otto", "feeds", "Blackbirds")
    assert reasons(world.actor, world.group, "What of Otto?") == {"feeds"}
    assert "feeds" not in reasons(world.actor, world.group, "What of Otto Berg?")
    assert {"feeds", "owns"} <= reasons(world.actor, world.group, "Are Otto Berg and Otto one?")


# --- cost -------------------------------------------------------------------------------------------------------------
def statements_of(actor: Actor, question: str) -> int:
    for _ in range(3):  # from then on every query is compiled and the vectors are in memory
        given(actor, question)
    with CaptureQueriesContext(connection) as statements:
        given(actor, question)
    return len(statements)


def test_it_costs_one_statement_and_some_more_where_an_entity_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = statements_of(world.actor, "Where does Maria Keller work?")
    plain = statements_of(world.actor, "When is the stand-up meeting?")
    monkeypatch.setattr("memories.recall.pipeline.find_related", lambda question, visibility: find_related(
        replace(question, text=""), visibility
    ))  # fmt: skip
    assert statements_of(world.actor, "When is the stand-up meeting?") == plain - 1
    # The relations of the entity and of the other ends, what of them is withdrawn, and the lines.
    assert named == plain + 3


def test_where_nothing_is_named_it_takes_less_than_a_third_of_a_millisecond(world: World) -> None:
    question = understand("When is the stand-up meeting of the whole team on Monday?", encoder=None)
    seen = recallable_by(world.actor, world.group)
    assert find_related(question, seen).entities == ()
    took = []
    for _ in range(20):
        start = time.process_time()
        for _ in range(10):
            find_related(question, seen)
        took.append((time.process_time() - start) / 10 * 1000)
    assert min(took) < 0.3, f"{min(took):.3f} ms"


def test_a_relation_that_states_a_withdrawn_text_is_not_shown() -> None:
    owner = person(the_owner())
    the_group("ledger")
    wrong = fact(owner, "Heron keeps its spare fuse in locker nine.")
    tie(owner, "Heron", "keeps_its_spare_fuse_in", "locker nine")
    question = RecallRequest("Where does Heron keep its spare fuse?", group="ledger")
    assert [line.said.content for line in recall(owner, question).relations] == [wrong.content.rstrip(".")]
    retract(owner, wrong.id)
    assert recall(owner, question).relations == ()
