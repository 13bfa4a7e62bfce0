"""Lengths of candidates, and turns of threads."""

import pytest

from memories.models import Memory
from memories.recall.scoring import Candidate, add_lengths_and_turns, word_count


def turns_among(*places: tuple[int | None, int | None]) -> list[bool]:
    """Whether each memory at these (thread, position) places is a turn of a conversation."""
    rows = {
        key: Memory(key=key, content="one two", thread_id=thread, position=position)
        for key, (thread, position) in enumerate(places)
    }
    return [c.is_turn for c in add_lengths_and_turns([Candidate(key) for key in rows], rows)]


def test_a_memory_without_a_thread_stands_alone() -> None:
    assert turns_among((None, None), (None, None)) == [False, False]


def test_the_only_memory_of_a_thread_stands_alone() -> None:
    assert turns_among((7, 0)) == [False]


def test_a_memory_with_another_one_before_it_is_a_turn() -> None:
    assert turns_among((7, 3)) == [True]


def test_the_first_of_a_thread_is_a_turn_where_another_one_is_a_candidate() -> None:
    assert turns_among((7, 0), (7, 4)) == [True, True]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" ", 0),
        (" one", 1),
        ("one ", 1),
        ("one two", 2),
        ("one\ntwo", 2),
        ("one\ttwo", 2),
        ("één twee", 2),
        ("one two  three", 3),
        ("私は毎朝コーヒーを飲みます。" * 5, 7),
        ("x" * 95, 9),
    ],
)
def test_words_are_counted_and_texts_without_spaces_by_their_characters(text: str, count: int) -> None:
    assert word_count(text) == count


def test_the_length_is_filled_in_and_the_scores_are_kept() -> None:
    row = Memory(key=1, content="one two three")
    [candidate] = add_lengths_and_turns([Candidate(1, 2.0, 0.5, 1, 2)], {1: row})
    assert candidate == Candidate(1, 2.0, 0.5, 1, 2, words=3)
