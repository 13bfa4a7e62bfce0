"""A text that was superseded is stored again: it counts at once only in the place of what superseded it."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.lifecycle.verbs import approve
from memories.models import Link, Memory
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
OLD, NEW = "The gateway listens on port 8080.", "The gateway listens on port 9090."
OTHER = "Invoices are printed in Leeds."


@pytest.fixture
def current(alice: User, ledger: Group) -> Memory:
    old = kept(person(alice), OLD, group="ledger")
    return kept(person(alice), NEW, group="ledger", supersedes=old.id)


def test_naming_what_superseded_it_makes_it_current_and_settles_the_link(
    alice: User, current: Memory
) -> None:
    waiting = keep(agent(alice), OLD, group="ledger")
    assert waiting.outcome == "queued"
    again = keep(agent(alice), OLD, group="ledger", supersedes=current.id)
    assert (again.outcome, again.memory) == ("reinforced", waiting.memory)
    assert waiting.memory is not None
    assert (fresh(waiting.memory).trust, fresh(current).state) == ("active", "superseded")
    assert Link.objects.get(source=waiting.memory).status == "settled"


@pytest.mark.parametrize("waits_before", [True, False])
def test_naming_another_memory_leaves_it_waiting_and_replaces_nothing(
    alice: User, current: Memory, waits_before: bool
) -> None:
    other = kept(person(alice), OTHER, group="ledger")
    if waits_before:
        keep(agent(alice), OLD, group="ledger")
    again = keep(agent(alice), OLD, group="ledger", supersedes=other.id)
    candidate = Memory.objects.get(content=OLD, state="live")
    assert candidate.trust == "candidate"
    assert (fresh(other).state, fresh(current).state) == ("live", "live")
    assert again.superseded is None
    open_links = Link.objects.filter(source=candidate.root_key, status="open", kind="conflict")
    assert {*open_links.values_list("target", flat=True)} == {other.root_key, current.root_key}

    would = approve(person(alice), candidate.id, dry_run=True)
    done = approve(person(alice), candidate.id)
    assert would.consequences == done.consequences
    assert {f"“{row.content}” is superseded" for row in (other, current)} < {*done.consequences}
    assert (fresh(other).state, fresh(current).state) == ("superseded", "superseded")


def test_an_approval_that_replaces_nothing_does_not_claim_to(alice: User, ledger: Group) -> None:
    ledger.policy = "all"
    ledger.save()
    candidate = keep(agent(alice), OTHER, group="ledger").memory
    assert candidate is not None
    assert approve(person(alice), candidate.id).consequences == ("recall returns it",)


def test_a_link_to_a_live_memory_stays_open_when_the_text_counts_again(alice: User, current: Memory) -> None:
    other = kept(person(alice), OTHER, group="ledger")
    keep(agent(alice), OLD, group="ledger", supersedes=other.id)
    keep(agent(alice), OLD, group="ledger", supersedes=current.id)
    candidate = Memory.objects.get(content=OLD, state="live")
    assert candidate.trust == "active"
    status = dict(Link.objects.filter(kind="conflict").values_list("target", "status"))
    assert (status[other.root_key], status[current.root_key]) == ("open", "settled")
    assert fresh(other).state == "live"
