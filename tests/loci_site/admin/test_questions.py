"""A memory's page shows the questions that returned it, as far as the reader may know them, and what was said about it."""

import re
from datetime import UTC, datetime

from django.contrib.auth.models import User
from django.test import Client

from access.models import Group
from memories.browse.recalls import questions_that_found
from memories.models import Memory, RecallLog
from memories.recall_log import pack_hits
from memories.review.feedback import give_feedback
from tests.loci_site.admin.conftest import Remember, page
from tests.people import person


def asked(question: str, actor: str, memory: Memory, score: float, *, hour: int) -> None:
    RecallLog.objects.create(
        at=datetime(2026, 5, 1, hour, tzinfo=UTC),
        group=memory.group,
        actor=actor,
        via="mcp",
        mode="hybrid",
        query=question,
        hits=pack_hits([(memory.key + 1, 0.9), (memory.key, score)]),
        duration_ms=1.0,
    )


def test_questions_and_feedback_stand_on_the_page(owner: Client, remember: Remember, alice: User) -> None:
    memory = remember("The port is 8081.")
    assert "Recalled for these questions" not in owner.get(page(memory)).content.decode()
    asked("which port?", "bob/agent", memory, 0.4, hour=8)
    asked("which <b>gate</b>?", "bob/agent", memory, 0.3, hour=9)
    asked("which port?", "alice/agent", memory, 0.6, hour=10)
    give_feedback(person(alice), wrong=[str(memory.id)])
    text = owner.get(page(memory)).content.decode()
    assert "Recalled for these questions" in text
    assert re.search(r'2 times, last <time datetime="2026-05-01T10:00:00', " ".join(text.split()))
    assert text.count("which port?</title>") == 1  # both recalls are dots of the line, near each other
    assert "which &lt;b&gt;gate&lt;/b&gt;?" in text
    assert "Agents said: used 0 times, wrong once." in text


def test_a_question_of_others_is_for_those_who_curate(
    remember: Remember, alice: User, bob: User, ledger: Group
) -> None:
    memory = remember("The port is 8081.")
    asked("hers?", "alice", memory, 0.4, hour=8)
    asked("his?", "bob/agent", memory, 0.4, hour=9)
    assert [each.question for each in questions_that_found(person(alice), [memory.key])] == ["his?", "hers?"]
    assert [each.question for each in questions_that_found(person(bob), [memory.key])] == ["his?"]
    assert questions_that_found(person(alice), [memory.key + 5]) == []
