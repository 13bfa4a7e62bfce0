"""Which predicates a question asks for; no database."""

import pytest

from memories.entities.lines import matches_predicate, predicate_forms, verb_stem


@pytest.mark.parametrize(
    ("question", "predicate"),
    [
        ("who owns the cart?", "owned_by"),
        ("Who is the owner of the cart?", "owns"),
        ("Which company carries our parcels?", "carried_by"),
        ("where does she work?", "works_at"),
    ],
)
def test_a_question_asks_for_a_predicate_in_its_own_words(question: str, predicate: str) -> None:
    assert matches_predicate(predicate, predicate_forms(question))


@pytest.mark.parametrize(
    ("question", "predicate"),
    [
        ("what does Mintpay charge us?", "handled_by"),
        ("who owns the cart?", "written_by"),
        ("when is the export done?", "is_a"),
        ("is it in the list?", "is_in"),
    ],
)
def test_other_words_ask_for_none(question: str, predicate: str) -> None:
    assert not matches_predicate(predicate, predicate_forms(question))


def test_forms_of_a_verb_are_one() -> None:
    assert {verb_stem(word) for word in ("own", "owns", "owned", "owner", "owning")} == {"own"}
    assert {verb_stem(word) for word in ("carries", "carried", "carry")} == {"carry"}
    assert verb_stem("need") == "need"  # a shorter stem would be no word
