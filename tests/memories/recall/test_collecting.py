"""Questions that collect: many short hits within the same budget, oldest first where order is asked for."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.models import Group
from memories.embedding import Encoder
from memories.language.word_forms import root
from memories.models import IndexState, Memory, Piece
from memories.recall import RecallRequest, recall
from memories.recall.choosing import Excerpts, choose_count, share_room
from memories.recall.collecting import Asker, Collects, read_collecting
from tests.memories.builders import row
from tests.people import person

MANY = [
    "What kinds of tests do we run?",
    "Which vendors have we talked to so far?",
    "what databases has Maria evaluated",
    "List all hosts in the Frankfurt data centre.",
    "Please list the decisions about logging",
    "How often did the nightly export fail?",
    "how many times have we changed the rate limit",
    "Summarise what we know about Baltrum Line.",
    "Can you give me a short summary of the migration?",
    "What do we know about accessibility?",
    "Everything about the mobile app, please",
    "Which rules are there on keeping data?",
    "Which of our tests are unreliable?",
    "Collect our security findings.",
    "What is stored about translation?",
    "We met the customer yesterday. Which wishes have they sent?",
    "Welche Datenbanken haben wir ausprobiert?",
    "Fasse die Regeln für Releases zusammen",
    "Quels types de tests avons-nous ?",
    "¿Cuántas veces falló la exportación?",
    "Quante volte è fallito il deploy?",
    "Podsumuj spotkanie",
]
ALL = {
    "How many projects do we run?": "project",
    "how many open tickets are there": "ticket",
    "Which customers exist?": "custo",
    "What are our hosts?": "host",
    "Count the projects.": "project",
    "List all of our vendors": "vendo",
    "What is the number of hosts?": "host",
}
ONESELF = [
    "What do you know about me?",
    "Who am I?",
    "Tell me about myself",
    "What are my preferences?",
    "What have you stored about the user so far?",
    "Was weißt du über mich?",
    "¿Quién soy?",
]
NOT_ONESELF = [
    "Who am?",
    "Who am I meeting on Monday?",
    "Who is the user that we blocked?",
    "Chi sono i nostri clienti?",
    "What is my dog called?",
    "What do you know about Maria?",
    "Who told me about the outage?",
    "",
]
IN_ORDER = [
    "In which order did we migrate the services?",
    "Can you list the order in which I brought up the topics, in order?",
    "List all incidents of 2026 in chronological order.",
    "Give me a timeline of the outage",
    "Which upgrades have we done, oldest first?",
    "What went wrong in 2025, one after the other?",
    "In welcher Reihenfolge haben wir die Dienste umgestellt?",
]
ONE = [
    "What kind of horse was Mr Ed?",
    "How many days do we have until the launch?",
    "How many parcels did the depot pack?",
    "In which order should middleware be registered?",
    "What order is the moth?",
    "How often are the signing keys changed?",
    "How many times does the client retry?",
    "What test has John taken multiple times?",
    "What is the list price of the car?",
    "Which status has the ticket?",
    "What types of content would you suggest I add?",
    "Who wrote the summary of the meeting?",
    "Which port does the server use?",
    "What states has the machine?",
    "Where is the overview of the network?",
    "",
]


@pytest.mark.parametrize("question", MANY)
def test_a_question_that_asks_for_many_collects(question: str) -> None:
    assert read_collecting(question).collects is Collects.BEST_FIRST


@pytest.mark.parametrize(("question", "thing"), ALL.items())
def test_a_question_for_all_of_a_thing_says_of_which(question: str, thing: str) -> None:
    assert root(read_collecting(question).thing) == root(thing)


@pytest.mark.parametrize(
    "question", [*MANY, *ONE, "How many days do we have?", "How many hosts do we have in York?"]
)
def test_other_questions_name_no_thing(question: str) -> None:
    assert not read_collecting(question).thing


@pytest.mark.parametrize("question", ONESELF)
def test_a_question_about_oneself_is_known(question: str) -> None:
    assert read_collecting(question).is_oneself


@pytest.mark.parametrize("question", [*NOT_ONESELF, *ONE])
def test_a_question_about_something_of_oneself_is_another(question: str) -> None:
    assert not read_collecting(question).is_oneself


@pytest.mark.parametrize(
    ("text", "author", "is_own"),
    [
        ("I like tea.", 1, True),
        ("I like tea.", 2, False),  # another person's I
        ("Her name is on my list.", None, True),
        ("The user prefers tea.", 1, True),
        ("User accounts are locked after five attempts.", 1, False),
        ("Ann prefers tea.", 2, True),
        ("Ann Meier prefers tea.", 2, True),
        ("Ann Smith prefers tea.", 2, False),
        ("Maria says that Ann prefers tea.", 2, False),
    ],
)
def test_a_statement_tells_of_the_person_who_asks(text: str, author: int | None, is_own: bool) -> None:
    asker = Asker(1, ("ann",), "meier")
    assert asker.is_told_by(Memory(content=text, author_id=author), ()) == is_own


@pytest.mark.parametrize("question", IN_ORDER)
def test_a_question_that_asks_for_an_order_collects_in_time(question: str) -> None:
    assert read_collecting(question).collects is Collects.OLDEST_FIRST


@pytest.mark.parametrize("question", ONE)
def test_a_question_that_asks_for_one_fact_does_not_collect(question: str) -> None:
    assert read_collecting(question).collects is Collects.NOTHING


def test_room_that_short_texts_leave_goes_to_the_others() -> None:
    assert share_room([10, 100, 100], 90) == 40
    assert share_room([10, 20, 30], 90) == 30


def test_fewer_memories_are_taken_where_each_would_have_too_little_room() -> None:
    class Row:
        def __init__(self, key: int) -> None:
            self.key = key

    rows = [Row(key) for key in range(40)]
    marks = dict.fromkeys(range(40), 25)
    counts = dict.fromkeys(range(40), 200)
    assert len(choose_count(rows, counts, marks, 10_000)) == 40  # type: ignore[arg-type]
    assert len(choose_count(rows, counts, marks, 1_625)) == 25  # type: ignore[arg-type]  # 40 tokens of text each
    assert len(choose_count(rows, counts, marks, 1_000)) == 20  # type: ignore[arg-type]  # 25 each
    assert len(choose_count(rows, counts, marks, 410)) == 10  # type: ignore[arg-type]  # 16 each


def test_an_excerpt_has_whole_sentences_around_the_words() -> None:
    text = (
        "Ben: We had lunch. The deploy failed at noon because of a lock. Then we went home. It rained a lot."
    )
    part, tokens = Excerpts(frozenset({"deploys", "fail"}), None).shorten(text, 26, 16)
    assert part == "Ben: … The deploy failed at noon because of a lock. …"
    assert tokens <= 16


def test_an_excerpt_of_one_long_sentence_is_cut_between_words() -> None:
    text = (
        " ".join(f"word{n}" for n in range(100)) + " lighthouse " + " ".join(f"more{n}" for n in range(100))
    )
    part, tokens = Excerpts(frozenset({"lighthouse"}), None).shorten(text, len(text) // 4, 20)
    assert part.startswith("… word")
    assert "lighthouse" in part
    assert part.endswith(" …")
    assert tokens <= 20


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
class TestAnswers:
    @pytest.fixture(autouse=True)
    def failures(self, alice: User, ledger: Group, encoder: Encoder) -> None:
        """Thirty-two failures of the export, one a day, the newest stored first, each in many words."""
        IndexState.objects.get_or_create(name="model", defaults={"value": encoder.model_id})
        rows = [
            row(
                ledger,
                f"Somebody had looked at the dashboards that morning, number {n}. The nightly export failed for reason {n} "
                f"at {n % 12} o'clock. Afterwards people talked about quite other things for a long time, as they do. The weather was fine, and nobody wrote more of it down than was needed.",
                type="episodic",
                valid_from=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=n),
            )
            for n in reversed(range(32))
        ]
        for memory, vector in zip(rows, encoder.encode([memory.content for memory in rows]), strict=True):
            embedded = {
                "embedding": vector.tobytes(),
                "model": encoder.model_id,
                "tokens": encoder.count_tokens(memory.content),
            }
            Piece.objects.create(memory=memory, ordinal=0, start=0, end=len(memory.content), **embedded)

    def test_up_to_thirty_short_hits_come_within_the_budget(self, alice: User, encoder: Encoder) -> None:
        found = recall(person(alice), RecallRequest("How often did the nightly export fail?", group="ledger"))
        assert found.collects == Collects.BEST_FIRST
        assert 20 <= len(found.items) <= 30
        assert found.tokens == encoder.count_tokens(found.show()) <= 2000
        assert all("The nightly export failed for reason" in item.text for item in found.items)
        assert any(item.is_cut and "…" in item.text for item in found.items)
        assert "collected best first" in found.show()

    def test_an_order_in_time_is_oldest_first(self, alice: User) -> None:
        question = "In which order did the nightly exports fail?"
        found = recall(person(alice), RecallRequest(question, group="ledger"))
        days = [item.memory.valid_from for item in found.items]
        assert len(days) >= 20
        assert days == sorted(days)  # type: ignore[type-var]
        assert "collected oldest first" in found.show()

    def test_the_callers_number_and_budget_count(self, alice: User, encoder: Encoder) -> None:
        question = "How often did the nightly export fail?"
        few = recall(person(alice), RecallRequest(question, group="ledger", max_results=3))
        assert len(few.items) == 3
        small = recall(person(alice), RecallRequest(question, group="ledger", token_budget=400))
        assert encoder.count_tokens(small.show()) <= 400
        assert 5 <= len(small.items) < 20
        assert small.left_out > 0

    def test_another_question_has_ten_whole_hits(self, alice: User) -> None:
        found = recall(person(alice), RecallRequest("Why did the nightly export fail?", group="ledger"))
        assert (len(found.items), found.collects) == (10, Collects.NOTHING)

    def test_the_command_says_that_it_collects(self, alice: User, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("recall", "How often did the nightly export fail?", group="ledger")
        assert "Collected, best first:" in capsys.readouterr().out
        call_command("recall", "How often did the nightly export fail?", group="ledger", json=True)
        assert json.loads(capsys.readouterr().out)["collects"] == "best first"
