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
