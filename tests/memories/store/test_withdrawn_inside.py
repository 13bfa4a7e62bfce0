"""A withdrawn text inside a longer one: carriers of it wait for a person, lines that take it back do not."""

import json
from collections.abc import Iterator
from itertools import cycle

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import retract
from memories.models import Link, Memory
from tests.memories.builders import kept
from tests.memories.store.withdrawn_cases import DATA, FACES, VERBS, Voice
from tests.people import make_token, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
LINES = json.loads((DATA / "carried.json").read_text(encoding="utf-8"))
CAUGHT = 0.95  # of the carriers


@pytest.fixture
def voice(alice: User, ledger: Group) -> Voice:
    alice.is_superuser = True
    alice.save()
    for case in LINES:
        kept(person(alice), case["withdrawn"], group="ledger", scope="group")
    return Voice(person(alice), *make_token(alice))


def outcomes(voice: Voice, kind: str, verb: str) -> Iterator[tuple[str, str]]:
    """Each line of this kind with what became of it, by a face in turn, after its text was withdrawn."""

    for memory in Memory.objects.all():
        VERBS[verb](voice.person, memory.id, reason="wrong")
    faces = cycle(FACES.values())
    for case in LINES:
        for line in case[kind]:
            yield line, next(faces)(voice, "ledger", line)


@pytest.mark.parametrize("verb", VERBS)
def test_a_carrier_of_a_withdrawn_text_waits(voice: Voice, verb: str) -> None:
    found = dict(outcomes(voice, "carriers", verb))
    live = [line for line, outcome in found.items() if outcome == "created"]
    assert len(live) <= (1 - CAUGHT) * len(found), live


@pytest.mark.parametrize("verb", VERBS)
def test_a_line_that_takes_it_back_or_states_something_else_is_stored(voice: Voice, verb: str) -> None:
    found = dict(outcomes(voice, "others", verb))
    stopped = [line for line, outcome in found.items() if outcome != "created"]
    assert not stopped, "\n".join(stopped)


def test_an_edit_says_as_a_store_does_that_it_carries_a_withdrawn_text(alice: User, ledger: Group) -> None:
    wrong = kept(person(alice), "The deploy port of the ledger is 8082.", group="ledger")
    first = kept(person(alice), "The ledger team meets on Monday at nine.", group="ledger")
    retract(person(alice), wrong.id)
    edited = edit(person(alice), first.id, EditDraft(content=f"{first.content} {wrong.content}"))
    assert edited.outcome == "queued"
    link = Link.objects.get(source=edited.memory, target=wrong)
    assert link.reason == "its text is part of this one"
