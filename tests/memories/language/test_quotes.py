"""A quote is found by its words, whatever is between them, and blanked where it stands."""

import unicodedata
from functools import partial
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memories.language.dress.quotes import Quotes

CODE = "The launch code of heronry is eight."
KEY: Final = "Der Schlüssel öffnet Ännes Büro im Café: fünf offene Flügel."
DRESSES: Final = (
    str,
    str.upper,
    str.lower,
    str.casefold,
    *(partial(unicodedata.normalize, form) for form in ("NFC", "NFD", "NFKC", "NFKD")),
    lambda part: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in part),  # full width
    lambda part: part.replace("ff", "ﬀ").replace("fl", "ﬂ").replace(" ", "\u00a0"),
)
# Letters that normalising joins with what is before them, takes apart or drops.
STRANGE: Final = (
    "aoéß\u0308\u0301\u0327 .ﬁ½㏂İͺ´¨각\u1100\u1161\u11a8ﾡￂｶﾞか\u3099ক\u09c7\u09be\u200d\u00ad\ufe0f🎉\n&"
)


@pytest.mark.parametrize(
    ("text", "value", "blanked"),
    [
        (CODE, "Noted: the launch code of heronry is eight. Done.", "Noted: [purged] Done."),
        (CODE, "I said THE LAUNCH  CODE\nof heronry is eight, ok?", "I said [purged], ok?"),
        (CODE, "- **The launch code** of _heronry_ is eight", "- **[purged]"),
        (CODE, "Ｔｈｅ launch　code of ｈｅｒｏｎｒｙ is eight!", "[purged]"),
        (CODE, {"a": [CODE, 7], CODE: None}, {"a": ["[purged]", 7], "[purged]": None}),
        ("部署端口是8081", "他说部署\n端口是8081，好吗", "他说[purged]，好吗"),
        ("Straße 7", "in der STRASSE 7 wohnt", "in der [purged] wohnt"),
        ("👍👍", "so 👍👍 it is", "so [purged] it is"),
        ("port 8081", "port 8081 and port 8081", "[purged] and [purged]"),
    ],
)
def test_a_quote_is_blanked(text: str, value: Any, blanked: Any) -> None:
    assert Quotes([text]).are_in(value)
    assert Quotes([text]).blank(value) == blanked


@pytest.mark.parametrize(
    "value",
    [
        "The relaunch code of heronry is eight.",
        "The launch code of heronry is eighty.",
        "The launch code of the heronry is eight.",
        ["The launch code", "of heronry is eight."],
        8,
        "",
    ],
)
def test_other_words_are_no_quote(value: Any) -> None:
    assert not Quotes([CODE]).are_in(value)
    assert Quotes([CODE]).blank(value) == value


def test_of_two_texts_the_longer_one_is_blanked_first() -> None:
    assert Quotes(["code of heronry", CODE, ""]).blank(f"{CODE} A code of heronry.") == "[purged] A [purged]"


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 12), st.sampled_from(DRESSES)), min_size=1))
@example([(len(KEY), partial(unicodedata.normalize, "NFD"))])
@example([(len(KEY), lambda part: unicodedata.normalize("NFD", part).upper())])
def test_a_sentence_in_any_dress_is_blanked(dresses: list[tuple[int, Any]]) -> None:
    said, rest = "", KEY
    for length, dress in dresses:
        said, rest = said + dress(rest[:length]), rest[length:]
    value = {"notes": [f"So: {said}{rest} Bye."]}
    assert Quotes([KEY]).are_in(value)
    [blanked] = Quotes([KEY]).blank(value)["notes"]
    assert blanked in ("So: [purged] Bye.", "So: [purged]． Bye.")  # a full stop of full width says nothing


@settings(deadline=None)
@given(
    st.text(STRANGE, min_size=1, max_size=6).filter(str.strip),
    st.text(STRANGE, max_size=8),
    st.text(STRANGE, max_size=24),
)
@example(
    "a", "", "\u0327\u1161a"
)  # a mark parts two words, so the vowel after it belongs to the second alone
def test_what_is_found_is_blanked_and_not_found_again(text: str, before: str, after: str) -> None:
    quotes = Quotes([text])
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        value = unicodedata.normalize(form, before + text + after)
        blanked = quotes.blank(value)
        assert not quotes.are_in(blanked)
        assert (blanked != value) == quotes.are_in(value)
