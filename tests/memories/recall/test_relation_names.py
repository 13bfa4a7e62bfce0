"""Possible entity names in a question, and the predicates that it asks for."""

import pytest

from memories.recall.relations import find_name_spans, matches_predicate


def folds(text: str) -> set[str]:
    return {spot.fold for spot in find_name_spans(text)}


def test_words_pairs_and_triples_may_be_names_but_stop_words_alone_are_none() -> None:
    assert folds("Who is Otto Berg?") == {
        "otto", "berg", "berg?", "is otto", "otto berg", "who is otto", "is otto berg",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What is Maria's desk?", "maria"),
        ("What is Maria’s desk?", "maria"),
        ("Is it written in C++?", "c++"),
        ("Does .NET run there?", ".net"),
        ("Ask (Otto Berg), please.", "otto berg"),
        ("OTTO  BERG?", "otto berg"),
        ("海鷗项目在哪里?", "海鷗"),
    ],
)
def test_names_are_found_whatever_stands_around_them(question: str, name: str) -> None:
    assert name in folds(question)


@pytest.mark.parametrize(
    ("predicate", "question", "is_asked"),
    [
        ("works_at", "work", True),
        ("is_managed_by", "manager", True),
        ("owns", "own", True),
        ("is_part_of", "is", False),
        ("mentors", "tea", False),
    ],
)
def test_a_question_asks_for_a_predicate_by_any_of_its_telling_words(
    predicate: str, question: str, is_asked: bool
) -> None:
    assert matches_predicate(predicate, {question[:5]}) is is_asked
