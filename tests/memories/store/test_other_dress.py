"""The same text in other dress is one memory, found by its hash: with and without a model, and by imports."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.draft import Draft
from memories.language.cleaning import fold
from memories.models import Memory
from memories.store.bulk import store_many
from tests.memories.builders import fresh, keep, kept
from tests.people import person

pytestmark = pytest.mark.django_db
TEXT = "The archive of the ledger is in Oslo."
DRESSED = (
    TEXT[:-1] + "!",
    TEXT[:-1],
    f"- {TEXT}",
    f"“{TEXT}”",
    f"**{TEXT}**",
    TEXT.upper(),
    f"  {TEXT.replace(' ', '   ')} ",
    f"«{TEXT[:-1]}»",
)
OTHER = (
    "The archive of the ledger is in Ósló.",  # accents may tell two words apart
    "The archive of the ledger is in Oslo?",
    "The archive of the led ger is in Oslo.",
)


@pytest.mark.parametrize("text", DRESSED)
def test_other_dress_reinforces_without_a_model(alice: User, ledger: Group, text: str) -> None:
    first = kept(person(alice), TEXT, group="ledger")
    again = keep(person(alice), text, group="ledger")
    assert (again.outcome, again.memory) == ("reinforced", first)
    assert Memory.objects.get(state="merged").content == text.strip()


@pytest.mark.parametrize("text", DRESSED)
def test_an_import_knows_other_dress(alice: User, ledger: Group, text: str) -> None:
    drafts = [Draft(each, group="ledger", source="notes", source_ref=each[:9] + str(at)) for at, each in enumerate([TEXT, text])]  # fmt: skip
    done = store_many(person(alice), drafts)
    assert done.outcomes == ("created", "reinforced")
    assert Memory.objects.filter(state="live").count() == 1


@pytest.mark.parametrize("text", OTHER)
def test_other_words_or_signs_are_another_memory(alice: User, ledger: Group, text: str) -> None:
    first = kept(person(alice), TEXT, group="ledger")
    assert keep(person(alice), text, group="ledger").outcome == "created"
    assert fresh(first).state == "live"


def test_another_scope_or_type_is_another_memory(alice: User, ledger: Group) -> None:
    kept(person(alice), TEXT, group="ledger", scope="group")
    kept(person(alice), DRESSED[0], group="ledger", scope="global")
    kept(person(alice), DRESSED[0], group="ledger", scope="group", type="procedural")


def test_a_text_in_capitals_that_may_be_another_unit_is_kept_apart(alice: User, ledger: Group) -> None:
    kept(person(alice), "The pump takes 40 mW at night.", group="ledger")
    assert fold("40 mW") == fold("40 MW")
    assert keep(person(alice), "The pump takes 40 MW at night.", group="ledger").outcome == "created"
