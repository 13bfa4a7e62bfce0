"""A repeated question is answered without a new search until something changes."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from weakref import ref

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from access.actor import Actor
from access.models import Group
from access.tokens import actor_for_user
from access.visibility import Narrowing
from memories.embedding import get_encoder
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditDraft, edit
from memories.lifecycle.retract import retract
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.search.base import search_index
from memories.search.in_memory import sync as following
from memories.search.in_memory.result_cache import MOST_KEPT, BothHits, ResultCache
from memories.search.sqlite import hybrid as sqlite_both
from tests.memories.builders import kept

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
QUESTION = "which deploy port has the billing service?"
Change = Callable[[Actor, Memory], Any]


@pytest.fixture
def actor() -> Actor:
    Group.objects.create(slug="ledger")
    return actor_for_user(User.objects.create_superuser("alice", password="a-long-password"), via="rest")


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    """Each test begins with nothing in memory."""
    get_encoder(timeout_s=60)
    following._followers.clear()
    yield
    following._followers.clear()


@pytest.fixture
def port(actor: Actor) -> Memory:
    memory = kept(actor, "The deploy port of the billing service is 8081.", group="ledger", scope="group")
    kept(actor, "Vera Lindqvist waters the plants on Fridays.", group="ledger", scope="group")
    following.load_table()
    return memory


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The expressions that were searched for, as they come."""
    asked: list[str] = []
    search = sqlite_both.search_both

    def told(ask: Any, expression: str, *rest: Any, **more: Any) -> BothHits:
        asked.append(expression)
        return search(ask, expression, *rest, **more)

    monkeypatch.setattr(sqlite_both, "search_both", told)
    return asked


def answer(actor: Actor, question: str = QUESTION, **fields: Any) -> list[tuple[str, float]]:
    found = recall(actor, RecallRequest(question, group="ledger", **fields))
    return [(item.text, item.score) for item in found.items]


def test_the_same_question_is_searched_for_once(actor: Actor, port: Memory, searches: list[str]) -> None:
    first, again = answer(actor), answer(actor)
    assert first
    assert first[0][0] == port.content
    assert again == first
    assert len(searches) == 1


def test_another_question_is_another_search(actor: Actor, port: Memory, searches: list[str]) -> None:
    assert answer(actor)
    assert answer(actor, "who waters the plants?")[0][0].startswith("Vera")
    assert len(searches) == 2


@pytest.mark.usefixtures("port")
def test_a_filter_is_another_search(actor: Actor, searches: list[str]) -> None:
    assert answer(actor)
    assert answer(actor, narrowing=Narrowing(types=frozenset({"episodic"}))) == []
    assert len(searches) == 2


@pytest.mark.usefixtures("port")
def test_questions_about_times_are_searched_for_each_time(actor: Actor, searches: list[str]) -> None:
    since = Narrowing(after=datetime(2020, 1, 1, tzinfo=UTC))
    assert answer(actor, narrowing=since) == answer(actor, narrowing=since)
    assert len(searches) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda actor, port: kept(actor, "The billing service has had deploy port 9000 since May.", group="ledger", scope="group"),
        lambda actor, port: verbs.forget(actor, port.id),
        lambda actor, port: retract(actor, port.id),
        lambda actor, port: verbs.dispute(actor, port.id),
        lambda actor, port: verbs.verify(actor, port.id),
        lambda actor, port: edit(actor, port.id, EditDraft(tags=("deploy",))),
        lambda actor, port: edit(actor, port.id, EditDraft(content="The deploy port of the billing service is 8082.")),
        lambda actor, port: verbs.purge(actor, port.id, reason="asked for"),
        lambda actor, port: Memory.objects.filter(key=port.key).update(forms="billing"),  # as a repair writes them
        lambda actor, port: search_index().rebuild(),
    ],
    ids=["stored", "forgotten", "retracted", "disputed", "verified", "tagged", "edited", "purged", "formed", "rebuilt"],
)  # fmt: skip
def test_every_change_is_searched_for_anew(
    actor: Actor, port: Memory, searches: list[str], change: Change
) -> None:
    assert answer(actor)
    with ThreadPoolExecutor(1) as other:  # with a connection of its own, as another process has
        other.submit(lambda: (change(actor, port), connection.close())).result()
    found = answer(actor)
    assert len(searches) == 2
    following._followers.clear()
    anew = answer(actor)  # what vec0 says, which remembers nothing
    assert [text for text, _ in found] == [text for text, _ in anew]
    # In memory the vectors are in half precision.
    assert [score for _, score in found] == pytest.approx([score for _, score in anew], abs=2e-4)


def test_in_a_transaction_nothing_is_remembered(actor: Actor, port: Memory, searches: list[str]) -> None:
    before = answer(actor)
    with transaction.atomic():
        verbs.forget(actor, port.id)
        assert answer(actor) == []
        transaction.set_rollback(True)
    assert answer(actor) == before
    assert len(searches) == 2  # the last is that of the first


class Rows:
    """Something that can be told from others, and let go."""


def hits(number: int) -> BothHits:
    return BothHits([(number, 1.5, 1), (7, 0.25, 0)], {number: 0.75, 7: 0.5}, is_all=False)


def test_what_is_given_again_is_what_was_found() -> None:
    held, question, rows = ResultCache(), Rows(), Rows()
    found = [held.of(question, rows, "a", 3, stamp=1, find=lambda n=n: hits(n)) for n in (1, 2)]
    assert found[0] == found[1] == hits(1)
    assert list(found[1].cosines) == [1, 7]


@pytest.mark.parametrize("other", ["question", "rows", "expression", "stamp"])
def test_each_part_of_what_is_asked_counts(other: str) -> None:
    held, parts = ResultCache(), {"question": Rows(), "rows": Rows(), "expression": "a", "stamp": 1}
    for number, asked in enumerate((parts, parts | {other: Rows()}), start=1):
        stamp = asked["stamp"]
        given = held.of(asked["question"], asked["rows"], asked["expression"], stamp=stamp, find=lambda n=number: hits(n))  # fmt: skip
        assert given == hits(number)


def test_rows_that_are_gone_are_not_held() -> None:
    held, question, rows = ResultCache(), Rows(), Rows()
    held.of(question, rows, stamp=1, find=lambda: hits(1))
    place, gone = id(rows), ref(rows)
    del rows
    assert gone() is None
    others = [Rows() for _ in range(1000)]  # one of them may stand in its place
    at_place = next((each for each in others if id(each) == place), others[0])
    assert held.of(question, at_place, stamp=1, find=lambda: hits(2)) == hits(2)


def test_the_oldest_go_when_there_are_many() -> None:
    held, rows, questions = ResultCache(), Rows(), [Rows() for _ in range(MOST_KEPT + 1)]
    for number, question in enumerate(questions):
        held.of(question, rows, stamp=1, find=lambda n=number: hits(n))
    assert held.of(questions[1], rows, stamp=1, find=lambda: hits(-1)) == hits(1)
    assert held.of(questions[0], rows, stamp=1, find=lambda: hits(-1)) == hits(-1)
