"""Why not this one? Each step that can leave a memory out says so."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.tokens import actor_for_user
from access.visibility import Narrowing, Visibility
from memories.inspect import explain_for
from memories.models import Memory
from memories.recall.explaining import explain_place, filters_against
from memories.recall.query import understand
from memories.recall.trace import Trace
from memories.visibility import recallable_by
from tests.memories.builders import NOW, day, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Visibility:
    group = Group.objects.create(slug="ledger")
    actor = actor_for_user(User.objects.create_superuser("alice", password="a-long-password"), via="rest")
    return recallable_by(actor, group)


def reason(room: Visibility, memory: Memory, question: str) -> tuple[int | None, str]:
    asked = understand(question, encoder=None)
    found = explain_place(asked, room, memory, mode="keyword", trace=Trace())
    return found.rank, found.reason


def ledger_row(content: str, **fields: object) -> Memory:
    return row(Group.objects.get(slug="ledger"), content, **fields)


def test_the_best_says_its_rank(room: Visibility) -> None:
    assert reason(room, ledger_row("The deploy port is 8081."), "deploy port") == (1, "it ranks 1")


def test_one_without_a_word_of_the_question_is_no_candidate(room: Visibility) -> None:
    rank, why = reason(room, ledger_row("Tea is in the kitchen."), "deploy port")
    assert (rank, why) == (None, "neither search has it among its first 60")


def test_one_beyond_the_first_ten_says_so(room: Visibility) -> None:
    for number in range(10):
        ledger_row(f"port port {number}")
    last = ledger_row("of all the many words here only a single one is about a port in the north")
    assert reason(room, last, "port") == (11, "it ranks 11; 10 are returned by default")


@pytest.mark.parametrize(
    ("narrowing", "name"),
    [
        ({"types": frozenset({"entity"})}, "types"),
        ({"tags": frozenset({"red"})}, "tags"),
        ({"scope": "global"}, "scope"),
        ({"min_confidence": 0.9}, "min_confidence"),
        ({"after": day(1)}, "after"),
        ({"before": day(-1)}, "before"),
    ],
)
def test_the_filter_that_leaves_it_out_is_named(
    room: Visibility, narrowing: dict[str, object], name: str
) -> None:
    memory = ledger_row("The deploy port is 8081.", confidence=0.7, created_at=NOW)
    assert filters_against(memory, replace(room, **narrowing)) == [name]
    actor = actor_for_user(User.objects.get(username="alice"), via="rest")
    why = explain_for(actor, memory, "deploy port", narrowing=Narrowing(**narrowing))
    assert (why.rank, why.reason) == (None, f"the filter '{name}' leaves it out")


def test_another_groups_is_told_so_and_what_no_filter_hides_by_its_state(room: Visibility) -> None:
    other = row(Group.objects.create(slug="garden"), "The deploy port is 9000.")
    assert filters_against(other, room) == ["group"]
    forgotten = ledger_row("The deploy port was 1.", state="forgotten")
    assert filters_against(forgotten, room) == []
    actor = actor_for_user(User.objects.get(username="alice"), via="rest")
    assert explain_for(actor, forgotten, "deploy port").reason == "recall hides what is forgotten and active"
