"""Words of every script are found: the same facts in keyword mode, measured against English."""

from pathlib import Path
from typing import NamedTuple

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.tokens import actor_for_user
from access.visibility import Visibility
from memories.draft import Draft
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall import RecallRequest, recall
from memories.recall.pipeline import find_ranking
from memories.recall.question import understand
from memories.recall.scoring import Trace
from memories.store.bulk import store_many
from tests.memories.builders import row
from tests.people import person

pytestmark = pytest.mark.django_db
LEAST = 0.95  # of English


class Fact(NamedTuple):
    """A text, and a question that asks for it in another order, with other endings and small words."""

    text: str
    question: str


FACTS: dict[str, list[Fact]] = {}
for line in (Path(__file__).parent / "data" / "scripts.tsv").read_text(encoding="utf-8").splitlines():
    language, *fact = line.split("\t")
    FACTS.setdefault(language, []).append(Fact(*fact))
SHORT = {
    "Chinese": ["茶", "面包"],
    "Japanese": ["庭", "金庫"],
    "Korean": ["빵", "정원"],
    "Thai": ["ชา", "รถ"],
}


@pytest.fixture
def visible() -> Visibility:
    """All facts of all languages in one group: more than a hundred and sixty."""
    group = Group.objects.create(slug="facts")
    for facts in FACTS.values():
        for fact in facts:
            row(group, fact.text)
    actor = actor_for_user(User.objects.create_superuser("alice", password="a-long-password"), via="rest")
    return recallable_by(actor, group)


def found_first(visible: Visibility, question: str, count: int) -> list[str]:
    asked = understand(question, encoder=None)
    ranked = find_ranking(asked, visible, mode="keyword", trace=Trace()).scores
    texts = dict(Memory.objects.values_list("key", "content"))
    return [texts[key] for key, _ in ranked[:count]]


def share_found(visible: Visibility, facts: list[Fact], count: int = 5) -> float:
    return sum(fact.text in found_first(visible, fact.question, count) for fact in facts) / len(facts)


def test_there_are_twenty_facts_in_eight_scripts() -> None:
    assert len(FACTS) == 8
    assert all(len(facts) >= 20 for facts in FACTS.values())
    assert len({fact.text for facts in FACTS.values() for fact in facts}) == sum(map(len, FACTS.values()))


def test_each_script_is_found_as_well_as_english(visible: Visibility) -> None:
    shares = {name: share_found(visible, facts) for name, facts in FACTS.items()}
    assert shares["English"] >= 0.9
    short = {name: share for name, share in shares.items() if share < LEAST * shares["English"]}
    assert short == {}


@pytest.mark.parametrize(
    ("language", "word"), [(name, word) for name, words in SHORT.items() for word in words]
)
def test_one_or_two_letters_are_found(visible: Visibility, language: str, word: str) -> None:
    wanted = {fact.text for fact in FACTS[language] if word in fact.text}
    assert wanted & set(found_first(visible, word, 5))


@pytest.mark.model
@pytest.mark.parametrize(
    "question", ["userName", "UserName", "what is UserName?", "ServerFactory", "effectOnce"]
)
def test_a_part_of_an_identifier_is_an_answer(
    alice: User, ledger: Group, encoder: Encoder, question: str
) -> None:
    texts = [fact.text for name in ("identifiers", "English") for fact in FACTS[name]]
    store_many(person(alice), [Draft(text, group="ledger") for text in texts])
    answer = recall(person(alice), RecallRequest(question, group="ledger"))
    assert answer.items, answer.nearest
    last = question.rstrip("?").split()[-1].lower()
    assert last in answer.items[0].memory.content.lower()


@pytest.mark.model
def test_an_identifier_that_shares_nothing_has_no_answer(
    alice: User, ledger: Group, encoder: Encoder
) -> None:
    store_many(person(alice), [Draft(fact.text, group="ledger") for fact in FACTS["identifiers"]])
    assert recall(person(alice), RecallRequest("playStation", group="ledger")).abstained
