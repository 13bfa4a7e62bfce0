"""Everything that names somebody is found, for a purge."""

import io
import json

import pytest
from django.core.management import call_command

from access.models import Group
from access.tokens import operator
from memories.draft import Draft
from memories.entities.find_person import find_person
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.verbs import forget
from memories.models import Memory
from memories.sessions.checkpoints import save_checkpoint
from memories.store import store

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def remember(text: str, **fields: object) -> Memory:
    stored = store(operator(), Draft(text, group="ledger", **fields)).memory  # type: ignore[arg-type]
    assert stored is not None
    return stored


def test_every_mention_is_found_in_every_state(ledger: Group) -> None:
    named = remember("Yesterday ANNA  Berg closed the quay.")
    hidden = remember("Anna Berg prefers tea.")
    forget(operator(), hidden.id)
    tagged = remember("The list of guests.", metadata={"guests": ["Anna Berg"]})
    spoken = remember("Good morning.", thread="Call with Anna Berg")
    remember("Anna went to Bergen, and Johanna Bergmann stayed.")
    related = store_relation(
        operator(), RelationDraft("Anna Berg", "works at", "Harbour Inc", group="ledger")
    )
    save_checkpoint(operator(), group="ledger", thread="", state={"ask": "Anna Berg"})
    found = find_person(operator(), "anna berg")
    assert {each.memory.id: each.where for each in found.memories} == {
        named.id: ("content",),
        hidden.id: ("content",),
        tagged.id: ("metadata",),
        spoken.id: ("thread",),
        related.subject.id: ("content", "name of the entity"),
        related.object.id: ("relation",),
    }
    assert len(found.checkpoints) == 1


def test_the_command_lists_ids_and_no_text(ledger: Group) -> None:
    memory = remember("Anna Berg closed the quay.")
    out = io.StringIO()
    call_command("memory", "find-person", "Anna Berg", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {
        "memories": [{"id": str(memory.id), "group": "ledger", "state": "live", "where": ["content"]}],
        "checkpoints": [],
        "others": [],
    }
    out = io.StringIO()
    call_command("memory", "find-person", "Anna Berg", stdout=out)
    assert "1 memory and 0 checkpoints." in out.getvalue()
