"""Two lists of texts: what only dresses a withdrawn text does not come back live, what states another fact does.

`make test` takes a sample; `python -m bench.proof withdrawn` runs each with every verb and face.
"""

from collections import Counter
from itertools import product

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from memories.language.dress import undressed
from tests.memories.store.withdrawn_cases import (
    FACES,
    VERBS,
    Case,
    Voice,
    come_back,
    different_pairs,
    dressings,
)
from tests.people import make_token, person
from tests.sizes import IS_WHOLE, report

pytestmark = [pytest.mark.django_db, pytest.mark.model]
COMBINATIONS = [*product(VERBS, FACES)]
TECHNICAL = "technical signs"  # of paths, wildcards and code: punctuation, but counted apart
QUEUED_AT_MOST = 0.025  # of the pairs that differ in more than dress; 2.0 % with every verb and face


@pytest.fixture
def voice(alice: User) -> Voice:
    alice.is_superuser = True
    alice.save()
    return Voice(person(alice), *make_token(alice))


def sample(cases: list[Case], step: int) -> list[tuple[Case, str, str]]:
    """The first case of every `step`th id with one combination each, in turn; everything for the proof."""
    if IS_WHOLE:
        return [(case, verb, face) for case in cases for verb, face in COMBINATIONS]
    first = {case.id: case for case in reversed(cases)}
    chosen = list(first.values())[::step]
    return [(case, *COMBINATIONS[at % len(COMBINATIONS)]) for at, case in enumerate(chosen)]


def outcomes(voice: Voice, cases: list[Case], name: str, *, step: int = 1) -> dict[str, list[str]]:
    """What became of the sample, as lists of cases by outcome; counted into the report."""
    found: dict[str, list[str]] = {"live": [], "queued": [], "refused": []}
    counts: Counter[str] = Counter()
    for number, (case, verb, face) in enumerate(sample(cases, step)):
        with transaction.atomic():
            outcome = come_back(voice, case, verb=verb, face=face, number=number)
            transaction.set_rollback(True)  # thousands of groups would slow each other down
        found[outcome].append(f"{case.id}: {verb}, {face}: {case.withdrawn!r} → {case.text!r}")
        counts[f"{verb}: {outcome}"] += 1
    report({"name": name, "counts": counts})
    return found


def test_no_dress_brings_a_withdrawn_text_back_live(voice: Voice) -> None:
    live = outcomes(voice, dressings(), "dressings", step=9)["live"]
    assert live == []


def test_another_fact_is_not_refused_and_seldom_waits(voice: Voice) -> None:
    found = outcomes(voice, [case for case in different_pairs() if not case.dress], "different pairs", step=4)
    assert found["refused"] == []
    assert len(found["queued"]) <= QUEUED_AT_MOST * sum(map(len, found.values())), found["queued"]


@pytest.mark.parametrize("is_technical", [False, True])
def test_pairs_that_differ_in_dress_alone_wait_and_are_not_refused(voice: Voice, is_technical: bool) -> None:
    # Texts of fewer than 8 letters have no second mark: nothing is left of a purged one.
    dressed = [case for case in different_pairs() if case.dress and undressed(case.withdrawn)]
    pairs = [case for case in dressed if (case.dress == TECHNICAL) == is_technical]
    name = f"pairs that differ in {TECHNICAL if is_technical else 'dress'} alone"
    found = outcomes(voice, pairs, name, step=13)
    assert found["refused"] == []
    assert found["live"] == []


SALARY = "The salary of Jo in Oslo is 8081 kroner"
WORN = [
    "The salary of- Jo in+ Oslo is = 8081 kroner",
    "Th-\ne salary of Jo in Oslo is 8081 kroner",
    f"<!DOCTYPE html><html><body>{SALARY}</body></html>",
    f"---\ntitle: x\n---\n{SALARY}",
    f"{SALARY}\n\n{SALARY}",
    f"[{SALARY}][1]\n\n[1]: https://example.com",
    f"| 1 | {SALARY}¹ |",
    SALARY.replace("o", "օ").replace("8081", "٨٠٨١"),
]


@pytest.mark.parametrize("verb", VERBS)
def test_signs_documents_and_look_alikes_around_a_withdrawn_text_wait(voice: Voice, verb: str) -> None:
    cases = [Case(str(at), SALARY, text) for at, text in enumerate(WORN)]
    faces = [*FACES]
    found = [
        come_back(voice, case, verb=verb, face=faces[at % len(faces)], number=at)
        for at, case in enumerate(cases)
    ]
    assert found == ["queued"] * len(WORN)
