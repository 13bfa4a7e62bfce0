"""Near is not the same: what tells two facts apart."""

import time

import pytest

from access.errors import InvalidInput
from memories.language.cleaning import clean_text
from memories.language.same_fact import MAX_COMPARED_CHARS, compare, share_words

SAME = [
    ("The deploy port is 8081.", "the  deploy port is 8081."),
    ("The nightly backup goes to the NAS.", "The nightly backups go to the NAS."),
    ("We use Redis as a cache.", "We use Redis as the cache."),
]
DIFFERENT = [
    ("It costs 10⁵ units.", "It costs 105 units.", "numbers"),
    ("The port is 8081.", "The port is 8082.", "numbers"),
    ("Version 1.2.3 is out.", "Version 1.2.4 is out.", "numbers"),
    ("The job runs at 09:30.", "The job runs at 09:45.", "numbers"),
    ("See commit a1b2c3d.", "See commit a1b2c3e.", "identifiers"),
    ("Logs are in /var/log/a.", "Logs are in /var/log/b.", "identifiers"),
    ("Call getUser first.", "Call getUsers first.", "identifiers"),
    ("It takes 5 ms.", "It takes 5 s.", "units"),
    ("It costs 5 USD.", "It costs 5 EUR.", "units"),
    ("The API is limited.", "The API is not limited.", "negation"),
    ("The flag is enabled by Anna.", "The flag is disabled by Anna.", "opposites"),
    ("Deploy before noon.", "Deploy after noon.", "opposites"),
    ("The owner is Anna.", "The owner is Berta.", "names"),
    ("Alice reports to Bob.", "Bob reports to Alice.", "order"),
    ("Berta asked us to wait.", "Anna asked us to wait.", "names"),
    ("Jane Smith leads the team.", "John Smith leads the team.", "names"),
    ("Set API_KEY first.", "Set api_key first.", "identifiers"),
    ("Logs are in /var/Log.", "Logs are in /var/log.", "identifiers"),
    ("It runs with a cache.", "It runs without a cache.", "opposites"),
]
UNSURE = [
    ("Copy it from Oslo to Bergen.", "Copy it to Oslo from Bergen."),
    ("It needs a review and a ticket.", "It needs a review or a ticket."),
    ("My manager is Anna.", "Your manager is Anna."),
    ("The latency is < 5 ms.", "The latency is > 5 ms."),
    ("The tests pass ✅", "The tests pass ❌"),
    ("Deploy on Friday?", "Deploy on Friday."),
    ("The server is slow.", "The server was slow."),
    ("We use PostgreSQL.", "We use postgresql."),
    ("Call getUser first.", "Call getuser first."),
    ("Rain is kept in a tank.", "A tank keeps rain."),
    ("Old files are removed on exit.", "Old files are deleted on exit."),
    ("The vendor was bought by a rival.", "A rival bought the vendor."),
    ("Anna was hired by Bob.", "Bob was the one who hired Anna."),
]
# Against these something speaks, so that `overwrite` keeps both as well.
GUARDED = (UNSURE[3], UNSURE[7], UNSURE[10], UNSURE[11], UNSURE[12])


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_in_other_words(old: str, new: str) -> None:
    assert compare(old, new, cosine=0.98, same_cosine=0.97).sameness.value == "same"
    assert compare(new, old, cosine=0.98, same_cosine=0.97).sameness.value == "same"


@pytest.mark.parametrize(("old", "new", "why"), DIFFERENT)
def test_another_fact(old: str, new: str, why: str) -> None:
    for left, right in ((old, new), (new, old)):
        found = compare(left, right, cosine=0.99, same_cosine=0.97)
        assert (found.sameness.value, why in found.why) == ("different", True), found


@pytest.mark.parametrize(("old", "new"), UNSURE)
def test_a_person_decides(old: str, new: str) -> None:
    for left, right in ((old, new), (new, old)):
        assert compare(left, right, cosine=0.99, same_cosine=0.97).sameness.value == "unsure"


