"""What a value says is found and blanked in any dress that JSON gives it, and JSON in a string stays JSON."""

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language.dress.quotes import MAX_LEVELS, Quotes, placed_readings, readings, strings_in

GATE = 'Das Tor "Süd" öffnet der Müller\nmit dem Schlüssel C:\\neu.'
QUICK_S = 5.0  # of processor time; without bounds some of these take minutes


def nested(text: str, levels: list[tuple[bool, str]]) -> Any:
    """A text in an object of JSON, and that in strings of JSON, one for each level."""
    value: Any = text
    for is_ascii, form in levels:
        held = {
            "object": {"note": value, "n": 7},
            "list": [1.50, value],
            "string": value,
            "key": {value: None},
        }
        value = json.dumps(held[form], ensure_ascii=is_ascii)
    return value


LEVELS = st.lists(
    st.tuples(st.booleans(), st.sampled_from(["object", "list", "string", "key"])), min_size=0, max_size=3
)
TEXTS = st.sampled_from(
    [
        GATE,
        "The south door opens\nwith the brass key.",
        "key: \\u0061 \\n\t“ö” tail",
        "守门人\\的钥匙\n在桥下",
    ]
)


@given(text=TEXTS, levels=LEVELS, before=st.sampled_from(["", "So: ", 'He said "x\\y", '])
)  # fmt: skip
def test_a_text_in_json_in_strings_is_found_and_blanked(
    text: str, levels: list[tuple[bool, str]], before: str
) -> None:
    value = nested(f"{before}{text}", levels)
    quotes = Quotes([text])
    assert quotes.are_in({"done": value})
    blanked = quotes.blank({"done": value})["done"]
    assert not quotes.are_in(blanked)
    said: Any = blanked
    for _, form in reversed(levels):
        held = json.loads(said)
        said = {"object": lambda h=held: h["note"], "list": lambda h=held: h[1], "string": lambda h=held: h,
                "key": lambda h=held: next(iter(h))}[form]()  # fmt: skip
    assert said == f"{before}[purged]"


@pytest.mark.parametrize(
    ("text", "value", "blanked"),
    [
        (GATE, f"prose {json.dumps(GATE)[1:-1]} prose", "prose [purged] prose"),
        ("gnome statue", "The gn\\u006fme st\\x61tue.", "The [purged]"),
        ("gnome statue", '{"a": "gn\\u006fme statue", "a": "b", "n": 1.50}', '{"a": "[purged]", "a": "b", "n": 1.50}'),
        ("port 8081", '{"port": 8081, "n": 1}', '{"[purged]": "[purged]", "n": 1}'),
        ("port 8081", json.dumps(['{"port": 8081}']), json.dumps(['{"[purged]": "[purged]"}'])),
        ("code eight", '["the code", "eight is"]', '["[purged]", "[purged]"]'),
        ("key 🗝", '{"a": "the key \\ud83d\\udddd."}', '{"a": "the [purged] \\ud83d\\udddd."}'),
        ("🗝🗝", '{"a": "\\ud83d\\udddd\\ud83d\\udddd"}', '{"a": "[purged]"}'),
        ("half key", '{"a": "half key \\ud800 ü"}', '{"a": "[purged] \\ud800 \\u00fc"}'),
        ("big key", '{"n": ' + "1" * 5000 + ', "a": "big\\nkey"}', '{"n": ' + "1" * 5000 + ', "a": "[purged]"}'),
        ("cut off", '{"a": "it is cut\\noff', '{"a": "it is [purged]'),
    ],
)  # fmt: skip
def test_only_the_text_is_blanked(text: str, value: str, blanked: str) -> None:
    assert Quotes([text]).are_in(value)
    assert Quotes([text]).blank(value) == blanked


@pytest.mark.parametrize(
    ("value", "blanked"),
    [
        ("so: the big <i>key</i> opens", "so: [purged]</i> opens"),
        ("so: the <b class='x'>big</b> <!-- old --> key", "so: [purged]"),
        ("so: the [big](https://example.org/a) key", "so: [purged]"),
        ("so: the [big][1] key[^2], the [b]big[/b] key", "so: [purged][^2], [purged]"),
        ("https://example.org/?q=the%20big%20key&x=1", "https://example.org/?q=[purged]&x=1"),
        ("https://example.org/?q=the+b%69g+%6bey", "https://example.org/?q=[purged]"),
        ("the&nbsp;b&#105;g&#x20;key&#1;", "[purged]&#1;"),
        ('{"a": "the <i>big</i> key", "n": 1}', '{"a": "[purged]", "n": 1}'),
        ("the%2520big%2520key", "[purged]"),
    ],
)
def test_markup_and_codes_hide_no_text(value: str, blanked: str) -> None:
    quotes = Quotes(["the big key"])
    assert quotes.are_in(value)
    assert quotes.blank(value) == blanked
    assert not quotes.are_in(blanked)


def test_letters_of_other_languages_are_read_in_an_address() -> None:
    assert Quotes(["Rødby 鍵"]).blank("?q=R%C3%B8dby%20%E9%8D%B5") == "?q=[purged]"


def test_a_plain_text_has_itself_as_its_only_reading() -> None:
    assert list(readings("The gnome statue {weighs} ninety stone.")) == [
        "The gnome statue {weighs} ninety stone."
    ]
    assert list(readings("C:\\temp")) == ["C:\\temp", "C:\temp"]
    assert list(readings("a\\ud83d\\udddd\\ud800b\\u")) == ["a\\ud83d\\udddd\\ud800b\\u", "a🗝\ufffdb\\u"]


def test_each_letter_of_a_reading_has_its_place() -> None:
    text = json.dumps(json.dumps("ü\n🗝"))
    *_, (said, places) = placed_readings(text)
    assert said == '""ü\n🗝""'
    assert [text[places[at] : places[at + 1]] for at in range(len(said))] == [
        '"', '\\"', "\\\\u00fc", "\\\\n", "\\\\ud83d\\\\udddd", '\\"', '"'
    ]  # fmt: skip


def test_the_path_leads_into_json_in_a_string() -> None:
    value = {"done": json.dumps({"notes": ["a", "b"]})}
    assert ("state.done.notes[1]", "b") in list(strings_in(value, "state"))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("\\" * 100_000, id="backslashes"),
        pytest.param("[" * 100_000, id="open lists"),
        pytest.param("[" * 900 + '"the brass key"' + "]" * 900, id="lists in lists"),
        pytest.param('"the brass key" ' * 6_000, id="many strings"),
        pytest.param(json.dumps(["the brass\nkey"] * 6_000), id="many finds"),
        pytest.param("<a" * 50_000, id="tags"),
        pytest.param("<!--" * 25_000, id="comments"),
        pytest.param("](" * 50_000, id="links"),
        pytest.param("[b=" * 33_000, id="marks of forums"),
        pytest.param("%25" * 33_000 + " the%20brass%20key", id="codes"),
        pytest.param("&amp;" * 20_000 + " the&nbsp;brass key", id="letters of HTML"),
        pytest.param("\\u005c" * 16_000 + " the brass\\nkey", id="escaped backslashes"),
    ],
)
def test_hostile_values_take_a_bounded_time(value: str) -> None:
    began = process_time()
    quotes = Quotes(["the brass key"])
    blanked = quotes.blank(value)
    assert not quotes.are_in(blanked)
    assert len(list(readings(value))) <= MAX_LEVELS + 1
    assert process_time() - began < QUICK_S
