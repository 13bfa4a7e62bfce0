"""Migration 0019: rows that said `disputed` get their trust back, and an open doubt."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError

from access import audit
from access.audit.operations import Operation
from access.models import Group
from memories.models import Doubt, Memory
from tests.memories.builders import row
from tests.people import agent, the_group, the_owner

pytestmark = [pytest.mark.django_db(transaction=True)]


def migrate(*target: str) -> None:
    call_command("migrate", *target, verbosity=0, interactive=False)


@pytest.fixture
def before() -> Any:
    """The tables as of 0.3.0."""
    migrate("memories", "0001")
    yield
    migrate()


def disputed(group: Group, text: str, was: str | None, **fields: Any) -> Memory:
    """A row that 0.3.0 disputed; with `was`, its log says which trust it had."""
    memory = row(group, text, **fields)
    Memory.objects.filter(pk=memory.pk).update(trust="disputed")
    if was is not None:
        payload = {"changes": {"trust": [was, "disputed"]}, "reason": "it is closed"}
        audit.append(
            agent(the_owner()), Operation.DISPUTE, memory_id=memory.id, group=group.id, payload=payload
        )
    return memory


def test_a_dispute_becomes_doubt_and_the_log_gives_the_trust_back(before: None) -> None:
    ledger = the_group("ledger")
    verified = disputed(ledger, "one", "verified")
    active = disputed(ledger, "two", "active")
    unknown = disputed(ledger, "three", None)
    gone = disputed(ledger, "four", "active", state="forgotten")
    root = row(ledger, "five", state="superseded")
    later = disputed(ledger, "six", "active", root=root, version=2)
    migrate()
    rows = [verified, active, unknown, gone, later]
    assert [Memory.objects.get(pk=each.pk).trust for each in rows] == ["verified", *["active"] * 4]
    found = {each.memory_id: each for each in Doubt.objects.all()}
    assert set(found) == {verified.pk, active.pk, unknown.pk, root.pk}
    told = found[verified.pk]
    assert (told.author_name, told.reason, told.status) == (agent(the_owner()).name, "it is closed", "open")
    assert told.author == the_owner()
    assert found[unknown.pk].author_name == "unknown"
    with pytest.raises(IntegrityError):
        Memory.objects.filter(pk=active.pk).update(trust="disputed")
