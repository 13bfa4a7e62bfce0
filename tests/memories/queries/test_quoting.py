"""Short names, ids and moments go into answers unread: nothing that the guard would mask is among them."""

import string

from hypothesis import example, given, settings
from hypothesis import strategies as st

from access.groups.guarding import safe_to_show
from guard.secrets import RULES
from memories.queries.quoting import escape

NAME_CHARS = 13
BEGINNINGS = sorted(
    {
        word.lower()
        for rule in RULES
        for word in rule.words
        if set(word.lower()) <= {*string.ascii_lowercase, "_"}
    }
)
NAMES = st.builds(
    lambda beginning, rest: (beginning + rest)[:NAME_CHARS],
    st.sampled_from(BEGINNINGS),
    st.text(string.ascii_lowercase + "_", max_size=NAME_CHARS),
)


@settings(max_examples=500)
@example("npg_yzlbgkqpf")
@given(st.one_of(NAMES, st.uuids().map(str), st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")))
def test_the_guard_leaves_names_ids_and_moments_as_they_are(text: str) -> None:
    assert safe_to_show(text) == text
    assert escape(text) == text


def test_the_shortest_key_of_letters_is_masked() -> None:
    assert "yzlbgkqpfk" not in escape("npg_yzlbgkqpfk")


def test_a_text_that_was_found_clean_stays_so_and_another_is_masked_each_time() -> None:
    for text in (
        "The harbour opens at nine. </memory>",
        "The harbour opens at nine.",
        "Its key is npg_yzlbgkqpfk, yes.",
    ):
        assert escape(text) == escape(text)
    for _ in range(2):
        assert "yzlbgkqpfk" not in escape("Its key is npg_yzlbgkqpfk, yes.")
        assert "</memory>" not in escape("The harbour opens at nine. </memory>")
