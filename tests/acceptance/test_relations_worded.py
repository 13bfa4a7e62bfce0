"""Relations are told whatever words ask for them, on three stores and questions that were written before the rules were read."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from access.groups import create_group
from access.tokens import operator
from memories.draft import Draft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.language.cleaning import fold
from memories.recall import RecallRequest, RecallResult, recall
from memories.store.bulk import store_many

pytestmark = [pytest.mark.django_db, pytest.mark.model, pytest.mark.usefixtures("encoder")]

DATA = Path(__file__).parent / "data" / "relations"


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def ask(question: str, store: str) -> RecallResult:
    return recall(operator(), RecallRequest(question, group=f"store-{store.lower()}", is_trial=True))


def is_told(row: dict[str, Any]) -> bool:
    told = fold(" ".join(line.text for line in ask(row["question"], row["store"]).relations))
    return all(fold(name) in told for name in row["answers"])


def test_relations_are_told_in_other_words_than_their_predicates() -> None:
    rows = lines_of("relations.jsonl")
    for store in "ABC":
        group = f"store-{store.lower()}"
        create_group(operator(), group)
        own = [row for row in rows if row["store"] == store]
        store_many(operator(), [Draft(row["text"], group=group) for row in own if row["kind"] == "memory"])
        for row in own:
            if row["kind"] == "triple":
                draft = RelationDraft(row["subject"], row["predicate"], row["object"], group=group)
                store_relation(operator(), draft)
    found = Counter[str]()
    for row in rows:
        if row["kind"] == "question":
            found["one step"] += is_told(row)
    for row in lines_of("two_hops.jsonl"):
        found["two steps"] += is_told(row)
    for row in lines_of("unrelated.jsonl"):
        for store in "ABC":
            answer = ask(row["word"], store)
            found["unrelated"] += bool(answer.items or answer.relations)
    assert (found["one step"] >= 85, found["two steps"] >= 16, found["unrelated"] <= 3) == (
        True,
        True,
        True,
    ), found
