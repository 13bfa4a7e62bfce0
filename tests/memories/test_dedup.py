"""Near is not the same: what tells two facts apart."""

import pytest

from memories.dedup import compare

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
    ("The flag is enabled by Anna.", "The flag is disabled by Anna.", "negation"),
    ("Deploy before noon.", "Deploy after noon.", "opposites"),
    ("The owner is Anna.", "The owner is Berta.", "names"),
    ("Alice reports to Bob.", "Bob reports to Alice.", "order"),
]
UNSURE = [
    ("Copy it from Oslo to Bergen.", "Copy it to Oslo from Bergen."),
    ("It needs a review and a ticket.", "It needs a review or a ticket."),
    ("My manager is Anna.", "Your manager is Anna."),
    ("The latency is < 5 ms.", "The latency is > 5 ms."),
    ("The tests pass ✅", "The tests pass ❌"),
    ("Deploy on Friday?", "Deploy on Friday."),
    ("The server is slow.", "The server was slow."),
]


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


def test_far_vectors_are_never_the_same_unless_the_words_are() -> None:
    old, new = SAME[1]
    assert compare(old, new, cosine=0.96, same_cosine=0.97).sameness.value == "unsure"
    assert compare(*SAME[0], cosine=0.1, same_cosine=0.97).sameness.value == "same"
