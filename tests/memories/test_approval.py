"""Approving a correction that waited makes it count in the place of what it corrects."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.editing import Edit, edit
from memories.models import Link
from memories.verbs import approve, reject
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, alice, bob, ledger, person  # noqa: F401 - fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.fixture
def strict(ledger: Group) -> Group:  # noqa: F811
    """The ledger, in which what agents write waits."""
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    ledger.refresh_from_db()
    return ledger


def test_an_approved_correction_supersedes(alice: User, strict: Group) -> None:  # noqa: F811
    old = kept(person(alice), "The office is in Berlin.", group="ledger", scope="group")
    queued = keep(agent(alice), "The office is in Hamburg.", group="ledger", scope="group", supersedes=old.id)
    assert queued.outcome == "queued"
    assert queued.memory is not None
    assert fresh(old).state == "live"

    approve(person(alice), queued.memory.id)

    old = fresh(old)
    assert (old.state, old.superseded_by_id) == ("superseded", queued.memory.pk)
    assert old.valid_to == queued.memory.valid_from
    assert Link.objects.get(source=queued.memory).status == "settled"


def test_a_rejected_correction_leaves_the_old_one(alice: User, strict: Group) -> None:  # noqa: F811
    old = kept(person(alice), "The office is in Berlin.", group="ledger", scope="group")
    queued = keep(agent(alice), "The office is in Hamburg.", group="ledger", scope="group", supersedes=old.id)
    assert queued.memory is not None
    reject(person(alice), queued.memory.id)
    assert fresh(old).state == "live"


def test_an_approved_edit_ends_what_was_never_right(alice: User, strict: Group) -> None:  # noqa: F811
    old = kept(person(alice), "The office is in Belin.", group="ledger", scope="group")
    waiting = edit(agent(alice), old.id, Edit(content="The office is in Berlin."))
    assert waiting.outcome == "queued"

    approve(person(alice), waiting.memory.id)

    old = fresh(old)
    assert (old.state, old.superseded_by_id, old.valid_to) == ("superseded", waiting.memory.pk, None)
    assert old.retired_at is not None
