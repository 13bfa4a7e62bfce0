"""Other forms of words, for the keyword index and for questions: each worked out by hand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language.word_forms import (
    contains_run,
    count_root,
    forms_of,
    has_root,
    identifier_parts,
    identifier_runs,
    letter_pairs,
    list_forms,
    query_forms,
    root,
    stem,
    words_without_forms,
)
from memories.search.query_terms import Match, joined_phrases, match_for


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("The deploy port is 8081.", ""),
        ("It’s “ok” — fine", ""),
        ("café, naïve, Łódź", "lodz"),  # the index folds one accent itself, but no ł
        ("Straße", "strasse"),
        ("Müller", "mueller"),
        ("Việt", "viet"),  # ệ has two marks
        ("Ёлка", "елка елк"),
        ("部署端口是8081。", "部署 署端 端口 口是 是"),
        ("배포 포트", "배포 포 포트 트"),
        ("デプロイ", "デプ プロ ロイ イ"),
        ("ｱｲｳ", "アイ イウ ウ"),  # letters of half the width
        ("ชาดี", "ชา าด ด"),  # vowels above a letter are left out
        ("كِتَابٌ", "كتاب"),
        ("الكتابـــ", "كتاب"),
        ("getUserName", "get user name"),
        ("HTTPServer", "http server"),
        ("python3 and GPT4", "python 3 gpt 4"),
        ("C++ or C# on .NET", "cplusplus csharp dotnet"),
        ("🎉", "sign1f389"),
    ],
)
def test_forms_of_a_text(text: str, forms: str) -> None:
    assert forms_of(text) == forms


@pytest.mark.parametrize(
    "text", ["A.", "I am C. Smith", "#7", "x+y", "e.g. this", "end.Then", "1st of May", "3.5"]
)
def test_plain_english_has_no_forms(text: str) -> None:
    assert list_forms(text) == []


def test_every_letter_of_a_run_begins_a_pair() -> None:
    assert letter_pairs("口") == ["口"]
    assert letter_pairs("端口") == ["端口", "口"]


def test_what_has_one_part_is_no_identifier() -> None:
    assert identifier_parts("getter") == []
    assert identifier_parts("getX2") == ["get", "x", "2"]


@pytest.mark.parametrize(
    ("word", "kept"),
    [("الكتاب", "كتاب"), ("والمدرسه", "مدرس"), ("بيت", "بيت"), ("سيارات", "سيار"), ("ports", "ports")],
)
def test_arabic_words_lose_article_and_ending(word: str, kept: str) -> None:
    assert stem(word) == kept


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("which port do we use?", ("port", "use")),
        ('the "deploy port" again', ("deploy port", "deploy", "port", "again")),
        ("部署端口", ("部署", "署端", "端口")),
        ("口", ("口",)),
        ("version 3.11.2", ("version", "3", "11", "2", "3 11 2")),
        ("read src/api_v2.py", ("read", "src", "api", "v2", "py", "src api v2 py")),
        ("deployPort", ("deployport", "deploy", "port")),
        ("our ADRs", ("adrs",)),  # a plural, no identifier of two parts
        ("well-known and so on.", ("well", "known")),
        ("🎉", ("sign1f389",)),
        ("?!", None),
    ],
)
def test_what_a_question_looks_for(question: str, terms: tuple[str, ...] | None) -> None:
    match = match_for(question)
    assert (match.terms if match else None) == terms


def test_one_letter_of_a_script_without_spaces_is_looked_for_as_a_beginning() -> None:
    assert Match(("口", "a", "部署")).expression == '{content context forms} : ("口"* OR "a" OR "部署")'


def test_parts_that_belong_together_are_a_phrase() -> None:
    assert joined_phrases("see /etc/nginx/nginx.conf, ops@example.org and half-done") == [
        "etc nginx nginx conf",
        "ops example org",
    ]


@pytest.mark.parametrize(
    ("word", "runs"),
    [
        ("tax", []),
        ("Tax", []),
        ("getTaxRate", ["get", "gettax", "gettaxrate", "tax", "taxrate", "rate"]),
        ("HTTPServer", ["http", "httpserver", "server"]),
        ("gpt4", ["gpt", "gpt4", "4"]),
    ],
)
def test_the_runs_of_an_identifiers_parts(word: str, runs: list[str]) -> None:
    assert identifier_runs(word) == runs


def test_of_a_long_identifier_six_parts_are_taken_together() -> None:
    # 8 parts: 8 of one, 7 of two … 3 of six.
    assert len(identifier_runs("aaBbCcDdEeFfGgHh")) == 8 + 7 + 6 + 5 + 4 + 3


@pytest.mark.parametrize(
    ("text", "run", "stands"),
    [
        ("call getTaxRate twice", "tax", True),
        ("call getTaxRate twice", "taxrate", True),
        ("call getTaxRate twice", "get", True),
        ("call getTaxRate twice", "ax", False),
        ("call getTaxRate twice", "call", False),  # a word of its own is no identifier
        ("taxes, getTaxRate", "tax", True),
        ("the HTTPServer", "server", True),
        ("the HTTPServer", "p", False),
        ("in python3", "python", True),
        ("Größe von getTaxRate", "tax", True),
        ("İstanbul getTaxRate", "tax", False),  # its lower case has one more letter
    ],
)
def test_what_stands_inside_of_identifiers(text: str, run: str, stands: bool) -> None:
    assert contains_run(text, run) is stands


@pytest.mark.parametrize(
    ("text", "sought", "beside"),
    [
        ("the deploy port", [], "the deploy port"),
        ("C++ par", ["cplusplus"], "par"),
        ("c#", ["csharp"], ""),
        ("口", ["口*"], ""),
        ("部署端 port", ["部署", "署端"], "port"),
        ("ｱ", ["ア*"], ""),
        ("🎉 8081", ["sign1f389"], "🎉 8081"),
        ("café", [], "café"),
    ],
)
def test_what_words_do_not_tell_is_sought_by_its_forms(text: str, sought: list[str], beside: str) -> None:
    assert query_forms(text) == sought
    assert words_without_forms(text) == beside


def test_a_word_is_taken_apart_once_however_often_the_letters_are_in_it() -> None:
    compared = list[str]()

    def compare(run: str) -> str:
        compared.append(run)
        return run

    assert not contains_run("taxiTaxiTaxi and Taxi", "tax", read_as=compare)
    assert compared == ["taxi", "taxitaxi", "taxitaxitaxi", "taxi", "taxitaxi", "taxi"]


@pytest.mark.parametrize(("letters", "stands"), [(200, True), (201, False)])
def test_what_is_longer_than_an_identifier_is_not_taken_apart(letters: int, stands: bool) -> None:
    assert contains_run("tax" + "X" + "x" * (letters - 4), "tax") is stands


_LETTERS = st.text("abs1é中²", min_size=1, max_size=7)


@given(st.text("abs_é .1中²", max_size=40), _LETTERS)
def test_the_words_with_a_root_are_those_whose_root_it_is(text: str, word: str) -> None:
    form = root(word)
    own = [root(each) for each in re.findall(r"[^\W_]+", f"{text} {word}")]
    assert count_root(f"{text} {word}", form) == (own.count(form) if form else 0)
    assert has_root(text, "port") == ("port" in map(root, re.findall(r"[^\W_]+", text)))
    if form:
        assert has_root(text, form) == (form in own[:-1])


def test_words_of_one_root_are_counted_in_whatever_ending() -> None:
    text = "the port, ports and portss of portal, sport-port; port_1 and 'port'"
    assert count_root(text, root("port")) == 5
    assert count_root(text, root("portal")) == 1
    assert count_root(text, "the port") == 0  # a phrase
    assert count_root(text, "") == 0
