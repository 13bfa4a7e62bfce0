"""What 'restore' says about a memory that is live: what to do instead."""

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict
from access.models import Group
from memories.lifecycle import verbs
from memories.models import Memory
from tests.memories.builders import doubt, kept
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.mark.parametrize(
    ("trust", "hint"),
    [
        (
            "doubt",
            "It is disputed. A curator decides: 'verify' or 'approve' if it is right, 'reject' if it is wrong.",
        ),
        ("candidate", "Its trust is 'candidate'. A curator decides: 'approve' lets it in."),
        ("active", "There is nothing to restore."),
    ],
)
def test_restore_names_what_to_do_with_a_live_memory(
    alice: User, ledger: Group, trust: str, hint: str
) -> None:
    memory = kept(person(alice), "The archive is in the cellar.", group="ledger")
    if trust == "doubt":
        doubt(memory)
    else:
        Memory.objects.filter(pk=memory.pk).update(trust=trust)
    with pytest.raises(Conflict) as error:
        verbs.restore(person(alice), memory.id)
    assert error.value.hint == hint
