"""What is dress, and which signs change a fact."""

from time import process_time

import pytest

from memories.language.dress import spelling, undressed

DRESSED = [
    ("Deploy on 5 nodes.", "- Deploy on 5 nodes"),
    ("Deploy on 5 nodes.", "* **Deploy** on <b>5</b> nodes!"),
    ("Deploy on 5 nodes.", "🚀 d-e-p-l-o-y o-n 5 n-o-d-e-s"),
    ("The café résumé is naïve.", "the cafe resume is naive"),
    ("The date is 2024-05-03.", "The date is 2024.05.03"),
    ("The date is 2024-05-03.", "The date is 2024/05/03"),
    ("The date is 3.5.2024.", "The date is 3-5-2024"),
    ("The quota is 12,000 calls.", "The quota is 12000 calls."),
    ("The value today is -5", "The value today is −5"),
    ("The value today is a = b", "The value today is a=b"),
    ("It grew by 5 % today", "It grew by 5% today"),
    ("We keep it at 21 °C.", "We keep it at 21 ℃."),
    ("~~50 calls a day at most~~", "50 calls a day at most"),
    ("See https://x.org/a?p=4&q=7", "See https x org a p 4 q 7"),
    ("First step\n==========\nDrain it", "First step. Drain it."),
    ("The deploy key is rotated", "The ==deploy key== is ||rotated||"),
    ("The deploy key is rotated", "The <deploy> key +is+ #rotated#"),
    ("The deploy key of Heron is rotated", "The → deploy → key → of → Heron → is → rotated"),
    ("It is on 24.10.2027.", "-".join("It is on 24.10.2027.")),
    ("We keep it at 21 °C.", "We · keep · it · at · 21 · °C."),
    ("Don't merge it today", "Don't [merge] it today"),
    ("The freeze is on 2027-03-14", "The freeze is on 2027 03 14"),
    ("Deploy on five nodes", "h1. Deploy on {quote}five{quote} nodes"),
    ("सर्वर की चाबी बदली गई।", "**सर्वर** की चाबी बदली गई"),
    (
        "The runbook is at https://wiki.example.org/heron?p=3",
        "The runbook is at <https://wiki.example.org/heron?p=3>",
    ),
    ("The seat licence costs €45.", "The seat licence costs 45 €."),
    ("The hotline is +48 555 010 123.", "The hotline is +48-555-010-123."),
    ("The hotline is +48 555 010 123.", "The hotline is +48555010123"),
]
SALARY = "The salary of Jo in Oslo is 8081 kroner"
BESIDE_WORDS = [
    "The salary of- Jo in Oslo is 8081 kroner",
    "The salary of+ Jo in Oslo is 8081 kroner",
    "The salary of# Jo# in Oslo is 8081 kroner",
    "The salary -of- Jo in- Oslo is 8081 kroner",
    "The salary of & Jo in Oslo is 8081 kroner",
    "The salary+ of ++Jo in& Oslo is 8081 kroner",
    "The salary of Jo in Oslo is = 8081 kroner",
    "The salary !of Jo !in Oslo is ^8081 kroner",
    "The salary of Jo in Oslo is &8081 kroner",
    "The salary = of -> Jo < in Oslo is -> 8081 kroner",
    "The salary of Jo in <- Oslo && is 8081 kroner",
]
CUT_AT_LINE_ENDS = [
    ("The board of the locker is here", "Th-\ne board of the lo-\n  cker is here"),
    ("The board of the locker is here", "T-\nhe board o-\nf the locker is here"),
    ("In some years the locker is here", "In some ye-\nars th-\ne locker is here"),
]
AROUND_TEXTS = [
    "<!DOCTYPE html><html><body>{}</body></html>",
    '<html><head><title>Notes</title><meta charset="utf-8"></head><body>{}</body></html>',
    "<?xml version='1.0'?>{}",
    "<style>p {{ color: red }}</style><p>{}</p>",
    "<script>alert(1)</script>{}",
    "[{}][1]\n\n[1]: https://example.com",
    "[{}][]\n\n[{}]: https://example.com 'a title'",
    "> [!NOTE]\n> {}",
    "---\ntitle: x\ntags:\n  - a\n---\n{}",
    "\ufeff---\ntitle: x\n...\n{}",
    "+++\ntitle = 'x'\n+++\n\n{}",
    "{} {}",
    "{}.\n\n{}.\n\n{}.",
    "{}¹",
    "{}<sup>12</sup>",
    "{} {{#id .class}}",
    "* TODO {}",
    "** TODO [#A] {}",
    "| 1 | {} |",
    "*{}* <!here>",
    "~~~python title=x\n{}\n~~~",
    '````text {{1,3}} title="a b"\n{}\n````',
]
LOOK_ALIKES = [
    SALARY.replace("a", "ɑ").replace("g", "ɡ"),
    SALARY.replace("o", "օ").replace("u", "ս").replace("n", "ո"),
    SALARY.replace("o", "ⲟ"),
    SALARY.replace("T", "Ꭲ").replace("a", "Ꭺ").replace("J", "Ꭻ"),
    SALARY.replace("J", "ꓙ").replace("O", "ꓳ").replace("s", "ꓢ"),
    SALARY.upper().translate(str.maketrans("TESALRYJOIKHFNU", "ꓔꓰꓢꓮꓡꓣꓬꓙꓳꓲꓗꓧꓝꓠꓴ")),
    SALARY.replace("8081", "٨٠٨١"),
    SALARY.replace("8081", "८०८१"),
    SALARY.replace("salary", "🇸🇦🇱🇦🇷🇾").replace("Oslo", "🇴 🇸 🇱 🇴"),
    f"{SALARY} 🇳🇴",  # a flag
]
DIFFERENT = [
    ("The value today is -5", "The value today is 5"),
    ("The value today is +5", "The value today is 5"),
    ("The value today is 1.5", "The value today is 15"),
    ("The host is 10.0.0.1", "The host is 100.0.1"),
    ("The value today is 1e-3", "The value today is 1e3"),
    ("The fee is $5 a month", "The fee is €5 a month"),
    ("The fee is 5 $ a month", "The fee is 5 € a month"),
    ("The fee is 45 € a month", "The fee is 45 a month"),
    ("The hotline is +48 555 010 123.", "The hotline is +48 555 010 124."),
    ("The forecast is +1.5 and 2 3 4", "The forecast is +15 and 2 3 4"),
    ("It grew by 5% today", "It grew by 5 today"),
    ("The slope is 12° now", "The slope is 12 now"),
    ("We wrote it in C++ then", "We wrote it in C then"),
    ("We wrote it in C# then", "We wrote it in C then"),
    ("The limit is a <= b", "The limit is a >= b"),
    ("The mask is a & b", "The mask is a | b"),
    ("The pool = 5 at most", "The pool 5 at most"),
    ("The limit is < 5 ms now", "The limit is > 5 ms now"),
    ("The flag debug = true holds", "The flag debug true holds"),
    ("It runs build && test then", "It runs build || test then"),
    ("It maps user_id -> name", "It maps user_id <- name"),
    ("It takes load() -> rows", "It takes load() <- rows"),
    ("It takes &p as its target", "It takes *p as its target"),
    ('The prompt ends in ">".', 'The prompt ends in "<".'),
    ("The grade of Jo is A-", "The grade of Jo is A"),
    ("The grade is\nA-\nand nobody asks", "The grade is\nA\nand nobody asks"),
    ("Jo takes vitamin B+ at noon", "Jo takes vitamin B at noon"),
    ("Jo has blood group AB-", "Jo has blood group AB+"),
    ("The limit is x^2 at most", "The limit is x2 at most"),
    ("The mode is chmod +x", "The mode is chmod -x"),
    ("It says !enabled in there", "It says enabled in there"),
    ("We wrote it in F# then", "We wrote it in F then"),
    ("The piece is in A# minor", "The piece is in A minor"),
    ("We watch it on Disney+ then", "We watch it on Disney then"),
    ("The room has 12 km² of floor", "The room has 12 km of floor"),
    ("The value of x² is here", "The value of x is here"),
    ("The entry m[i][j] is nil", "The entry m[i][k] is nil"),
    ("| 5 | nodes |\n| 7 | racks here |", "| 6 | nodes |\n| 7 | racks here |"),
    ("The rack 8081 8081 is red", "The rack 8081 is red now"),
    ("Год рождения Марии", "Гот рождения Марии"),
    ("About ~50 calls a day", "About 50 calls a day"),
    ("Dumps go to ~/dumps", "Dumps go to /dumps"),
    ("The result is √9 here", "The result is 9 here"),
    ("The chord is B♭ here", "The chord is B here"),
    ("टीम को पानी चाहिए।", "टीम को पाना चाहिए।"),
]


