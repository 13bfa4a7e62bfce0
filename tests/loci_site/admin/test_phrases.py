"""Sentences of services on pages: in the reader's language, with their values, and whole where they are unknown."""

import pytest
from django.utils.translation import override

from loci_site.admin.phrases import PHRASES, in_sentence
from memories.language.contradictions import ConflictKind, Contradiction
from memories.language.same_fact import compare
from memories.recall.abstention import ELSEWHERE_REASON, FAR_BELOW_REASON, FILLER_REASON, NOTHING_RELEVANT
from memories.recall.choosing import AHEAD_REASON, ALIKE_REASON, CHANGED_REASON, OTHER_REASON
from memories.store.withdrawn.left_out import LEFT_OUT_REASON


@pytest.mark.parametrize(
    ("said", "german"),
    [
        ("76.5 GB free", "76.5 GB frei"),
        ("it ranks 3", "Rang 3"),
        (
            f"it ranks 11, but beyond the first 10 and {FILLER_REASON}",
            "Rang 11, aber nach den ersten 10, und sie hat kein Wort mit der Frage gemeinsam und liegt auch in der "
            "Bedeutung nicht nahe",
        ),
        ("recall hides forgotten memories", "der Abruf verbirgt Erinnerungen in diesem Zustand: vergessen"),
        (
            "backup failed 3×, cycle is overdue: see 'loci schedule'",
            "backup ist 3-mal fehlgeschlagen, cycle ist überfällig; siehe „loci schedule“",
        ),
        ("an unknown sentence, and more", "an unknown sentence, and more"),
        ("", ""),
    ],
)
def test_a_sentence_is_in_the_readers_language(said: str, german: str) -> None:
    with override("de"):
        assert in_sentence(said) == german


def test_a_contradiction_keeps_its_words() -> None:
    said = Contradiction(ConflictKind.VALUE, "30 days", "90 days").why
    with override("zh-hans"):
        assert in_sentence(said) == "相矛盾：值，“30 days”与“90 days”"


@pytest.mark.parametrize(
    "said",
    [
        FILLER_REASON,
        ELSEWHERE_REASON,
        FAR_BELOW_REASON,
        AHEAD_REASON,
        ALIKE_REASON,
        CHANGED_REASON,
        OTHER_REASON,
        LEFT_OUT_REASON,
        NOTHING_RELEVANT,
        compare("The port is 80.", "The port is 81.", cosine=0.99, same_cosine=0.97).why,
        compare("The port is open.", "The port is not open.", cosine=0.99, same_cosine=0.97).why,
        compare("The port is open.", "The harbour is open.", cosine=0.93, same_cosine=0.97).why,
    ],
)
def test_what_services_say_is_known(said: str) -> None:
    with override("de"):
        assert in_sentence(said) != said


def test_english_is_as_it_was() -> None:
    for phrase in PHRASES:
        said = phrase.format_map(dict.fromkeys(("kind", "size", "seconds", "jobs", "why", "old", "new", "cosine", "chars", "words", "difference", "rank", "limit", "filter", "at", "job", "times", "error"), "value"))  # fmt: skip
        assert in_sentence(said) == said