def test_what_speaks_against_it_is_told() -> None:
    guarded = [pair for pair in UNSURE if compare(*pair, cosine=0.99, same_cosine=0.97).is_guarded]
    assert [pair for pair in GUARDED if pair not in guarded] == []
    assert UNSURE[0] not in guarded
    assert not compare(*SAME[1], cosine=0.96, same_cosine=0.97).is_guarded


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Logs are rotated weekly.", "Logs are rotated each week.", True),  # each
        ("The API limit is 5 calls.", "The API allows 5 calls.", True),  # limit | allows
        (
            "The strict API limit is 5 calls.",
            "The API allows over 5 calls.",
            False,
        ),  # strict, limit | allows, over
        ("The limit of the API is 5.", "The API reports what is over 5.", False),  # 2 of 6 shared
        ("Use tabs.", "Use spaces.", False),  # 1 of 3 shared
        ("Anna leads the team.", "The team is led by Anna.", True),
        ("", "Anna", False),
    ],
)
def test_a_paraphrase_has_hardly_a_word_of_its_own(old: str, new: str, expected: bool) -> None:
    assert share_words(old, new) is expected
    assert share_words(new, old) is expected


def test_far_vectors_are_never_the_same_unless_the_words_are() -> None:
    old, new = SAME[1]
    assert compare(old, new, cosine=0.96, same_cosine=0.97).sameness.value == "unsure"
    assert compare(*SAME[0], cosine=0.1, same_cosine=0.97).sameness.value == "same"


@pytest.mark.parametrize(
    "run",
    ["-", ". ", ".", " ", "\n", "\"'(", "a-", "A ", "1 ", "1.", "n't ", "é", "!", "\u2014", ". \n"],
    ids=ascii,
)
def test_no_text_takes_long_to_compare(run: str) -> None:
    """Linear work on 100,000 characters takes hundredths of a second, quadratic work more than a minute.

    The time is this process's own, so that a busy machine does not count.
    """
    hostile = "Port." + (run * 100_000)[:99_990]
    began = time.process_time()
    compare(hostile, hostile + " x", cosine=0.99, same_cosine=0.97)
    compare(hostile, hostile.upper(), cosine=0.99, same_cosine=0.97)
    assert time.process_time() - began < 5


def test_a_heap_of_accents_is_refused_before_it_is_sorted() -> None:
    began = time.process_time()
    with pytest.raises(InvalidInput, match="more than 200 combining marks"):
        clean_text("a" + "\u0301\u0316" * 49_000, field="content", max_chars=100_000)
    assert time.process_time() - began < 2
    assert clean_text("Việt Nam, ק\u05b8\u05bc, ง\u0e36\u0e49", field="content", max_chars=100).removed == 0


def test_long_texts_are_the_same_only_where_all_words_are() -> None:
    beginning = "the deploy goes well and " * 200  # 5,000 characters
    assert len(beginning) > MAX_COMPARED_CHARS
    found = compare(beginning + "ends", beginning + "stops", cosine=0.999, same_cosine=0.97)
    assert (found.sameness.value, "first 4,000" in found.why) == ("unsure", True)
    assert compare(beginning, beginning.upper(), cosine=0.9, same_cosine=0.97).sameness.value == "same"
    other = compare("Port 1. " + beginning, "Port 2. " + beginning, cosine=0.999, same_cosine=0.97)
    assert (other.sameness.value, "numbers" in other.why) == ("different", True)
    assert (
        compare(beginning + "1", beginning.upper() + "1 ", cosine=0.9, same_cosine=0.97).sameness.value
        == "same"
    )


def test_a_path_ends_before_its_full_stop() -> None:
    found = compare("See /var/log/a.", "See /var/log/a .", cosine=0.99, same_cosine=0.97)
    assert found.sameness.value == "same", found
