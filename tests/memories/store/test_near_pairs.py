"""A small look at what `make proof duplicates` shows in full: near pairs stay two facts, paraphrases are found."""

from collections import Counter
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Link, Memory
from tests.memories.builders import keep
from tests.memories.near_pairs import NearPair, near_pairs
from tests.people import person

PARAPHRASES = Path(__file__).parent / "data" / "paraphrases.tsv"


def paraphrases() -> list[tuple[str, str]]:
    lines = PARAPHRASES.read_text(encoding="utf-8").splitlines()
    return [(old, new) for old, new in (line.split("\t") for line in lines)]


def sample() -> list[NearPair]:
    """One pair of each template, each from another frame and of another thing."""
    pairs = list(near_pairs())
    return [pairs[template * 90 + template % 9 * 10 + template % 10] for template in range(12)]


def test_the_corpus_is_what_it_says() -> None:
    pairs = list(near_pairs())
    assert len(pairs) == 1080
    assert len({pair.frame for pair in pairs}) == 108
    assert len({text for pair in pairs for text in (pair.old, pair.new)}) == 2160
    assert set(Counter(pair.template for pair in pairs).values()) == {90}
    assert pairs[0].old == "The contract for the billing service ends on 3 October 2026."
    assert pairs[0].new == "The contract for the billing service ends on 4 October 2026."
    texts = [text for pair in paraphrases() for text in pair]
    assert (len(paraphrases()), len(set(texts))) == (300, 600)


@pytest.mark.model
@pytest.mark.parametrize("dedup", ["guarded", "overwrite"])
def test_no_fact_is_lost(alice: User, ledger: Group, dedup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.store.neighbours.is_overwriting", lambda: dedup == "overwrite")
    pairs = sample()
    assert len({pair.template for pair in pairs}) == 12
    for pair in pairs:
        keep(person(alice), pair.old, group="ledger")
        keep(person(alice), pair.new, group="ledger")
    live = set(Memory.objects.filter(state="live").values_list("content", flat=True))
    assert live == {text for pair in pairs for text in (pair.old, pair.new)}


@pytest.mark.model
def test_nine_of_ten_paraphrases_are_linked_or_reinforced(alice: User, ledger: Group) -> None:
    found = 0
    pairs = paraphrases()[::10]
    for old, new in pairs:
        first = keep(person(alice), old, group="ledger").memory
        told = keep(person(alice), new, group="ledger")
        tied = Link.objects.filter(kind="duplicate", source=told.memory, target=first).exists()
        found += tied or (told.outcome, told.memory) == ("reinforced", first)
    assert (len(pairs), found >= 27) == (30, True)
