"""Migration 0019: rows that said `disputed` get their trust back, and an open doubt."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection

from access import audit
from access.audit.operations import Operation
from memories.lifecycle.undo.rows import TABLES
from memories.models import Doubt, Memory
from storage.journal import drop_triggers
from tests.memories.builders import row
from tests.people import agent, the_group, the_owner

pytestmark = [pytest.mark.django_db(transaction=True)]


def migrate(*target: str) -> None:
    call_command("migrate", *target, verbosity=0, interactive=False)


@pytest.fixture(autouse=True)
def newest() -> Any:
    """The newest tables at the end, whatever fails."""
    yield
    migrate()


def dispute(memory: Memory, was: str | None) -> None:
    """Dispute a row as 0.3.0 did; with `was`, its log says which trust it had."""
    Memory.objects.filter(pk=memory.pk).update(trust="disputed")
    if was is not None:
        payload = {"changes": {"trust": [was, "disputed"]}, "reason": "it is closed"}
        audit.append(
            agent(the_owner()), Operation.DISPUTE, memory_id=memory.id, group=memory.group.id, payload=payload
        )


def test_a_dispute_becomes_doubt_and_the_log_gives_the_trust_back() -> None:
    ledger = the_group("ledger")
    verified, active, unknown = (row(ledger, text) for text in ("one", "two", "three"))
    gone = row(ledger, "four", state="forgotten")
    root = row(ledger, "five", state="superseded")
    later = row(ledger, "six", root=root, version=2)
    rows = [verified, active, unknown, gone, later]
    migrate("memories", "0001")  # the tables of 0.3.0, which had no triggers
    for table in TABLES:
        drop_triggers(connection, table.kept)
    for memory, was in zip(rows, ("verified", "active", None, "active", "active"), strict=True):
        dispute(memory, was)
    migrate()
    assert [Memory.objects.get(pk=each.pk).trust for each in rows] == ["verified", *["active"] * 4]
    found = {each.memory_id: each for each in Doubt.objects.all()}
    assert set(found) == {verified.pk, active.pk, unknown.pk, root.pk}
    told = found[verified.pk]
    assert (told.author_name, told.reason, told.status) == (agent(the_owner()).name, "it is closed", "open")
    assert told.author == the_owner()
    assert found[unknown.pk].author_name == "unknown"
    with pytest.raises(IntegrityError):
        Memory.objects.filter(pk=active.pk).update(trust="disputed")
