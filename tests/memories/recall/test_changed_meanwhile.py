"""A memory that changes between the search and the reading of its row is not returned."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.models import Group
from access.tokens import actor_for_user
from access.visibility import Narrowing
from memories.lifecycle import verbs
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall import RecallRequest, RecallResult, recall
from memories.recall import choosing as read_path
from memories.search.rows import read_memories
from memories.types import State
from tests.memories.builders import kept

pytestmark = pytest.mark.django_db(transaction=True)
Change = Callable[[Memory], Any]


def recall_while(monkeypatch: pytest.MonkeyPatch, memory: Memory, change: Change | None) -> RecallResult:
    """Recall, and make the change after the candidates are ranked and before their rows are read."""
    if change is not None:
        done: list[Memory] = []

        def read_after(keys: Any) -> dict[int, Memory]:
            if not done:
                done.append(memory)
                change(memory)
            return read_memories(keys)

        monkeypatch.setattr(read_path, "read_memories", read_after)
    actor = actor_for_user(User.objects.get(username="alice"), via="rest")
    return recall(actor, RecallRequest("deploy port", group="ledger", mode="keyword", explain=True))


@pytest.fixture
def memory() -> Memory:
    actor = actor_for_user(User.objects.create_superuser("alice", password="a-long-password"), via="rest")
    Group.objects.create(slug="ledger")
    return kept(actor, "The deploy port is 8081.", group="ledger", scope="group")


def supersede(memory: Memory) -> None:
    actor = actor_for_user(User.objects.get(username="alice"), via="rest")
    kept(actor, "The deploy port is 9000.", group="ledger", scope="group", supersedes=memory.id)


def forget(memory: Memory) -> None:
    verbs.forget(actor_for_user(User.objects.get(username="alice"), via="rest"), memory.id)


def update(**fields: Any) -> Change:
    return lambda memory: Memory.objects.filter(pk=memory.pk).update(**fields)


def test_what_nobody_touches_is_given(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = recall_while(monkeypatch, memory, None)
    assert [item.memory.key for item in answer.items] == [memory.key]


@pytest.mark.parametrize(
    "change",
    [
        supersede,
        forget,
        update(trust="quarantined"),
        update(expires_at=timezone.now() - timedelta(days=1)),
        lambda memory: Group.objects.create(slug="other") and update(group=Group.objects.get(slug="other"))(memory),
    ],
    ids=["superseded", "forgotten", "quarantined", "expired", "moved away"],
)  # fmt: skip
def test_what_changed_meanwhile_is_not_given(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    answer = recall_while(monkeypatch, memory, change)
    assert [*answer.items, *answer.nearest] == []
    assert answer.trace is not None
    assert answer.trace.dropped == {memory.key: read_path.CHANGED_REASON}


def test_a_question_about_the_past_still_gives_what_was_superseded_meanwhile(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same row is inside the Visibility of another question: what was known before it was superseded.
    moment = timezone.now()
    monkeypatch.setattr(
        "memories.recall.recallable_by",
        lambda actor, group, narrowing: _as_known(actor, group, moment),
    )
    answer = recall_while(monkeypatch, memory, supersede)
    assert Memory.objects.get(pk=memory.pk).state == State.SUPERSEDED
    assert [item.memory.key for item in answer.items] == [memory.key]


def _as_known(actor: Any, group: Any, moment: Any) -> Any:
    return recallable_by(actor, group, narrowing=Narrowing(known_at=moment))
