"""Statements per recall: few, with two candidates or with more than a hundred."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import Group
from access.tokens import actor_for_user
from memories.embedding import get_encoder
from memories.models import IndexState, Piece
from memories.models.short_id import short_id
from memories.recall import RecallRequest, recall
from memories.recall.pipeline import _verified_query
from memories.search.in_memory import sync as following
from memories.types import State
from tests.memories.builders import row

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
# Group, the index's model (twice), names of entities, how far it is, how many texts, words, what is visible, answer,
# conflicts of what is answered, who doubts it, whether anything sleeps.
MOST = 11
MANY = 1  # more candidates than one search returns: whether anything is verified


@pytest.fixture(autouse=True)
def nothing_in_memory() -> Iterator[None]:
    following._followers.clear()
    yield
    following._followers.clear()


def filled(group: Group, count: int) -> None:
    """Write so many memories with real vectors."""
    encoder = get_encoder(timeout_s=60)
    IndexState.objects.get_or_create(name="model", defaults={"value": encoder.model_id})
    rows = [row(group, f"The deploy port of service {n} is {8000 + n}.") for n in range(count)]
    vectors = encoder.encode([memory.content for memory in rows])
    Piece.objects.bulk_create(
        Piece(
            memory=memory,
            ordinal=0,
            start=0,
            end=len(memory.content),
            tokens=9,
            embedding=vector.tobytes(),
            model=encoder.model_id,
        )
        for memory, vector in zip(rows, vectors, strict=True)
    )


@pytest.mark.sqlite(reason="vectors in the memory of each process")
def test_few_statements_are_enough_for_few_candidates_and_for_many() -> None:
    actor = actor_for_user(User.objects.create_superuser("alice", password="a-long-password"), via="rest")
    counts = []
    for slug, size in (("small", 2), ("large", 110)):
        filled(Group.objects.create(slug=slug), size)
        for _ in range(5):  # from then on the vectors are in memory, and every query is compiled
            recall(actor, RecallRequest("which deploy port has service 1?", group=slug))
        asked = RecallRequest("what is the deploy port of service 7?", group=slug)
        recall(actor, asked)
        with CaptureQueriesContext(connection) as seen:
            answer = recall(actor, asked)
        assert answer.items
        counts.append(len(seen))
    assert counts == [MOST, MOST + MANY]


@pytest.mark.sqlite(reason="its planner's choice of an index")
def test_whether_anything_is_verified_is_asked_of_those_that_may_be(ledger: Group) -> None:
    with CaptureQueriesContext(connection) as seen, connection.cursor() as cursor:
        assert _verified_query(1).first(ledger.pk) is None
        cursor.execute(f"EXPLAIN QUERY PLAN {seen.captured_queries[0]['sql']}")
        assert [line[-1] for line in cursor.fetchall()] == ["SCAN memories_memory USING INDEX memory_kept"]


def test_explaining_tells_the_same_answer_with_its_numbers() -> None:
    actor = actor_for_user(User.objects.create_superuser("alice", password="a-long-password"), via="rest")
    filled(Group.objects.create(slug="ledger"), 30)
    asked = "what is the deploy port of service 7?"
    plain = recall(actor, RecallRequest(asked, group="ledger"))
    told = recall(actor, RecallRequest(asked, group="ledger", explain=True))
    assert [(item.memory.key, item.score) for item in plain.items] == [
        (item.memory.key, item.score) for item in told.items
    ]
    first = told.items[0]
    assert first.numbers["final"] == first.score
    assert {"keyword", "vector", "meaning", "final"} <= first.numbers.keys()
    assert plain.items[0].numbers == {}


def test_ids_cost_the_same_number_of_statements_however_many(alice: User, ledger: Group) -> None:
    actor = actor_for_user(alice, via="rest")
    rows = [row(ledger, f"The deploy port of service {n} is {8000 + n}.") for n in range(100)]
    for old, new in zip(rows[:30:2], rows[1:30:2], strict=True):
        old.superseded_by, old.state = new, State.SUPERSEDED
        old.save()
    rows[40].state = State.RETRACTED
    rows[40].save()
    counts = []
    for ids in (rows[:2], rows[:45], rows):
        raw = [str(memory.id) if at % 2 else short_id(memory.id) for at, memory in enumerate(ids)]
        recall(actor, RecallRequest(ids=raw, group="ledger"))  # compiles
        with CaptureQueriesContext(connection) as found:
            answer = recall(actor, RecallRequest(ids=raw, group="ledger"))
        counts.append(len(found))
        assert len(answer.items) + len(answer.missing) + min(15, len(ids) // 2) == len(ids)
    assert counts[0] <= counts[1] == counts[2] <= MOST + 2, counts
