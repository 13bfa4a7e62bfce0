"""Of plain contradictions at least five in six are told when they are stored, of compatible pairs at most one in fifty.

The rules were written with the half `dev` in view, and `held` was opened once, when they were done.
"""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Link
from tests.memories.builders import keep
from tests.people import person

DATA = Path(__file__).parents[1] / "language" / "data"


def pairs(name: str, half: str) -> list[tuple[str, str]]:
    rows = [line.split("\t") for line in (DATA / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
    return [(old, new) for which, old, new in rows if which == half]


def count_told(owner: User, texts: list[tuple[str, str]]) -> tuple[int, int]:
    """How many of the pairs got a conflict link when their second text was stored, and how many there are."""
    told = 0
    for old, new in texts:
        ends = [keep(person(owner), text, group="ledger", scope="group").memory for text in (old, new)]
        source, target = (getattr(end, "root_key", None) for end in ends[::-1])
        links = Link.objects.filter(kind="conflict")
        told += links.filter(source=source, target=target).exists()
        told += links.filter(source=target, target=source).exists()
    return told, len(texts)


@pytest.mark.model
@pytest.mark.parametrize("half", ["dev", "held"])
def test_five_in_six_plain_contradictions_are_told(half: str, alice: User, ledger: Group) -> None:
    told, count = count_told(alice, pairs("plain_conflicts", half))
    assert (count, told >= 25) == (30, True), f"{told} of {count}"


@pytest.mark.model
@pytest.mark.parametrize("half", ["dev", "held"])
def test_one_in_fifty_compatible_pairs_is_told_at_most(half: str, alice: User, ledger: Group) -> None:
    """Every sixth is stored; tests/memories/language compares them all."""
    told, count = count_told(alice, pairs("compatible_pairs", half)[::6])
    assert (count >= 25, told == 0) == (True, True), f"{told} of {count}"
