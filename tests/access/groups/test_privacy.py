"""Private groups have no global memories, live or hidden."""

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict
from access.groups.members import set_private
from access.models import Group
from memories.lifecycle.verbs import purge
from memories.models import Memory
from tests.memories.builders import row
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "state", ["live", "superseded", "retracted", "forgotten", "merged", "dormant", "expired"]
)
def test_a_group_with_a_global_memory_in_any_state_stays_open(alice: User, ledger: Group, state: str) -> None:
    memory = row(ledger, "The vault code is 4711.", scope="global", state=state)
    with pytest.raises(Conflict, match="1 global memory"):
        set_private(person(alice), "ledger", private=True)
    assert not Group.objects.get(slug="ledger").private
    purge(person(alice), memory.id)
    assert set_private(person(alice), "ledger", private=True).private
    assert Memory.objects.count() == 0
