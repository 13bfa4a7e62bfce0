"""Text is cleaned without losing a word, and folded so that only what looks different is gone."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from access.errors import InvalidInput, TooLarge
from memories.language.cleaning import clean_line, clean_text, content_hash, first_words, fold


@pytest.mark.parametrize(
    ("raw", "clean", "removed"),
    [
        ("  a\r\nb\rc  ", "a\nb\nc", 0),
        ("cafe\u0301", "caf\u00e9", 0),
        ("a\x07b\x1b[31mc\x9f", "ab[31mc", 3),
        ("tab\tstays", "tab\tstays", 0),
        ("日本語 😀 العربية", "日本語 😀 العربية", 0),
        ("5 m²", "5 m²", 0),
    ],
)
def test_a_text_is_cleaned(raw: str, clean: str, removed: int) -> None:
    found = clean_text(raw, field="content", max_chars=100)
    assert (found.text, found.removed) == (clean, removed)


@pytest.mark.parametrize("raw", ["", "  \n", "\u200b\u200d", "a\x00b", "\ud800", "x\udfff"])
def test_what_is_no_text_is_refused_with_the_field(raw: str) -> None:
    with pytest.raises(InvalidInput) as error:
        clean_text(raw, field="content", max_chars=100)
    assert error.value.field == "content"


def test_the_limit_is_in_characters_and_inclusive() -> None:
    assert clean_text("ä" * 10, field="content", max_chars=10).text == "ä" * 10
    with pytest.raises(TooLarge) as error:
        clean_text("ä" * 11, field="content", max_chars=10)
    assert error.value.message == "'content' has 11 characters; at most 10 are allowed."


def test_a_line_has_no_breaks() -> None:
    assert clean_line(" a\nb\t c ", field="thread", max_chars=10) == "a b c"
    with pytest.raises(InvalidInput):
        clean_line("x" * 11, field="thread", max_chars=10)


def test_the_hash_is_sha256_of_the_text() -> None:
    assert content_hash("ä") == hashlib.sha256(b"\xc3\xa4").hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The PORT", "the port"),
        ("a  b\n c", "a b c"),
        ("ｐｏｒｔ", "port"),
        ("p\u200bo\u2060r\ufeff\u00adt", "port"),
        ("р\u043ert", "port"),
        ("\u03ba\u03b9ng", "king"),
        ("Straße", "STRASSE"),
        ("it\u2019s", "it's"),
        ("a\u2013b", "a-b"),
        ("p\ufe0fort", "port"),
    ],
)
def test_what_only_looks_different_folds_alike(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"), [("port 1", "port 2"), ("a b", "ab"), ("not a", "a"), ("日本", "日木"), ("a.b", "a b")]
)
def test_what_is_different_stays_different(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text(max_size=60))
def test_folding_twice_changes_nothing_more_for_plain_text(text: str) -> None:
    plain = "".join(c for c in text if c.isascii())
    assert fold(fold(plain)) == fold(plain)


def test_the_first_words_are_cut_at_white_space() -> None:
    assert first_words("one  two\nthree four", 3) == "one two three"
    assert first_words("one", 3) == "one"
