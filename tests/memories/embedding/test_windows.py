"""A long text becomes windows that cover it, fit, and end where a reader would pause."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.embedding import Encoder, Window
from memories.embedding.encoder import split_text
from memories.embedding.model import TextTokenizer

pytestmark = pytest.mark.model

WORDS = st.sampled_from(
    [
        "harbour",
        "unbelievably",
        "Donaudampfschifffahrt",
        "x" * 150,
        "東京",
        "🚢",
        "a.b.c",
        "3.14",
        "…",
        "[SEP]",
    ]
)
GAPS = st.sampled_from([" ", "", ". ", "\n", "\n\n", "\t", "! ", "。"])


def check(text: str, spans: list[Window], tokenizer: TextTokenizer, window: int) -> None:
    assert spans[0].start == 0
    assert spans[-1].end == len(text)
    for one, following in pairwise(spans):
        assert one.start < following.start <= one.end < following.end
    for span in spans:
        assert span.tokens == tokenizer.count(text[span.start : span.end]) <= window


def test_a_short_text_is_one_span(encoder: Encoder) -> None:
    assert encoder.split("harbour, harbour!") == [Window(0, 17, 4)]


def test_no_text_is_one_empty_span(encoder: Encoder) -> None:
    assert encoder.split("") == [Window(0, 0, 0)]
    assert encoder.split(" \n ") == [Window(0, 3, 0)]


def test_a_text_that_just_fits_is_not_cut(encoder: Encoder) -> None:
    assert len(encoder.split("harbour " * 254)) == 1
    assert len(encoder.split("harbour " * 255)) == 2


def test_reserved_tokens_are_left_free(encoder: Encoder) -> None:
    spans = encoder.split("harbour " * 255, reserve=54)

    assert max(span.tokens for span in spans) == 200


def test_windows_repeat_the_asked_number_of_tokens(encoder: Encoder) -> None:
    first, second = encoder.split("harbour " * 300, overlap=10)

    assert first == Window(0, 254 * 8, 254)
    assert second == Window(244 * 8, 300 * 8, 56)


def test_without_overlap_windows_touch(encoder: Encoder) -> None:
    first, second = encoder.split("harbour " * 300, overlap=0)

    assert second.start == first.end


def test_a_paragraph_s_end_is_the_best_place(tokenizer: TextTokenizer) -> None:
    text = "harbour " * 12 + "harbour.\n\n" + "harbour " * 5 + "harbour. " + "harbour " * 20

    first, *_ = split_text(text, tokenizer, window=20, overlap=0)

    assert text[: first.end].endswith("harbour.\n\n")


def test_a_sentence_s_end_is_better_than_a_later_word_s(tokenizer: TextTokenizer) -> None:
    text = "harbour " * 12 + 'harbour." ' + "harbour " * 30

    first, *_ = split_text(text, tokenizer, window=20, overlap=0)

    assert text[: first.end].endswith('harbour." ')


def test_a_point_inside_a_number_ends_no_sentence(tokenizer: TextTokenizer) -> None:
    text = "harbour " * 12 + "3.14 " + "harbour " * 30

    first, *_ = split_text(text, tokenizer, window=20, overlap=0)

    assert first.tokens == 20


def test_a_word_is_not_torn(tokenizer: TextTokenizer) -> None:
    text = "Donaudampfschifffahrt " * 10

    spans = split_text(text, tokenizer, window=20, overlap=0)

    assert all(text[span.start : span.end].strip().endswith("fahrt") for span in spans)


def test_what_is_repeated_begins_with_a_sentence(tokenizer: TextTokenizer) -> None:
    text = "harbour " * 9 + "harbour. Ledger crane rope. " + "harbour " * 30

    _, second, *_ = split_text(text, tokenizer, window=20, overlap=9)

    assert text[second.start :].startswith("Ledger")


def test_a_window_too_small_to_say_anything_is_refused(encoder: Encoder) -> None:
    with pytest.raises(ValueError, match="at least 16"):
        encoder.split("harbour", reserve=250)


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.tuples(WORDS, GAPS), max_size=120), overlap=st.integers(0, 40))
def test_any_text_is_covered_and_every_window_fits(
    tokenizer: TextTokenizer, parts: list[tuple[str, str]], overlap: int
) -> None:
    text = "".join(word + gap for word, gap in parts)

    spans = split_text(text, tokenizer, window=40, overlap=overlap)

    check(text, spans, tokenizer, 40)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=300))
def test_any_characters_are_covered(tokenizer: TextTokenizer, text: str) -> None:
    check(text, split_text(text, tokenizer, window=16, overlap=4), tokenizer, 16)
