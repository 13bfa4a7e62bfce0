"""Near pairs stay two facts, paraphrases are found: all of them in `make proof duplicates`, a sample in `make test`."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db.models import Q

from access.models import Group
from memories.models import Link, Memory
from memories.store import StoreResult
from tests.memories.builders import keep
from tests.memories.near_pairs import NearPair, near_pairs
from tests.people import person
from tests.settings import REPOSITORY
from tests.sizes import IS_WHOLE, part, report

PARAPHRASES = Path(__file__).parent / "data" / "paraphrases.tsv"
FOUND_AT_LEAST = 0.9  # of the paraphrases
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=[-|#\d])")


def paraphrases() -> list[tuple[str, str]]:
    lines = PARAPHRASES.read_text(encoding="utf-8").splitlines()
    return [(old, new) for old, new in (line.split("\t") for line in lines)]


def sample() -> list[NearPair]:
    """One pair of each template, each from another frame and of another thing."""
    pairs = list(near_pairs())
    return [pairs[template * 90 + template % 9 * 10 + template % 10] for template in range(12)]


def sentences() -> list[str]:
    """Distinct sentences of this repository's own pages, as text that was not written for this purpose."""
    found: dict[str, None] = {}
    for page in sorted((REPOSITORY / "docs").rglob("*.md")):
        for piece in SENTENCE_END.split(page.read_text(encoding="utf-8")):
            sentence = " ".join(piece.split())
            if 40 <= len(sentence) <= 300 and sentence.endswith(".") and "|" not in sentence:
                found[sentence] = None
    return list(found)


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
    assert len(sentences()) >= 1000


@pytest.mark.model
@pytest.mark.parametrize("dedup", ["guarded", "overwrite"])
def test_no_fact_is_lost_and_other_words_are_found(
    alice: User, ledger: Group, dedup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.store.neighbours.is_overwriting", lambda: dedup == "overwrite")
    pairs = [*near_pairs()] if IS_WHOLE else sample()
    names = dict.fromkeys(pair.template for pair in pairs)
    assert len(names) == 12
    for name in names:
        store_both(
            alice, [(pair.old, pair.new) for pair in pairs if pair.template == name], f"{dedup}: {name}"
        )
    facts = {text for pair in pairs for text in (pair.old, pair.new)}
    # Overwriting may merge what is near and unguarded: some of all pairs, none of the sample.
    assert facts <= live_texts() or (dedup == "overwrite" and IS_WHOLE)

    same = part(paraphrases(), 10)
    found = store_both(alice, same, f"{dedup}: paraphrases")
    assert found >= FOUND_AT_LEAST * len(same)

    if dedup == "guarded":
        texts = sentences()[: 1000 if IS_WHOLE else 20]
        store_both(alice, zip(texts[::2], texts[1::2], strict=True), "sentences of these pages")
        assert facts.union(texts) <= live_texts()


def store_both(alice: User, pairs: Iterable[tuple[str, str]], name: str) -> int:
    """Store both texts of each pair; how many second ones were reinforced or linked as duplicates. No text vanishes."""
    pairs = [*pairs]
    texts = {text for pair in pairs for text in pair}
    told = [[keep(person(alice), text, group="ledger") for text in pair] for pair in pairs]
    assert texts <= set(Memory.objects.filter(content__in=texts).values_list("content", flat=True))
    reinforced = sum(new.outcome == "reinforced" and new.memory == old.memory for old, new in told)
    duplicates, conflicts = (
        sum(are_tied(*pair, kind) for pair in told) for kind in ("duplicate", "conflict")
    )
    report(
        {
            f"{name}, {len(pairs)} pairs": f"{len(texts - live_texts())} texts merged away, {reinforced} reinforced,"
            f" {duplicates} linked as duplicates, {conflicts} as conflicts"
        }
    )
    return reinforced + duplicates


def live_texts() -> set[str]:
    return set(Memory.objects.filter(state="live").values_list("content", flat=True))


def are_tied(old: StoreResult, new: StoreResult, kind: str) -> bool:
    assert old.memory is not None
    assert new.memory is not None
    one, other = old.memory.root_key, new.memory.root_key
    ends = Q(source=one, target=other) | Q(source=other, target=one)
    return one != other and Link.objects.filter(ends, kind=kind).exists()
