"""Each step that leaves a memory out names itself."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.tokens import actor_for_user
from access.visibility import Narrowing, Visibility
from memories.browse.inspection import explain_for
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall import RecallRequest, recall
from memories.recall.choosing import excluding_filters
from tests.memories.builders import NOW, day, kept, row
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def visible() -> Visibility:
    group = Group.objects.create(slug="ledger")
    actor = actor_for_user(User.objects.create_superuser("alice", password="a-long-password"), via="rest")
    return recallable_by(actor, group)


def reason(visible: Visibility, memory: Memory, question: str) -> tuple[int | None, str]:
    alice = actor_for_user(User.objects.get(username="alice"), via="rest")
    found = explain_for(alice, memory, question)
    return found.rank, found.reason


def ledger_row(content: str, **fields: object) -> Memory:
    return row(Group.objects.get(slug="ledger"), content, **fields)


def test_the_best_says_its_rank(visible: Visibility) -> None:
    assert reason(visible, ledger_row("The deploy port is 8081."), "deploy port") == (1, "it ranks 1")


def test_one_without_a_word_of_the_question_is_no_candidate(visible: Visibility) -> None:
    rank, why = reason(visible, ledger_row("Tea is in the kitchen."), "deploy port")
    assert (rank, why) == (None, "neither search has it among its first 60")


def test_one_beyond_the_first_ten_says_so(visible: Visibility) -> None:
    for number in range(10):
        ledger_row(f"port port {number}")
    last = ledger_row("of all the many words here only a single one is about a port in the north")
    assert reason(visible, last, "port") == (11, "it ranks 11, but beyond the first 10")


PORTS = [f"The deploy port of machine {number} is 808{number}." for number in range(10)]
FILLS_UP = "it shares no word with the question and is not close in meaning"


@pytest.mark.model
def test_what_two_steps_leave_out_is_told_both(alice: User, ledger: Group, encoder: Encoder) -> None:
    for port in PORTS:
        kept(person(alice), port, group="ledger")
    strange = kept(person(alice), "Grandmother knits woollen socks.", group="ledger")
    why = explain_for(person(alice), strange, "deploy port")
    assert (why.rank, why.reason) == (11, f"it ranks 11, but beyond the first 10 and {FILLS_UP}")
    answer = recall(person(alice), RecallRequest("deploy port", group="ledger", explain=True))
    assert answer.trace
    assert answer.trace.dropped == {strange.key: f"beyond the first 10 and {FILLS_UP}"}
    # Where more are asked for, the other step still stands.
    wide = recall(person(alice), RecallRequest("deploy port", group="ledger", max_results=20, explain=True))
    assert wide.trace
    assert wide.trace.dropped == {strange.key: FILLS_UP}


@pytest.mark.model
def test_where_there_is_no_answer_no_limit_is_the_reason(
    alice: User, ledger: Group, encoder: Encoder
) -> None:
    stored = [kept(person(alice), port, group="ledger") for port in PORTS]
    asked = "Do grandmothers knit woollen socks?"
    answer = recall(person(alice), RecallRequest(asked, group="ledger", max_results=1, explain=True))
    assert answer.abstained
    assert answer.trace
    nearest = {item.memory.key for item in answer.nearest}
    assert set(answer.trace.dropped) == {memory.key for memory in stored} - nearest
    assert set(answer.trace.dropped.values()) == {"nothing found is close enough to be an answer"}
    why = explain_for(person(alice), stored[0], asked)
    assert why.reason == f"it ranks {why.rank}, but nothing found is close enough to be an answer"


@pytest.mark.model
def test_what_cannot_be_read_is_told_as_recall_takes_it(alice: User, ledger: Group, encoder: Encoder) -> None:
    found = kept(person(alice), "部署端口是 8081。", group="ledger")
    other = kept(person(alice), "奶奶织羊毛袜。", group="ledger")
    answer = recall(person(alice), RecallRequest("部署端口", group="ledger", explain=True))
    assert [item.memory.key for item in answer.items] == [found.key]
    assert answer.trace
    assert answer.trace.dropped == {other.key: FILLS_UP}
    # Its cosine alone would do: signs that the model was never taught are all alike to it.
    assert answer.trace.numbers[other.key]["vector"] > 0.14
    assert explain_for(person(alice), other, "部署端口").reason == f"it ranks 2, but {FILLS_UP}"


@pytest.mark.model
def test_what_would_be_filled_up_alone_is_no_answer(alice: User, ledger: Group, encoder: Encoder) -> None:
    other = kept(person(alice), "奶奶织羊毛袜。", group="ledger")
    answer = recall(person(alice), RecallRequest("部署端口", group="ledger", explain=True))
    assert (answer.abstained, answer.items) == (True, ())
    assert [item.memory.key for item in answer.nearest] == [other.key]
    # The trace and `inspect` say the same of it.
    assert answer.trace
    [judged] = [step for step in answer.trace.steps if step.name == "relevance"]
    assert judged.detail["answerable"] is False
    why = explain_for(person(alice), other, "部署端口")
    assert why.reason == "it ranks 1, but nothing found is close enough to be an answer"


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
    visible: Visibility, narrowing: dict[str, object], name: str
) -> None:
    memory = ledger_row("The deploy port is 8081.", confidence=0.7, created_at=NOW)
    assert excluding_filters(memory, replace(visible, **narrowing)) == [name]
    actor = actor_for_user(User.objects.get(username="alice"), via="rest")
    why = explain_for(actor, memory, "deploy port", narrowing=Narrowing(**narrowing))
    assert (why.rank, why.reason) == (None, f"the filter '{name}' leaves it out")


def test_another_groups_is_told_so_and_what_no_filter_hides_by_its_state(visible: Visibility) -> None:
    other = row(Group.objects.create(slug="garden"), "The deploy port is 9000.")
    assert excluding_filters(other, visible) == ["group"]
    forgotten = ledger_row("The deploy port was 1.", state="forgotten")
    assert excluding_filters(forgotten, visible) == []
    actor = actor_for_user(User.objects.get(username="alice"), via="rest")
    assert explain_for(actor, forgotten, "deploy port").reason == "recall hides forgotten memories"
