"""A withdrawn text inside a longer one: carriers of it wait for a person, lines that take it back do not."""

import json
from collections.abc import Iterator
from itertools import cycle

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Memory
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
