"""Words of every script are found: the same facts, asked in keyword mode, against English as the measure."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.tokens import actor_for_user
from access.visibility import Visibility
from memories.models import Memory
from memories.recall import rank_keys
from memories.recall.query import understand
from memories.recall.trace import Trace
from memories.visibility import recallable_by
from tests.memories.builders import row
from tests.recall.facts import FACTS, Fact

pytestmark = pytest.mark.django_db
LEAST = 0.95  # of English
SHORT = {
    "Chinese": ["茶", "面包"],
    "Japanese": ["庭", "金庫"],
    "Korean": ["빵", "정원"],
    "Thai": ["ชา", "รถ"],
}


@pytest.fixture
def room() -> Visibility:
    """All facts of all languages in one group: more than a hundred and sixty."""
    group = Group.objects.create(slug="facts")
    for facts in FACTS.values():
        for fact in facts:
            row(group, fact.text)
    actor = actor_for_user(User.objects.create_superuser("alice", password="a-long-password"), via="rest")
    return recallable_by(actor, group)


def found_first(room: Visibility, question: str, count: int) -> list[str]:
    ranked = rank_keys(understand(question, encoder=None), room, mode="keyword", trace=Trace())
    texts = dict(Memory.objects.values_list("key", "content"))
    return [texts[key] for key, _ in ranked[:count]]


def share_found(room: Visibility, facts: list[Fact], count: int = 5) -> float:
    return sum(fact.text in found_first(room, fact.question, count) for fact in facts) / len(facts)


def test_there_are_twenty_facts_in_eight_scripts() -> None:
    assert len(FACTS) == 8
    assert all(len(facts) >= 20 for facts in FACTS.values())
    assert len({fact.text for facts in FACTS.values() for fact in facts}) == sum(map(len, FACTS.values()))


def test_each_script_is_found_as_well_as_english(room: Visibility) -> None:
    shares = {name: share_found(room, facts) for name, facts in FACTS.items()}
    assert shares["English"] >= 0.9
    short = {name: share for name, share in shares.items() if share < LEAST * shares["English"]}
    assert short == {}


@pytest.mark.parametrize(
    ("language", "word"), [(name, word) for name, words in SHORT.items() for word in words]
)
def test_one_or_two_letters_are_found(room: Visibility, language: str, word: str) -> None:
    wanted = {fact.text for fact in FACTS[language] if word in fact.text}
    assert wanted & set(found_first(room, word, 5))
