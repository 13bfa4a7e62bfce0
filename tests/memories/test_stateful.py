"""After any sequence of actions the indexes agree with the rows, the log is complete, and one version counts."""

from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from access.audit.verify import is_log_whole
from access.errors import Conflict, InvalidInput
from access.models import Group
from memories.draft import Draft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle import verbs
from memories.models import Memory
from memories.search.base import search_index
from memories.store import store
from tests.examples import examples
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TEXTS = (
    "The deploy port is 8081.",
    "The deploy port is 8082.",
    "The nightly backup goes to the NAS.",
    "The nightly backups go to the NAS.",
    "Yes.",
)
STEP = st.one_of(
    st.tuples(st.just("store"), st.integers(0, 4), st.sampled_from(["semantic", "semantic", "episodic"])),
    st.tuples(st.just("supersede"), st.integers(0, 9), st.integers(0, 4)),
    st.tuples(st.sampled_from(["forget", "restore", "retract", "dispute", "purge"]), st.integers(0, 9)),
    st.tuples(st.just("relate"), st.sampled_from(["Anna", "Bob"]), st.sampled_from(["Ledger", "Anna"])),
)


def take(user: User, step: tuple[Any, ...]) -> None:
    """Take one step; one that cannot be taken is refused and changes nothing."""
    actor, name = person(user), step[0]
    if name == "store":
        store(
            actor,
            Draft(TEXTS[step[1]], type=step[2], group="ledger", thread="t" if step[2] == "episodic" else ""),
        )
    elif name == "relate":
        store_relation(actor, RelationDraft(step[1], "knows", step[2], group="ledger"))
    else:
        ids = list(Memory.objects.order_by("key").values_list("id", flat=True))
        if not ids:
            return
        target = ids[step[1] % len(ids)]
        if name == "supersede":
            store(actor, Draft(TEXTS[step[2]], supersedes=target))
        else:
            getattr(verbs, name)(actor, target)


def assert_whole() -> None:
    assert search_index().find_errors() == []
    assert is_log_whole()
    live = Counter(memory.root_key for memory in Memory.objects.filter(state="live"))
    assert [root for root, count in live.items() if count > 1] == []
    texts = Memory.objects.filter(state="live").exclude(type="episodic")
    doubled = Counter(texts.values_list("group", "scope", "type", "content_hash"))
    assert max(doubled.values(), default=1) == 1
    for memory in Memory.objects.filter(state="superseded"):
        assert memory.superseded_by is None or memory.superseded_by.key != memory.key


@settings(
    max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEP, min_size=1, max_size=14))
def test_rows_indexes_and_log_agree_after_anything(
    alice: User, ledger: Group, steps: list[tuple[Any, ...]]
) -> None:
    with transaction.atomic():
        for step in steps:
            try:
                take(alice, step)
            except (Conflict, InvalidInput):
                continue
        assert_whole()
        transaction.set_rollback(True)
