"""What is dress, and which signs change a fact."""

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
