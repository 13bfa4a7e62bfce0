"""Front matter keeps every byte but Loci's own keys."""

import pytest
from hypothesis import HealthCheck, given, settings

from sources.watching.front_matter import BrokenHead, read_head, with_own_keys
from sources.watching.note_text import read_note
from tests.sources.watching.heads import KEYS, heads, keeps_every_byte, without_own

SEED = """---
id: locus-20260301-ports
created: 2026-03-01T10:00:00Z   # when we met
room: "dev"
tags: [ports, 'no', 1.10]
draft: no
version: 1.10
source_conversation: conv-7
---
# Ports

The ledger listens on 8081.
"""


def test_only_two_lines_are_added() -> None:
    after = with_own_keys(SEED, KEYS)
    assert without_own(after) == SEED
    assert read_head(after)["loci_version"] == 3
    assert with_own_keys(after, KEYS) == after
    assert without_own(with_own_keys(after, {**KEYS, "loci_version": "4"})) == SEED


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Fix: this\n---\nText.\n",
        '---\ntitle: "open\n---\nText.\n',
        "---\na: 1\na: 2\n---\nText.\n",
        "---\n- one\n- two\n---\nText.\n",
        "---\n\tx: 1\n---\nText.\n",
    ],
)
def test_what_does_not_parse_is_left_as_it_is_and_told(text: str) -> None:
    with pytest.raises(BrokenHead):
        with_own_keys(text, KEYS)
    note = read_note("a.locus", text.encode())
    assert "never written" in note.trouble
    assert note.sections[0].body == "Text."


@pytest.mark.parametrize("text", ["Text.\n", "---\nnot closed\n", "", "----\na: 1\n----\n"])
def test_a_text_without_front_matter_stays(text: str) -> None:
    assert with_own_keys(text, KEYS) == text


def test_a_mapping_in_braces_takes_no_more_keys() -> None:
    with pytest.raises(BrokenHead):
        with_own_keys("---\n{a: 1}\n---\nText.\n", KEYS)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(heads())
def test_a_random_head_survives(text: str) -> None:
    """The proof `files` tries 500 and more."""
    keeps_every_byte(text)
