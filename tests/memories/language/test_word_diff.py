"""A word-level diff: what stays, what goes, what comes, worked out by hand."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language.word_diff import MAX_WORDS, DiffPart, diff_words


def shown(before: str, after: str) -> str:
    """Write a diff as one line: [-gone-]{+new+}."""
    marks = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(marks[part.kind].format(part.text) for part in diff_words(before, after))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", ""),
        ("same", "same", "same"),
        ("", "new", "{+new+}"),
        ("gone", "", "[-gone-]"),
        ("The port is 8082.", "The port is 8443.", "The port is [-8082-]{+8443+}."),
        ("It is in Berlin", "It is not in Berlin", "It is {+not +}in Berlin"),
        ("a b c", "a c", "a [-b -]c"),
        # A blank between two changes belongs to them.
        ("It is in Berlin", "It was near Berlin", "It [-is in-]{+was near+} Berlin"),
        # A number, a version and a name with its marks are one word each.
        ("costs 1,250.50 now", "costs 1,260.50 now", "costs [-1,250.50-]{+1,260.50+} now"),
        ("use v1.2-rc", "use v1.3-rc", "use [-v1.2-rc-]{+v1.3-rc+}"),
        ("don't stop", "do stop", "[-don't-]{+do+} stop"),
        ("Grüße aus Köln", "Grüße aus Bonn", "Grüße aus [-Köln-]{+Bonn+}"),
        ("one\ntwo", "one\n\ntwo", "one[-\n-]{+\n\n+}two"),
    ],
)
def test_what_differs_is_marked_word_by_word(before: str, after: str, expected: str) -> None:
    assert shown(before, after) == expected


def test_parts_of_one_kind_stand_together() -> None:
    kinds = [part.kind for part in diff_words("a b c d e f", "a x y d z f")]
    assert kinds == ["same", "gone", "new", "same", "gone", "new", "same"]


def test_a_long_change_goes_by_sentences_and_stays_quick() -> None:
    before = "".join(f"Item {n} costs {n} coins. " for n in range(MAX_WORDS))
    after = "Now:" + before.replace("Item 7 ", "Thing 7 ") + "End"
    started = time.process_time()
    parts = diff_words(before, after)
    assert time.process_time() - started < 3
    assert DiffPart("gone", "Item 7 costs 7 coins. ") in parts
    assert DiffPart("new", "Thing 7 costs 7 coins. ") in parts


TEXT = st.text(alphabet="ab .,1\nß", max_size=60)


@given(TEXT, TEXT)
def test_both_texts_can_be_read_off_the_parts(before: str, after: str) -> None:
    parts = diff_words(before, after)
    assert "".join(part.text for part in parts if part.kind != "new") == before
    assert "".join(part.text for part in parts if part.kind != "gone") == after
    assert all(part.text for part in parts)
    assert all(one.kind != other.kind for one, other in pairwise(parts))
