"""Doubt in exports: what 0.3.0 wrote as a trust, and what goes out now."""

import json
from io import StringIO

import pytest

from access.tokens import operator
from memories.lifecycle.verbs import dispute, verify
from memories.models import Doubt, Memory
from sources.exporting import export
from tests.memories.builders import doubters
from tests.people import agent, the_owner
from tests.sources.importing.test_exports import (  # noqa: F401 - with its fixtures
    Lines,
    Take,
    clear,
    emptied,
    exported,
    lines,
    number,
    take,
)

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("emptied")
def test_a_trust_of_0_3_0_that_said_disputed_comes_in_as_doubt(lines: Lines, take: Take) -> None:
    lines[number(lines, "memory", content="Roses need lime.")]["row"]["trust"] = "disputed"
    lines[number(lines, "memory", content="The port is 8081.")]["row"]["trust"] = "disputed"  # superseded
    assert take(lines).faults == ()
    roses = Memory.objects.get(content="Roses need lime.")
    assert (roses.trust, doubters(roses)) == ("active", ["operator"])
    assert Doubt.objects.count() == 1
    assert take(lines).faults == ()
    assert Doubt.objects.count() == 1


def test_doubts_go_out_and_come_in(take: Take) -> None:
    roses = Memory.objects.get(content="Roses need lime.")
    verify(operator(), roses.id)
    dispute(agent(the_owner()), roses.id, reason="salt, I think")
    out = StringIO()
    export(operator(), out)
    clear()
    assert take([json.loads(line) for line in out.getvalue().splitlines()]).faults == ()
    [doubt] = Doubt.objects.all()
    assert (doubt.memory.content, doubt.reason, doubt.status) == (roses.content, "salt, I think", "open")
    assert (doubt.author, doubt.memory.trust) == (the_owner(), "verified")
