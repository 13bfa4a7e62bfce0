"""Metadata and context given at store are found by their words."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection

from access.errors import InvalidInput
from access.models import Group
from maintenance.doctor.rows import stale_contexts
from memories.draft import MAX_CONTEXT_CHARS, Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.store import store
from memories.types import SUMMARY_SOURCE
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The importer drops rows without a date."


def remember(user: User, content: str = TEXT, **fields: Any) -> Memory:
    stored = store(person(user), Draft(content, group="ledger", **fields))
    assert stored.memory is not None
    return stored.memory


def found(user: User, words: str) -> list[str]:
    """The answer by words, which is that of both searches too."""
    by_words, by_both = (
        [
            item.memory.content
            for item in recall(person(user), RecallRequest(words, group="ledger", mode=mode)).items
        ]
        for mode in ("keyword", "hybrid")
    )
    assert by_words == by_both
    return by_both


def test_context_becomes_a_part_of_the_metadata(alice: User, ledger: Group, encoder: object) -> None:
    memory = remember(alice, context="  retro of the\npelican team ", metadata={"ticket": "LED-4711"})
    assert memory.metadata == {"ticket": "LED-4711", "context": "retro of the pelican team"}
    with pytest.raises(InvalidInput) as refused:
        remember(alice, "Another.", context="x" * (MAX_CONTEXT_CHARS + 1))
    assert refused.value.field == "context"


@pytest.mark.parametrize(
    "words",
    ["pelican", "LED-4711", "4242", "kestrel deep", "What came out of the retro of the pelican team?"],
)
def test_the_words_of_metadata_find_the_memory(
    alice: User, ledger: Group, encoder: object, words: str
) -> None:
    remember(alice, "Tomatoes want sun.")
    values = {
        "ticket": "LED-4711",
        "build": 4242,
        "at": {"place": ["kestrel", "deep"]},
        "done": True,
        "none": None,
    }
    remember(alice, context="retro of the pelican team", metadata=values)
    assert found(alice, words) == [TEXT]
    assert found(alice, "True") == found(alice, "ticket") == []


def test_an_edit_of_the_metadata_and_its_undo_change_what_is_found(
    alice: User, ledger: Group, encoder: object
) -> None:
    memory = remember(alice, metadata={"team": "pelican"}, thread="retro", tags=("import",))
    remember(alice, "We end here.", thread="retro", metadata={"team": "heron"})
    edited = edit(person(alice), memory.id, EditDraft(metadata={"team": "kestrel"}))
    assert (found(alice, "kestrel"), found(alice, "pelican")) == ([TEXT], [])
    assert found(alice, "heron") == ["We end here."]
    assert [*stale_contexts()] == []
    assert edited.outcome == "changed"


def test_what_maintenance_notes_and_speakers_are_no_words(
    alice: User, ledger: Group, encoder: object
) -> None:
    memory = remember(alice, metadata={"speaker": "pelican"})
    other = remember(alice, "Three outages.", metadata={"form": "kestrel"}, source=SUMMARY_SOURCE)
    assert (memory.context, other.context) == ("", "")


def test_the_migration_adds_the_words_to_what_is_stored(alice: User, ledger: Group, encoder: object) -> None:
    remember(alice, tags=("import",), metadata={"team": "pelican"}, thread="retro")
    remember(alice, "We end here.", thread="retro", metadata={"speaker": "Ann"})
    plain = {memory.pk: memory.context.removesuffix("pelican").strip() for memory in Memory.objects.all()}
    for key, context in plain.items():
        Memory.objects.filter(pk=key).update(context=context)
    assert found(alice, "pelican") == []
    migration = import_module("memories.migrations.0024_metadata_is_searched")
    migration.add_words(apps, connection.schema_editor())
    assert found(alice, "pelican") == [TEXT]
    assert [*stale_contexts()] == []
