"""Questions of the recall log, grouped by their words: how often they were asked, and how often without an answer."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.browse import recalls
from memories.browse.recalls import grouped_questions
from memories.models import RecallLog
from tests.people import person

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
BEFORE = NOON - timedelta(days=1)
Ask = Callable[..., RecallLog]


@pytest.fixture
def ask() -> Ask:
    """Log a recall a minute after the last one; `missed`: it had no answer."""

    def asked(
        question: str, group: Group | None, *, actor: str = "bob/agent", missed: bool = False
    ) -> RecallLog:
        at = NOON + timedelta(minutes=RecallLog.objects.count())
        return RecallLog.objects.create(
            at=at,
            group=group,
            actor=actor,
            via="mcp",
            mode="hybrid",
            query=question,
            duration_ms=1,
            abstained=missed,
        )

    return asked


def test_the_same_words_are_one_question_in_each_group(
    alice: User, ledger: Group, garden: Group, ask: Ask
) -> None:
    ask("What is the deploy port?", ledger, missed=True)
    ask("deploy PORT", ledger)
    ask("what is the deploy port", garden)
    newest = ask("Which is the port of the deploy?", ledger, missed=True)
    ask("Who waters the roses?", None)
    found = grouped_questions(person(alice), since=BEFORE)
    assert [(each.question, each.group, each.times, each.missed) for each in found] == [
        ("Who waters the roses?", None, 1, 0),
        ("Which is the port of the deploy?", "ledger", 3, 2),
        ("what is the deploy port", "garden", 1, 0),
    ]
    assert (found[1].recall, found[1].last) == (newest, newest.at)
    [own] = grouped_questions(person(alice), group=garden, since=BEFORE)
    assert own.group == "garden"


def test_a_question_that_has_an_answer_now_is_not_missed_any_more(
    alice: User, ledger: Group, ask: Ask
) -> None:
    ask("deploy port", ledger, missed=True)
    ask("deploy host", ledger, missed=True)
    ask("the deploy port", ledger)
    found = grouped_questions(person(alice), since=BEFORE, missed_only=True)
    assert [each.question for each in found] == ["deploy host"]


def test_questions_without_a_word_to_compare_are_equal_if_their_texts_are(
    alice: User, ledger: Group, ask: Ask
) -> None:
    for question in ("what is it?", "who was she?", "🌹", "🌷", "🌹", "部署端口", "部署端口"):
        ask(question, ledger)
    found = grouped_questions(person(alice), since=BEFORE)
    assert {each.question: each.times for each in found} == {
        "what is it?": 1, "who was she?": 1, "🌹": 2, "🌷": 1, "部署端口": 2,
    }  # fmt: skip


def test_others_questions_are_for_those_who_curate(
    alice: User, bob: User, charlie: User, ledger: Group, garden: Group, ask: Ask
) -> None:
    ask("hers?", ledger, actor="alice")
    ask("his?", ledger)
    ask("hers too?", garden, actor="alice")
    assert [each.question for each in grouped_questions(person(bob), since=BEFORE)] == ["his?"]
    assert [each.question for each in grouped_questions(person(bob), group=ledger, since=BEFORE)] == ["his?"]
    assert grouped_questions(person(charlie), since=BEFORE) == []


def test_old_recalls_and_those_behind_the_newest_are_not_read(
    alice: User, ledger: Group, garden: Group, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        ask(f"question {number}", ledger)
    ask("another?", garden)
    since = NOON + timedelta(minutes=2)
    assert [each.question for each in grouped_questions(person(alice), group=ledger, since=since)] == [
        "question 3", "question 2",
    ]  # fmt: skip
    assert len(grouped_questions(person(alice), since=BEFORE, limit=3)) == 3
    monkeypatch.setattr(recalls, "LOOKED_THROUGH", 2)
    found = grouped_questions(person(alice), since=BEFORE)
    assert [each.question for each in found] == ["another?", "question 3"]
    found = grouped_questions(person(alice), group=ledger, since=BEFORE)
    assert [each.question for each in found] == ["question 3", "question 2"]
