"""What a question asks for besides its words."""

import pytest

from memories.recall.question import understand


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
    ("question", "is_read", "readable"),
    [
        ("Which port does the staging server use?", True, 1.0),
        ("Welchen Port benutzt der Server für die Tests?", False, 1.0),
        ("测试服务器使用哪个端口", False, 0.0),
    ],
)
def test_a_model_of_english_makes_something_of_latin_letters_alone(
    question: str, is_read: bool, readable: float
) -> None:
    asked = understand(question, encoder=None)
    assert (asked.is_read, asked.readable) == (is_read, readable)