@pytest.mark.parametrize(("plain", "dressed"), DRESSED)
def test_the_same_letters_and_digits_are_equal_in_any_dress(plain: str, dressed: str) -> None:
    assert undressed(plain) == undressed(dressed) != ""


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_sign_that_changes_a_fact_is_kept(one: str, other: str) -> None:
    assert undressed(one) != undressed(other)


@pytest.mark.parametrize("text", BESIDE_WORDS)
def test_signs_beside_ordinary_words_are_dress(text: str) -> None:
    assert undressed(text) == undressed(SALARY)


@pytest.mark.parametrize(("plain", "cut"), CUT_AT_LINE_ENDS)
def test_words_that_a_line_end_cuts_are_one(plain: str, cut: str) -> None:
    assert undressed(cut) == undressed(plain)


@pytest.mark.parametrize("form", AROUND_TEXTS)
def test_what_a_document_has_around_a_text_is_dress(form: str) -> None:
    assert undressed(form.format(*[SALARY] * form.count("{}"))) == undressed(SALARY)


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_letters_and_digits_that_look_like_latin_ones_are_these(text: str) -> None:
    assert undressed(text) == undressed(SALARY)


def test_letters_that_are_words_in_some_language_take_no_sign() -> None:
    assert undressed("Klucz jest w- szafie z+ numerem") == undressed("Klucz jest w szafie z numerem")


