"""Recall follows the relations of the entities that a question names: what it brings, what it may not, what it costs."""

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
from memories.entities import RelationDraft, RelationStored, find_entity, store_relation
from memories.index import following
from memories.models import Memory
from memories.recall import Asked, Item, recall
from memories.recall.choosing import gather, place, usual_tuning
from memories.recall.counting import COUNTER
from memories.recall.query import understand
from memories.recall.relating import asks_for, find_related, spots_in
from memories.recall.trace import Trace
from memories.recall.tuning import without
from memories.verbs import forget
from memories.visibility import recallable_by
from memories.writing import add_alias
from relations.models import EntityAlias, Relation
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model, pytest.mark.usefixtures("encoder")]


@pytest.fixture(autouse=True)
def nothing_in_memory() -> Iterator[None]:
    following._followers.clear()
    yield
    following._followers.clear()
    COUNTER._pending.clear()


def tie(
    actor: Actor, subject: str, predicate: str, object_: str, *proofs: Memory, group: str = "ledger"
) -> RelationStored:
    evidence = tuple(str(proof.id) for proof in proofs)
    return store_relation(actor, RelationDraft(subject, predicate, object_, group=group, evidence=evidence))


def fact(actor: Actor, content: str, *, group: str = "ledger") -> Memory:
    return kept(actor, content, group=group, scope="group")


def given(actor: Actor, question: str, *, group: str = "ledger", narrowing: Narrowing | None = None) -> list[Item]:
    """Ask, and give all that comes, whether it is judged an answer or not."""
    asked = Asked(question, group=group, narrowing=narrowing or Narrowing(), explain=True)
    answer = recall(actor, asked)
    return [*answer.items, *answer.nearest]


def texts(actor: Actor, question: str, *, group: str = "ledger") -> list[str]:
    return [item.memory.content for item in given(actor, question, group=group)]


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


@dataclass(frozen=True)
class World:
    """The group as alice sees it."""

    actor: Actor
    group: Group

    def ranked(self, question: str, encoder: Encoder, *, is_on: bool) -> list[str]:
        """Give all that is found, best first, with the step or without it."""
        tuning = usual_tuning() if is_on else without("the relations", usual_tuning())
        asked = understand(question, encoder=encoder)
        gathered = gather(asked, recallable_by(self.actor, self.group), mode="hybrid", trace=Trace())
        scores = place(gathered, asked, mode="hybrid", tuning=tuning, trace=Trace()).scores
        rows = dict(Memory.objects.values_list("key", "content"))
        return [rows[key] for key, _ in scores]


@pytest.fixture
def world(alice: User, ledger: Group) -> World:
    actor = person(alice)
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
        places = {is_on: min(found.index(text) for text in right & {*found}) + 1 for is_on, found in ranked.items()}
        print(f"{places[False]:>3} → {places[True]:>3}  {question}")
        for is_on, place_ in places.items():
            hits[is_on] += place_ <= FIRST
    print(f"hits@{FIRST} of {len(PROBE)}: {hits[False]} without relations, {hits[True]} with them")
    assert hits[True] >= hits[False] + 4
