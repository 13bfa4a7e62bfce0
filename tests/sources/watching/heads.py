"""Random notes with front matter as people and programs write it."""

import re
from typing import Any

from hypothesis import strategies as st

from sources.watching.front_matter import body_start, head_span, read_head, with_own_keys

KEYS = {"loci_id": "0199f0c4-0000-7000-8000-000000000001", "loci_version": "3"}

WORDS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp"), blacklist_characters="\x85\ufeff"),
    max_size=12,
)
PLAIN = st.sampled_from(
    [
        "no",
        "yes",
        "1.10",
        "0x1f",
        "1e3",
        "null",
        "~",
        "2026-03-01",
        "12:30:00",
        "on",
        "007",
        "text",
        "two words",
    ]
)
NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)


def double(text: str) -> str:
    """A text in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def single(text: str) -> str:
    """A text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


SCALARS = st.one_of(PLAIN, WORDS.map(double), WORDS.map(single))
ITEMS = st.lists(SCALARS, max_size=4)
VALUES = st.one_of(
    SCALARS,
    ITEMS.map(lambda items: f"[{', '.join(items)}]"),
    ITEMS.filter(bool).map(lambda items: "".join(f"\n  - {item}" for item in items)),
    ITEMS.filter(bool).map(lambda items: "".join(f"\n- {item}" for item in items)),
    st.lists(st.tuples(NAMES, SCALARS), min_size=1, max_size=3, unique_by=lambda pair: pair[0]).map(
        lambda pairs: "".join(f"\n  {name}: {value}" for name, value in pairs)
    ),
    st.sampled_from(["|\n  kept\n    as it is\n  to the end", ">-\n  folded\n  text", ""]),
)
COMMENTS = st.sampled_from(["", "", "", "   # a remark", " #tag"])


def line(name: str, value: str, comment: str) -> str:
    """A key with its value; a comment only behind a value of one line."""
    return f"{name}: {value}{'' if chr(10) in value else comment}"


@st.composite
def heads(draw: st.DrawFn) -> str:
    """A note with front matter that parses."""
    names = draw(st.lists(NAMES.filter(lambda name: not name.startswith("loci_")), max_size=6, unique=True))
    lines = [line(name, draw(VALUES), draw(COMMENTS)) for name in names]
    for at in range(draw(st.integers(0, 2))):
        lines.insert(at, draw(st.sampled_from(["# a comment", ""])))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    body = draw(st.sampled_from(["# Title\n\nText.\n", "Text without end", "", "\n\n---\nrule\n---\n"]))
    bom = draw(st.sampled_from(["", "", "\ufeff"]))
    return bom + "\n".join(["---", *lines, "---", body]).replace("\n", newline)


def without_own(text: str) -> str:
    """A text without the lines of Loci's keys."""
    return re.sub(r"^loci_(id|version):[^\n]*\n", "", text, flags=re.MULTILINE)


def keeps_every_byte(text: str) -> None:
    """Own keys are added and taken away, and nothing else changes."""
    before: dict[str, Any] = dict(read_head(text))
    after = with_own_keys(text, KEYS)
    assert without_own(after.replace("\r\n", "\n")) == text.replace("\r\n", "\n")
    assert {name: value for name, value in read_head(after).items() if name not in KEYS} == before
    span = head_span(after)
    assert span is not None
    assert after[body_start(after) :] == text[body_start(text) :]
