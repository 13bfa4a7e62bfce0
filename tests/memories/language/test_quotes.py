"""A quote is found by its words, whatever is between them, and blanked where it stands."""

from typing import Any

import pytest

from memories.language.dress.quotes import Quotes

CODE = "The launch code of heronry is eight."


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
