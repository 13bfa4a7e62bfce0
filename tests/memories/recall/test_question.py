"""Understanding a question without a model."""

import pytest

from memories.language.dates.spans import NamedDate
from memories.recall.question import names_in, understand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What did Maria give John?", {"maria", "john"}),
        ("What is Maria's dog called?", {"maria"}),
        ("What is Maria’s dog called?", {"maria"}),
        ("How much is the service I’m using, and what I'll use?", set()),
        ("Is it what Maria'd pay John?", {"maria", "john"}),
        ("Did Jean-Luc leave in May?", {"did", "jean-luc"} - {"did"}),
        ("what is lower case", set()),
    ],
)
def test_names_are_the_words_with_a_capital(text: str, names: set[str]) -> None:
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("HTTPServer fails", set()),  # stands first; no letter of it is a name of its own
        ("iPhone or Nokia?", {"nokia"}),
        (" Maria met John", {"john"}),
        ("“Maria” is who?", {"maria"}),
    ],
)
def test_the_first_word_names_nobody_for_its_capitals(text: str, named: set[str]) -> None:
    assert understand(text, encoder=None).person_names == named


def test_a_question_is_understood_without_a_model() -> None:
    question = understand("When did Maria sell the car in May 2023?", encoder=None)
    assert question.match is not None
    assert question.match.terms == ("maria", "sell", "car", "2023")
    assert question.vector is None
    assert question.dates == (NamedDate(2023, 5, None),)
    assert question.names == {"maria"}


def test_a_question_without_a_word_looks_for_none() -> None:
    assert understand("?!", encoder=None).match is None
