"""Questions about a time are answered by the memories of that time, through the whole of recall."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.models import Group
from memories.embedding import Encoder
from memories.models import Memory
from memories.recall import RecallRequest, RecallResult, recall
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model, pytest.mark.usefixtures("encoder")]
TODAY = timezone.now().replace(hour=12, minute=0, second=0, microsecond=0)
MONDAY = TODAY - timedelta(days=TODAY.weekday())


def event(owner: User, text: str, moment: datetime, group: str = "ledger") -> None:
    kept(person(owner), text, group=group, type="episodic", scope="group", valid_from=moment)


def ask(who: User, query: str, **fields: object) -> RecallResult:
    return recall(person(who), RecallRequest(query, group="ledger", **fields))


def texts(answer: RecallResult) -> list[str]:
    return [item.text for item in answer.items]


@pytest.fixture
def weeks(alice: User, ledger: Group) -> None:
    """Three events of last week, one of this and one of the week before, and facts without a day."""
    event(alice, "Otto rotated the keys of the mail service.", MONDAY - timedelta(days=6))
    event(alice, "The ledger deploy failed on a locked table.", MONDAY - timedelta(days=7))
    event(alice, "Ida moved the pipeline to new runners.", MONDAY - timedelta(days=4))
    event(alice, "The old printer was given away.", MONDAY - timedelta(days=10))
    event(alice, "Cleaning of the kitchen was agreed.", MONDAY)
    for fact in (
        "Amounts are integers in cents.",
        "Refunds need two approvals.",
        "The kitchen closes at nine.",
    ):
        kept(person(alice), fact, group="ledger")
    Memory.objects.filter(valid_from=None).update(created_at=TODAY - timedelta(days=400))


@pytest.mark.usefixtures("weeks")
@pytest.mark.parametrize(
    "asked", ["what happened last week?", "What's new from last week", "summarise last week"]
)
def test_a_time_alone_lists_its_events_newest_first(alice: User, asked: str) -> None:
    assert texts(ask(alice, asked)) == [
        "Ida moved the pipeline to new runners.",
        "Otto rotated the keys of the mail service.",
        "The ledger deploy failed on a locked table.",
    ]


@pytest.mark.usefixtures("weeks")
@pytest.mark.parametrize("mode", ["keyword", "vector", "rrf", "weighted"])
def test_a_time_alone_lists_its_events_in_every_mode(alice: User, mode: str) -> None:
    assert len(texts(ask(alice, "what happened last week?", mode=mode))) == 3


@pytest.mark.usefixtures("weeks")
def test_a_list_of_a_time_keeps_to_limit_and_budget(alice: User) -> None:
    assert texts(ask(alice, "what happened last week?", max_results=1)) == [
        "Ida moved the pipeline to new runners."
    ]
    short = ask(alice, "what happened last week?", token_budget=105)  # a short id has two to five tokens
    assert len(short.items) in (1, 2)
    assert short.left_out == 3 - len(short.items)


def test_a_time_alone_lists_more_than_the_usual_number(alice: User, ledger: Group) -> None:
    for number in range(14):
        event(alice, f"Delivery number {number} has come in.", MONDAY - timedelta(days=7, minutes=-number))
    assert texts(ask(alice, "what happened last week?")) == [
        f"Delivery number {number} has come in." for number in reversed(range(14))
    ]


@pytest.mark.usefixtures("weeks")
@pytest.mark.parametrize(
    "asked",
    [
        "what happened yesterday three years ago?",
        "What happened on 3.2.2019?",
        "what did we do in February 2019?",
    ],
)
def test_a_time_of_which_nothing_is_stored_has_no_answer(alice: User, asked: str) -> None:
    answer = ask(alice, asked)
    assert answer.abstained
    assert answer.items == ()


@pytest.mark.usefixtures("weeks")
def test_a_day_of_which_nothing_is_stored_is_not_answered_by_other_days(alice: User) -> None:
    answer = ask(alice, "Which ledger deploy failed on 3 February 2019?", explain=True)
    assert answer.abstained
    assert texts(answer) == []
    assert answer.trace is not None
    why = next(step.detail["why"] for step in answer.trace.steps if step.name == "relevance")
    assert why == "nothing is stored of 2019-2-3"


@pytest.mark.parametrize(
    "text",
    [
        "The ledger deploy of 3 February 2019 failed on a locked table.",
        "On 2019-02-03 the ledger deploy failed.",
    ],
)
def test_a_memory_of_another_day_that_names_the_day_answers(alice: User, ledger: Group, text: str) -> None:
    event(alice, text, TODAY - timedelta(days=3))
    assert texts(ask(alice, "Which ledger deploy failed on 3.2.2019?")) == [text]


def test_a_fact_that_was_true_on_the_day_answers(alice: User, ledger: Group) -> None:
    text = "The ledger runs on PostgreSQL 14."
    kept(person(alice), text, group="ledger", valid_from=datetime(2018, 1, 1, tzinfo=UTC))
    assert texts(ask(alice, "Which PostgreSQL did the ledger run on, on 3.2.2019?")) == [text]
    assert ask(alice, "Which PostgreSQL did the ledger run on, on 3.2.2017?").abstained


@pytest.mark.usefixtures("weeks")
def test_today_and_days_to_come_are_answered_by_what_is_known(alice: User) -> None:
    assert "The kitchen closes at nine." in texts(ask(alice, "When does the kitchen close today?"))
    assert "The kitchen closes at nine." in texts(ask(alice, "When does the kitchen close tomorrow?"))


def test_a_date_brings_a_memory_that_no_search_finds(alice: User, ledger: Group, encoder: Encoder) -> None:
    for number in range(100, 170):
        event(
            alice,
            f"The outage of service {number} ended after a restart.",
            TODAY - timedelta(days=200 + number),
        )
    wanted = "Payments were down because a certificate had run out."
    event(alice, wanted, datetime(2024, 1, 25, 9, 0, tzinfo=UTC))
    assert texts(ask(alice, "Why was there an outage of the service on 25.01.2024?"))[:1] == [
        wanted
    ]  # 70 others share its words


def test_a_date_brings_nothing_that_the_caller_may_not_see(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    event(alice, "Roses were planted behind the house.", datetime(2024, 1, 25, tzinfo=UTC), group="garden")
    event(alice, "The ledger deploy failed.", datetime(2024, 1, 26, tzinfo=UTC))
    assert ask(alice, "what happened on 25.01.2024?").abstained
    both = recall(person(alice), RecallRequest("what happened on 25.01.2024?", group="garden"))
    assert texts(both) == ["Roses were planted behind the house."]


@pytest.mark.usefixtures("weeks")
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("what happened since last Monday?", None),
        ("what happened before 2019?", []),
        ("what happened after 1 January 2019?", 5),
    ],
)
def test_bounds_list_what_lies_inside(alice: User, asked: str, expected: object) -> None:
    found = texts(ask(alice, asked))
    assert (len(found) if isinstance(expected, int) else found if expected == [] else expected) == expected


def test_as_of_keeps_what_came_later_behind(alice: User, ledger: Group) -> None:
    event(alice, "Ana moved to Lyon.", datetime(2023, 10, 2, tzinfo=UTC))
    event(alice, "Ana moved to Paris.", datetime(2023, 12, 4, tzinfo=UTC))
    assert texts(ask(alice, "Where did Ana live as of November 2023?"))[:1] == ["Ana moved to Lyon."]
    assert texts(ask(alice, "Where has Ana moved since November 2023?"))[:1] == ["Ana moved to Paris."]


def test_a_fact_without_a_day_is_of_the_day_on_which_it_was_stored(alice: User, ledger: Group) -> None:
    kept(person(alice), "Refunds need two approvals.", group="ledger")
    kept(person(alice), "Refunds are paid on Mondays.", group="ledger")
    old = Memory.objects.get(content="Refunds are paid on Mondays.")
    Memory.objects.filter(key=old.key).update(created_at=TODAY - timedelta(days=60))
    assert texts(ask(alice, "what did we decide about refunds today?"))[:1] == ["Refunds need two approvals."]
    assert texts(ask(alice, "what happened today?")) == ["Refunds need two approvals."]


def test_a_day_is_one_of_the_current_time_zone(alice: User, ledger: Group) -> None:
    event(alice, "The alarm went off.", datetime(2024, 1, 24, 23, 30, tzinfo=UTC))
    event(alice, "A day without an hour.", datetime(2024, 1, 25, tzinfo=UTC))
    with timezone.override(ZoneInfo("Europe/Warsaw")):
        assert texts(ask(alice, "what happened on 25.01.2024?")) == [
            "A day without an hour.",
            "The alarm went off.",
        ]
    with timezone.override(ZoneInfo("America/New_York")):
        assert texts(ask(alice, "what happened on 24.01.2024?")) == ["The alarm went off."]
        assert texts(ask(alice, "what happened on 25.01.2024?")) == ["A day without an hour."]