def test_words_of_another_script_keep_their_letters() -> None:
    assert undressed("ոռոգում բոլոր հարցերը") == "ոռոգումբոլորհարցերը"


def test_a_document_without_anything_else_keeps_its_text() -> None:
    assert undressed("<style>salary of Jo</style>") != ""
    assert undressed("---\ntitle: the salary of Jo\n---\n") == "titlethesalaryofjo"


HOSTILE = [
    "<style>",
    "[a][b]",
    "[a]: /x\n",
    "| 1 | a b c ",
    "---\n",
    "x¹",
    "a = ",
    "{#a ",
    "ɑ ",
    "🇦 ",
    "a- \n",
    "<?x ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_texts_of_markup_take_linear_time(piece: str) -> None:
    def cost(size: int) -> float:
        start = process_time()
        undressed(piece * (size // len(piece)))
        return process_time() - start

    # Four times the text; quadratic time would be sixteen times as long.
    assert cost(100_000) < 8 * cost(25_000) + 0.3


def test_characters_of_private_use_are_dress() -> None:
    icons = "\ue000Deploy\ue001 on\ue000 5 nodes\uf8ff"
    assert undressed(icons) == undressed("Deploy on 5 nodes")


@pytest.mark.parametrize("text", ["👍", "OK.", "3 of 7", "no way"])
def test_fewer_than_eight_letters_or_digits_have_no_second_mark(text: str) -> None:
    assert undressed(text) == ""


def test_capitals_that_shout_or_begin_are_emphasis_and_others_are_spelling() -> None:
    assert spelling("the moon is CHEESE") == spelling("The moon is cheese")
    assert spelling("It has 3 mW") != spelling("It has 3 MW")
    assert spelling("The table is Orders") != spelling("The table is orders")
