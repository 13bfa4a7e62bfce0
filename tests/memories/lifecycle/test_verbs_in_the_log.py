"""A memory's state after any verb can be read from the log alone."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.actor import Actor
from access.models import Group
from maintenance.audit_replay import REBUILT, memory_at
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import dispute, forget, merge, pin, restore, retract, supersede, verify
from memories.models import Link, LinkKind, Memory
from memories.queries.snapshot import RELATED_ROWS, snapshot
from tests.memories.builders import keep, kept
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
Steps = Callable[[Actor, Memory, Memory], object]


def merged_and_restored(actor: Actor, one: Memory, two: Memory) -> None:
    merge(actor, one.id, two.id, content="The ledger is served from a rack.")
    restore(actor, one.id)


def summarised_and_withdrawn(actor: Actor, one: Memory, two: Memory) -> None:
    """Two promoted facts lose what they rested on."""
    event = keep(actor, "I saw the rack.", group="ledger", type="episodic").memory
    assert event is not None
    for fact in (one, two):
        Link.objects.create(kind=LinkKind.EVIDENCE, source=fact, target=event)
    retract(actor, event.id)


def replaced_and_brought_back(actor: Actor, one: Memory, two: Memory) -> None:
    supersede(actor, one.id, two.id)
    restore(actor, one.id)


def retracted_and_brought_back(actor: Actor, one: Memory, two: Memory) -> None:
    edit(actor, one.id, EditDraft(content="The ledger is served from Bremen."))
    retract(actor, one.id)
    restore(actor, one.id)


STEPS: dict[str, Steps] = {
    "forget, restore": lambda a, one, two: (forget(a, one.id), restore(a, one.id)),
    "retract": lambda a, one, two: retract(a, one.id, reason="wrong"),
    "retract for another": lambda a, one, two: retract(a, one.id, successor=two.id),
    "retract for a text": lambda a, one, two: retract(a, one.id, successor="The ledger moved to Bremen."),
    "merge": lambda a, one, two: merge(a, one.id, two.id),
    "merge with a text, restore": merged_and_restored,
    "supersede": lambda a, one, two: supersede(a, one.id, two.id),
    "supersede, restore": replaced_and_brought_back,
    "edit, retract, restore": retracted_and_brought_back,
    "evidence withdrawn": summarised_and_withdrawn,
    "pin, verify, dispute": lambda a, one, two: (pin(a, one.id), verify(a, one.id), dispute(a, one.id)),
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_the_log_tells_how_every_memory_stands(alice: User, ledger: Group, steps: Steps) -> None:
    actor = person(alice)
    one = kept(actor, "The ledger is served from Hamburg.", group="ledger", tags=("ops",))
    two = kept(actor, "Production of the ledger stands in a rack.", group="ledger", tags=("rack",))
    steps(actor, one, two)
    for memory in Memory.objects.select_related(*RELATED_ROWS):
        told = memory_at(actor, memory.id, timezone.now())
        stands = snapshot(memory)
        assert told.basis == "log"
        assert {name: told.fields[name] for name in REBUILT} == {name: stands[name] for name in REBUILT}
