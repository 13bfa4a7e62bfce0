"""Statements inside a text: what carries one, what takes it back, and that the work grows with the length alone."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from memories.language.dress import undressed
from memories.language.dress.statements import (
    MAX_PARTS,
    is_taken_back,
    loses_a_sign,
    plain_lines,
    statements_in,
)
from memories.store.withdrawn.marks import sentences_of

DATA = Path(__file__).parents[1] / "store" / "data"
LINES: list[dict[str, Any]] = [
    case
    for name in ("carried", "carried_later")  # the second written when the first passed
    for case in json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
]


def states(text: str, statement: str) -> bool:
    """True if a text states another inside it and does not take it back."""
    plain, bare = plain_lines(text), undressed(statement)
    return any(
        each.bare == bare and not loses_a_sign(plain, each) and not is_taken_back(plain, each)
        for each in statements_in(plain)
    )


def lines(kind: str) -> list[tuple[str, str]]:
    return [(case["withdrawn"], line) for case in LINES for line in case[kind]]


def test_nineteen_of_twenty_carriers_state_the_text_inside_them() -> None:
    carriers = lines("carriers")
    missed = [line for text, line in carriers if not states(line, text)]
    assert len(missed) <= 0.05 * len(carriers), missed


def test_what_takes_it_back_or_says_something_else_does_not_state_it() -> None:
    assert [line for text, line in lines("others") if states(line, text)] == []


@pytest.mark.parametrize(
    ("line", "is_stated"),
    [
        ("The commands run as build | test.", True),
        ("The commands run as build && test.", False),
        ("Ann: the commands run as build || test.", False),
        ("- The commands run as **build**, test!", True),
        ('The commands run as build, test ">".', False),
    ],
)
def test_a_sign_that_changes_the_fact_is_a_part_of_it(line: str, is_stated: bool) -> None:
    assert states(line, "The commands run as build ; test.") is is_stated


TEXT = "Deploys happen on Fridays."


@pytest.mark.parametrize(
    ("line", "is_stated"),
    [
        ("The wall of the greenhouse is heated with pellets.", False),  # part of a longer phrase
        ("Bob thinks the greenhouse is heated with pellets.", True),
        ("The greenhouse is heated with pellets and gas.", False),
        ("The greenhouse is heated with pellets and the office with gas.", True),
        ("The greenhouse is heated with pellets, not with gas.", True),
        ("The greenhouse is heated with pellets, not any more.", True),
        ("The greenhouse is heated with pellets - not.", False),
        ("True claims:\n- Tea is at four.\n- The greenhouse is heated with pellets.", True),
        ("Wrong claims:\n- Tea is at four.\n- The greenhouse is heated with pellets.", False),
        ("Wrong claims:\n- Tea is at four.\n\n\nThe greenhouse is heated with pellets.", True),
        ("The greenhouse is heated with pellets. It was painted in May.", True),
        ("The greenhouse is heated with pellets. That was a mistake of mine.", False),
        ("It is not true, as Ann says, that the greenhouse is heated with pellets.", False),
        ("Do not forget that the greenhouse is heated with pellets.", True),
        ("The north door does not close, and the greenhouse is heated with pellets.", True),
        ("We no longer believe\nthat the greenhouse is heated with pellets.", False),
    ],
)
def test_a_sentence_decides(line: str, is_stated: bool) -> None:
    assert states(line, "The greenhouse is heated with pellets.") is is_stated


PELLETS = "The greenhouse is heated with pellets"
WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
# Every form in which Unicode has a letter, a full stop or a space.
WORN = {
    "full-width": f"{PELLETS}.".translate(WIDE),
    "full-width with wide spaces": f"{PELLETS}.".translate(WIDE | {0x20: 0x3000}),
    "full-width after plain": f"{PELLETS}\uff0e",
    **{
        f"U+{ord(end):04X}": f"{PELLETS}{end}"
        for end in "\ufe52\uff61\u3002\ufe12\uff01\ufe57\u203c\u06d4\u0964\u0589\u1362\u17d4"
    },
}


@pytest.mark.parametrize("after", [" Bob agrees.", "  Bob agrees.", "\u3000Ｂｏｂ ａｇｒｅｅｓ．", ""])
@pytest.mark.parametrize("before", ["Ann wrote: ", "Ann wrote： ", "Tea is at four． ", ""])
@pytest.mark.parametrize("form", WORN)
def test_a_sentence_ends_at_every_mark_that_ends_one(form: str, before: str, after: str) -> None:
    assert states(f"{before}{WORN[form]}{after}", f"{PELLETS}.")


@pytest.mark.parametrize("form", WORN)
def test_files_are_cut_at_the_same_marks(form: str) -> None:
    assert WORN[form] in sentences_of(f"Tea is at four. {WORN[form]} Bob agrees.")


@pytest.mark.parametrize(
    "line",
    [
        f"{PELLETS}\uff1f",
        f"{PELLETS}\ufe56 Bob asks.",
        f"{PELLETS}\u061f",
        f"It is not true that {PELLETS}.".translate(WIDE),
        f"{PELLETS} and gas.".translate(WIDE),
        f"{PELLETS} 3.5 mm.".translate(WIDE),
    ],
)
def test_a_question_or_a_denial_in_wide_letters_does_not_state_it(line: str) -> None:
    assert not states(line, f"{PELLETS}.")


def test_a_long_withdrawn_text_is_found_up_to_its_limit() -> None:
    sentences = [f"Step {n} of the release is written down." for n in range(MAX_PARTS + 1)]
    within, beyond = " ".join(sentences[:-1]), " ".join(sentences)
    assert states(f"Ann wrote this. {within} So much for that.", within)
    assert not states(f"Ann wrote this. {beyond} So much for that.", beyond)


@pytest.mark.parametrize(
    "text",
    [
        "Ann: the greenhouse is heated with pellets, and we know that deploys happen on Fridays. ",
        "a, ",
        "that ",
        "(((",
        "<a <b ",
        "'*_",
        "我们知道发布分支每周五冻结,",
        "\n \n",
        "5433 ",
    ],
)
def test_a_text_of_the_greatest_length_takes_linear_time(text: str) -> None:
    def seconds(length: int) -> float:
        plain = plain_lines((text * length)[:length])
        start = process_time()
        for statement in statements_in(plain):
            assert statement.end <= len(plain)
        return process_time() - start

    short = min(seconds(12_500) for _ in range(3))
    assert seconds(100_000) < 40 * max(short, 0.002)  # quadratic would be 64
