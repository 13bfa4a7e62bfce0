"""A refused text creates no group: neither a store nor an import, and nothing of the attempt stays but a log row."""

import pytest
from django.contrib.auth.models import User

from access.audit.verify import is_log_whole
from access.errors import LociError
from access.models import AuditEntry, Group, Membership
from memories.draft import Draft
from memories.lifecycle import verbs
from memories.models import Memory
from memories.store import store
from memories.store.bulk import store_many
from tests.memories.builders import keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The archive is kept in the northern cellar."
SCOPES = ("read", "write", "create-group")


@pytest.fixture(autouse=True)
def withdrawn(alice: User, ledger: Group) -> Memory:
    """A text that was withdrawn for all groups."""
    memory = kept(person(alice), TEXT, group="ledger", scope="global")
    verbs.retract(person(alice), memory.id)
    return memory


def test_a_refused_store_creates_no_group(alice: User, bob: User) -> None:
    actor = agent(bob, scopes=SCOPES)
    stored = keep(actor, TEXT, group="orchard", scope="global")
    assert (stored.outcome, stored.group, stored.group_created) == ("refused", "orchard", False)
    assert not Group.objects.filter(slug="orchard").exists()
    assert not Membership.objects.filter(group__slug="orchard").exists()
    assert not actor.roles.keys() - set(Group.objects.values_list("key", flat=True))
    logged = AuditEntry.objects.get(operation="refuse")
    assert (logged.chain, logged.group, logged.subject) == ("instance", None, "group:orchard")
    assert not AuditEntry.objects.filter(operation="group", subject="group:orchard").exists()
    assert is_log_whole()
    again = keep(actor, TEXT, group="orchard", scope="group")
    assert (again.outcome, again.group_created) == ("created", True)


def test_an_error_creates_no_group(bob: User) -> None:
    actor = agent(bob, scopes=SCOPES)
    with pytest.raises(LociError):
        store(actor, Draft("A text.", group="orchard", thread="x" * 5_000))
    assert not Group.objects.filter(slug="orchard").exists()


def test_a_refused_import_creates_no_group(bob: User) -> None:
    actor = agent(bob, scopes=SCOPES)
    alone = Draft(TEXT, group="orchard", scope="global")
    assert [refusal.index for refusal in store_many(actor, [alone]).refused] == [0]
    assert not Group.objects.filter(slug="orchard").exists()
    mixed = store_many(actor, [alone, Draft("The well is deep.", group="orchard")])
    assert ([refusal.index for refusal in mixed.refused], mixed.created) == ([0], 1)
    assert Memory.objects.filter(group__slug="orchard").count() == 1
