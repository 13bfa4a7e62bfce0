"""Words about the form of the answer are left out of the search; the speaker is a part of the ranking."""

import pytest

from bench.evaluate.ablation import whole_question
from memories.embedding import Encoder
from memories.recall.question import Speakers, readable_share, said_by, subject_of, understand


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Which port do we deploy on?", "Which port do we deploy on?"),
        ("Can you tell me about the deploy port?", "the deploy port?"),
        ("Please list the ports of the servers.", "the ports of the servers"),
        ("Can you give me a short summary of the move to Hamburg?", "the move to Hamburg?"),
        ("What did Maria say throughout our conversations?", "What did Maria say?"),
        ("The order in which I mentioned different aspects of the garden, in order. Mention only five items.", "the garden"),
        ("Can you help me plan the garden?", "help me plan the garden?"),
        ("Summarize", "Summarize"),  # nothing would be left
        ("Can Maria cook?", "Can Maria cook?"),
        ("Could it rain?", "Could it rain?"),
        # The memory itself is no subject, and one word is enough for a tag.
        ("Is there anything stored with the tag accessibility?", "accessibility?"),
        ("legal notes concerning the checkout", "legal the checkout"),
        ("Do we have any notes about Redis and carts?", "Redis and carts?"),
        ("Which nostalgic memories about Utah are there?", "Which nostalgic memories about Utah are there?"),
        ("Which tag did we release last?", "Which tag did we release last?"),
    ],
)  # fmt: skip
def test_the_subject_is_what_is_left(question: str, subject: str) -> None:
    assert subject_of(question) == subject


@pytest.mark.parametrize(
    ("question", "is_state"),
    [
        ("Where are we with the checkout rewrite?", True),
        ("How far is the migration?", True),
        ("What did I leave unfinished yesterday?", True),
        ("what's the status of the stock reservation", True),
        ("Where are we going on holiday?", False),
        ("When was the state of Utah established?", False),
        ("Which status codes does the feed answer with?", False),
        ("What did Maria leave on the table?", False),
    ],
)
def test_how_things_stand_is_asked(question: str, is_state: bool) -> None:
    assert understand(question, encoder=None).asks_state == is_state


@pytest.mark.parametrize(
    ("question", "who"),
    [
        ("Which port do I use?", Speakers.USER),
        ("When is my appointment?", Speakers.USER),
        ("How did you recommend that I deploy?", Speakers.ASSISTANT),
        ("What was your advice on the port?", Speakers.ASSISTANT),
        ("Which port does the server use?", Speakers.ANYONE),
        ("What time is it?", Speakers.ANYONE),  # "me" stands in "time"
    ],
)
def test_who_said_what_is_sought(question: str, who: Speakers) -> None:
    assert said_by(question) is who


def test_the_search_goes_by_the_subject_and_the_rest_by_the_whole_question() -> None:
    asked = understand("Can you tell me what I said of Maria in May 2023?", encoder=None)
    assert asked.match is not None
    assert asked.match.terms == ("said", "maria", "2023")
    assert asked.said_by is Speakers.USER
    assert [(date.year, date.month) for date in asked.dates] == [(2023, 5)]


def test_the_step_can_be_taken_out() -> None:
    whole = whole_question(understand("Can you list the ports?", encoder=None), encoder=None)
    assert whole.match is not None
    assert whole.match.terms == ("list", "ports")


@pytest.mark.parametrize(
    ("text", "share"), [("Which port?", 1.0), ("café", 1.0), ("部署端口", 0.0), ("部署ab", 0.5), ("?…", 1.0)]
)
def test_the_share_of_letters_that_the_model_reads(text: str, share: float) -> None:
    assert readable_share(text) == share


class Listener(Encoder):
    """Hears what it is asked to embed."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def question_vector(self, text: str) -> None:  # type: ignore[override]
        self.heard.append(text)


def test_meaning_is_asked_with_the_subject() -> None:
    listener = Listener()
    understand("Can you tell me about the deploy port?", encoder=listener)
    assert listener.heard == ["the deploy port?"]
