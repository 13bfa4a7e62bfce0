"""Many at once, on a real file: nothing is lost, nothing is doubled."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from access.actor import Actor
from access.audit import append
from access.audit.operations import Operation
from access.audit.verify import is_log_whole
from access.models import AuditEntry, Group
from memories.draft import Draft
from memories.lifecycle.verbs import forget, restore, retract
from memories.models import Memory, Piece
from memories.search.base import search_index
from memories.store import StoreResult, prepare_store, store, store_prepared
from tests.memories.builders import keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]

T = TypeVar("T")


def at_once(calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """Run each call in a thread with a connection of its own; give answers and errors in order."""

    def run(call: Callable[[], T]) -> T | Exception:
        try:
            return call()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def together(actors: Sequence[Actor], texts: Sequence[str]) -> list[StoreResult]:
    """Let each actor store its text: all have probed before the first one writes."""
    barrier = threading.Barrier(len(actors))

    def call(actor: Actor, text: str) -> StoreResult:
        prepared = prepare_store(actor, Draft(text, group="ledger"))
        barrier.wait(timeout=30)
        return store_prepared(actor, prepared)

    answers = at_once([lambda a=a, t=t: call(a, t) for a, t in zip(actors, texts, strict=True)])
    stored = [answer for answer in answers if isinstance(answer, StoreResult)]
    assert len(stored) == len(answers), answers
    return stored


def users(count: int) -> list[Actor]:
    """Actors of as many users: only another user counts as another author."""
    made = [User.objects.create_superuser(f"user{n}", password="a-long-password") for n in range(count)]
    return [agent(user) for user in made]


def test_the_same_new_fact_from_eight_at_once_is_one_memory(alice: User, ledger: Group) -> None:
    answers = together(users(8), ["The deploy port is 8081."] * 8)
    assert Counter(a.outcome for a in answers) == {"created": 1, "reinforced": 7}
    memory = Memory.objects.get()
    assert memory.confidence == 1.0  # 0.7 and seven times 0.1, capped
    operations = AuditEntry.objects.filter(memory_id=memory.id).values_list("operation", flat=True)
    assert Counter(operations) == {"store": 1, "reinforce": 7}
    assert is_log_whole()
    assert search_index().find_errors() == []


def test_what_was_written_after_the_probe_is_seen(alice: User, ledger: Group) -> None:
    texts = ["The nightly backup goes to the NAS.", "The nightly backups go to the NAS."]
    answers = together([agent(alice, name="a"), agent(alice, name="b")], texts)
    assert sorted(a.outcome for a in answers) == ["created", "reinforced"]
    assert sorted(Memory.objects.values_list("state", flat=True)) == ["live", "merged"]


def test_confirmations_of_a_near_one_add_up(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger", confidence=0.5)
    together(users(3), ["The nightly backups go to the NAS."] * 3)
    memory.refresh_from_db()
    assert memory.confidence == 0.8
    assert Memory.objects.filter(state="merged", superseded_by=memory).count() == 3


def test_facts_that_differ_are_all_there(alice: User, ledger: Group) -> None:
    actors = [agent(alice, name=f"agent{n}") for n in range(8)]
    texts = [f"Service {n} listens on port {9000 + n}." for n in range(8)]
    assert {a.outcome for a in together(actors, texts)} == {"created"}
    assert sorted(Memory.objects.values_list("content", flat=True)) == texts
    assert Piece.objects.filter(embedding__isnull=False).count() == 8
    assert search_index().find_errors() == []


def test_one_of_two_successors_wins_and_the_other_is_told(alice: User, ledger: Group) -> None:
    old = kept(person(alice), "The deploy port is 8081.", group="ledger")
    barrier = threading.Barrier(2)

    def replace(text: str) -> StoreResult:
        prepared = prepare_store(person(alice), Draft(text, supersedes=old.id))
        barrier.wait(timeout=30)
        return store_prepared(person(alice), prepared)

    answers = at_once([lambda: replace("The deploy port is 1."), lambda: replace("The deploy port is 2.")])
    assert sorted(type(a).__name__ for a in answers) == ["Conflict", "StoreResult"]
    assert Memory.objects.count() == 2
    assert Memory.objects.filter(state="live").count() == 1


def test_a_restore_and_a_store_of_the_same_text_leave_one_live_row(alice: User, ledger: Group) -> None:
    old = kept(person(alice), "The deploy port is 8081.", group="ledger")
    forget(person(alice), old.id)
    answers = at_once(
        [
            lambda: restore(person(alice), old.id).verb,
            lambda: keep(person(alice), "The deploy port is 8081.", group="ledger").outcome,
        ]
    )
    assert Memory.objects.filter(state="live").count() == 1
    # Whoever came second found the other's row: a conflict for the restore, a confirmation for the store.
    shown = [a if isinstance(a, str) else type(a).__name__ for a in answers]
    assert shown in (["restore", "reinforced"], ["Conflict", "created"])


def test_one_group_is_made_by_eight_first_stores(alice: User) -> None:
    calls = [
        lambda n=n: store(
            agent(alice, name=f"a{n}", scopes=["write", "create-group"]), Draft(f"Fact {n}.", group="new")
        )
        for n in range(8)
    ]
    answers = at_once(calls)
    assert [a for a in answers if isinstance(a, Exception)] == []
    assert Group.objects.filter(slug="new").count() == 1
    assert Memory.objects.filter(state="live").count() == 8


def test_log_rows_of_eight_writers_have_no_gap(alice: User) -> None:
    before = AuditEntry.objects.count()

    def write(number: int) -> None:
        for turn in range(5):
            append(person(alice), Operation.RUN, subject=f"{number}.{turn}")

    at_once([lambda n=n: write(n) for n in range(8)])
    seqs = list(AuditEntry.objects.order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, before + 41))
    assert is_log_whole()


def test_one_source_from_sixteen_at_once_is_one_memory(alice: User, ledger: Group) -> None:
    draft = Draft("The lease ends in May.", group="ledger", source="notes", source_ref="42")
    actor, barrier = agent(alice), threading.Barrier(16)

    def call() -> str:
        prepared = prepare_store(actor, draft)
        barrier.wait(timeout=60)
        return store_prepared(actor, prepared).outcome

    assert Counter(map(str, at_once([call] * 16))) == {"created": 1, "unchanged": 15}
    assert Memory.objects.count() == 1


def test_turns_of_sixteen_writers_have_a_place_each(alice: User, ledger: Group) -> None:
    actor, barrier = agent(alice), threading.Barrier(16)

    def call(number: int) -> str:
        draft = Draft(f"Turn {number} was said.", type="episodic", group="ledger", thread="talk")
        prepared = prepare_store(actor, draft)
        barrier.wait(timeout=60)
        return store_prepared(actor, prepared).outcome

    assert at_once([lambda n=n: call(n) for n in range(16)]) == ["created"] * 16
    assert sorted(Memory.objects.values_list("position", flat=True)) == list(range(16))
    assert is_log_whole()
    assert search_index().find_errors() == []


@pytest.mark.postgresql
def test_withdrawals_in_two_groups_do_not_wait_for_each_other(alice: User, ledger: Group) -> None:
    actor, _ = person(alice), Group.objects.create(slug="harbour")
    first, second = (
        kept(actor, "The crane lifts 40 tons.", group=group, scope="group") for group in ("ledger", "harbour")
    )

    def withdraw() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '5s'")
        retract(actor, second.id)

    with transaction.atomic():
        retract(actor, first.id)
        answers = at_once([withdraw])
    assert answers == [None]
    assert {*Memory.objects.values_list("state", flat=True)} == {"retracted"}
