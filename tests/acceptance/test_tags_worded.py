"""Twenty questions whose subject stands in the tags alone: what the weight of tags is for."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from access.models import Group
from access.tokens import operator
from memories.draft import Draft
from memories.embedding import Encoder
from memories.queries.visibility import recallable_by
from memories.recall.pipeline import find_ranking
from memories.recall.question import understand
from memories.recall.scoring import Trace
from memories.store import store

pytestmark = [pytest.mark.django_db, pytest.mark.model]
_FOLDER = Path(__file__).parent / "data/tags"
_EACH = 3  # texts have the same tag


def _read(name: str) -> list[Mapping[str, str]]:
    return [json.loads(line) for line in (_FOLDER / name).read_text().splitlines()]


def test_a_subject_that_only_tags_name_is_found_by_them(ledger: Group, encoder: Encoder) -> None:
    tags = dict[int, str]()
    for row in _read("texts.jsonl"):
        stored = store(operator(), Draft(row["text"], group="ledger", tags=(row["tag"],))).memory
        assert stored is not None
        tags[stored.key] = row["tag"]
    visibility, firsts, found = recallable_by(operator(), ledger), 0, 0
    for asked in _read("questions.jsonl"):
        question = understand(asked["question"], encoder=encoder, actor=operator())
        ranking = find_ranking(question, visibility, mode="hybrid", trace=Trace())
        best = [tags[key] == asked["tag"] for key, _ in ranking.scores[:_EACH]]
        firsts, found = firsts + best[0], found + sum(best)
    # 20 and 54; without the weight of tags 15 and 36, with 0.2 of it 18 and 47, with 0.4 of it 18 and 50.
    assert firsts >= 19
    assert found >= 52
