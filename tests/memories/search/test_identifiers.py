"""Identifiers in a question, and whether a text has them."""

import pytest

from memories.search.query_terms import has_identifier, identifiers_in


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("what was HAR-1203 about?", ("HAR-1203",)),
        ("which decision is ADR-041", ("ADR-041",)),
        ("what changed in 4.8.1 and v2.3?", ("4.8.1", "v2.3")),
        ("what runs on stg-web-03", ("stg-web-03",)),
        ("who reads /etc/compass/routing.toml?", ("/etc/compass/routing.toml",)),
        ("what did commit 9f3c2ab break", ("9f3c2ab",)),
        ("which service listens on port 8443", ("8443",)),
        ("error E2207", ("E2207",)),
        ("where is plan_stops() defined", ("plan_stops",)),
        ("may I call getUserName twice?", ("getUserName",)),
    ],
)
def test_each_kind_is_found(question: str, found: tuple[str, ...]) -> None:
    assert identifiers_in(question) == found


@pytest.mark.parametrize(
    "question",
    [
        "Who went to the museum in 2023?",
        "What happened on 2026-03-01 or 25.01.2024?",
        "Did COVID-19 change our plans?",
        "Which YouTube channel does Maria McGee like?",
        "How many of the 1200 people came in week-12?",
    ],
)
def test_dates_names_and_plain_numbers_are_none(question: str) -> None:
    assert identifiers_in(question) == ()


@pytest.mark.parametrize(
    ("text", "identifier", "has"),
    [
        ("Fixed by HAR-1203.", "HAR-1203", True),
        ("see har 1203", "HAR-1203", True),
        ("HAR-12034 is open", "HAR-1203", False),
        ("Compass 4.8.1 is out.", "4.8.1", True),
        ("Compass v4.8.1", "4.8.1", True),
        ("Compass 4.8.12", "4.8.1", False),
        ("Compass 4.8.1.2", "4.8.1", False),
        ("listens on 8443", "8443", True),
        ("costs 18443 euros", "8443", False),
    ],
)
def test_a_text_has_the_whole_identifier_or_not(text: str, identifier: str, has: bool) -> None:
    assert has_identifier(text, identifier) is has
