"""A write that fails on its way leaves nothing behind, in any table."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError

from access.models import Group
from memories.draft import Draft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.verbs import forget, purge, retract
from memories.models import Memory
from memories.store import store
from storage.compiled_queries import fetch
from tests.memories.builders import kept
from tests.memories.indexes import VECTORS, refuse_inserts, texts_with
from tests.memories.tables import all_rows
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.fixture
def memory(alice: User, ledger: Group) -> Memory:
    """A memory, and a log that takes no more rows: the last step of every write fails."""
    made = kept(person(alice), "The deploy port is 8081.", group="ledger")
    refuse_inserts("memory_log")
    return made


WRITES: dict[str, Callable[[User, Memory], object]] = {
    "store": lambda user, m: store(
        person(user), Draft("The queue holds ten jobs.", group="ledger", thread="t")
    ),
    "store into a new group": lambda user, m: store(person(user), Draft("A text.", group="orchard")),
    "reinforce": lambda user, m: store(person(user), Draft(m.content, group="ledger")),
    "supersede": lambda user, m: store(person(user), Draft("The deploy port is 9.", supersedes=m.id)),
    "relate": lambda user, m: store_relation(
        person(user), RelationDraft("Anna", "owns", "Ledger", group="ledger")
    ),
    "forget": lambda user, m: forget(person(user), m.id),
    "retract": lambda user, m: retract(person(user), m.id),
    "purge": lambda user, m: purge(person(user), m.id),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_nothing_is_half_written(
    alice: User, memory: Memory, write: Callable[[User, Memory], object]
) -> None:
    before = all_rows()
    with pytest.raises(IntegrityError):
        write(alice, memory)
    assert all_rows() == before
    assert texts_with("deploy", "queue", "Anna") == 1
    assert fetch(f"SELECT count(*) FROM {VECTORS}", []) == [(1,)]
