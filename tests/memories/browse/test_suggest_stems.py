"""What the index makes of words of other groups shows in no suggestion."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.browse.suggest import suggest
from tests.memories.browse.test_suggest import remember
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.mark.parametrize("typed", ["deployx", "deployxx"])
def test_a_stem_of_another_groups_word_marks_and_finds_nothing(
    alice: User, bob: User, ledger: Group, garden: Group, typed: str
) -> None:
    """The stem of deployment is "deploy", which the index would stem again: to that of deploy."""
    remember(alice, "We deploy on Fridays.")
    before = [(each.text, each.excerpt.marks) for each in suggest(person(bob), typed)]
    remember(alice, "The deployment of tulips.", "garden")
    assert [(each.text, each.excerpt.marks) for each in suggest(person(bob), typed)] == before
