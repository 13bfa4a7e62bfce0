"""Doubt in exports: what 0.3.0 wrote as a trust, and what goes out now."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from access.tokens import operator
from memories.draft import Draft
from memories.lifecycle.verbs import dispute, verify
from memories.models import Doubt, Memory
from memories.store import store
from sources.exporting import export
from sources.importing.formats.exports import restore_export
from tests.memories.builders import doubters
from tests.people import agent, person, the_group, the_owner
from tests.sources.importing.test_exports import clear

pytestmark = [pytest.mark.django_db, pytest.mark.model]
OLD, NEW, ROSES = "The port is 8081.", "The port is 9000.", "Roses need lime."


@pytest.fixture
def roses() -> Memory:
    """A fact, after another one in two versions."""
    the_group("ledger")
    me = person(the_owner())
    old = store(me, Draft(OLD, group="ledger", scope="group")).memory
    assert old is not None
    store(me, Draft(NEW, group="ledger", scope="group", supersedes=old.id))
    stored = store(me, Draft(ROSES, group="ledger", scope="group")).memory
    assert stored is not None
    return stored


def written() -> list[dict[str, Any]]:
    """The lines of an export; the store is another, empty one afterwards."""
    out = StringIO()
    export(operator(), out)
    clear()
    return [json.loads(line) for line in out.getvalue().splitlines()]


def take(folder: Path, lines: list[dict[str, Any]]) -> None:
    file = folder / "in.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert restore_export(operator(), file).faults == ()


def test_a_trust_of_0_3_0_that_said_disputed_comes_in_as_doubt(roses: Memory, tmp_path: Path) -> None:
    lines = written()
    for line in lines:
        if line["kind"] == "memory" and line["row"]["content"] in (OLD, ROSES):
            line["row"]["trust"] = "disputed"
    for _ in range(2):
        take(tmp_path, lines)
        taken = Memory.objects.get(id=roses.id)
        assert (taken.trust, doubters(taken)) == ("active", ["operator"])
        assert Doubt.objects.count() == 1, "the superseded text has none"


def test_doubts_go_out_and_come_in(roses: Memory, tmp_path: Path) -> None:
    verify(operator(), roses.id)
    dispute(agent(the_owner()), roses.id, reason="salt, I think")
    take(tmp_path, written())
    [doubt] = Doubt.objects.all()
    assert (doubt.memory.content, doubt.reason, doubt.status) == (ROSES, "salt, I think", "open")
    assert (doubt.author, doubt.memory.trust) == (the_owner(), "verified")
