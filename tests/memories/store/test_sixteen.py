"""Sixteen writers with a connection each, for every case in which a writer reads before it writes."""

import threading
from collections import Counter
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction

from access.actor import Actor
from access.audit import append, collecting_rows, current_work, one_change
from access.audit.operations import Operation
from access.audit.verify import is_log_whole
from access.models import Group
from maintenance.cycle import RunPlan, run_cycle
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import VERBS, forget, pin
from memories.models import Memory
from memories.search.base import search_index
from memories.store import prepare_store, store, store_prepared
from memories.store.bulk import store_many
from storage.dialect import hold_until_commit
from tests.memories.builders import keep, kept
from tests.memories.store.test_concurrency import at_once
from tests.people import agent, person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]

WRITERS = 16


def stored_together(actor: Actor, texts: list[str], **fields: str) -> Counter[str]:
    """The outcomes of sixteen stores, none of which begins to write before all have looked for neighbours."""
    barrier = threading.Barrier(len(texts))

    def call(text: str) -> str:
        prepared = prepare_store(actor, Draft(text, group="ledger", **fields))  # type: ignore[arg-type]
        barrier.wait(timeout=60)
        return store_prepared(actor, prepared).outcome

    return Counter(map(str, at_once([lambda text=text: call(text) for text in texts])))


def check_store() -> None:
    """The log and both indexes agree with the rows."""
    assert is_log_whole()
    assert search_index().find_errors() == []


def test_the_same_text_is_one_memory(alice: User, ledger: Group) -> None:
    found = stored_together(agent(alice), ["The deploy port is 8081."] * WRITERS)
    assert found == {"created": 1, "reinforced": WRITERS - 1}
    assert Memory.objects.count() == 1
    check_store()


def test_a_restatement_after_the_search_for_neighbours_is_noticed(alice: User, ledger: Group) -> None:
    wordings = ["The nightly backup goes to the NAS.", "The nightly backups go to the NAS."]
    found = stored_together(agent(alice), wordings * (WRITERS // 2))
    assert found == {"created": 1, "reinforced": WRITERS - 1}
    assert set(Memory.objects.values_list("state", flat=True)) == {"live", "merged"}
    assert Memory.objects.filter(state="live").count() == 1
    check_store()


def test_first_stores_make_one_group(alice: User) -> None:
    actor = agent(alice, scopes=["write", "create-group"])
    answers = at_once(
        [lambda n=n: store(actor, Draft(f"Fact {n}.", group="new")).outcome for n in range(WRITERS)]
    )
    assert answers == ["created"] * WRITERS
    assert Group.objects.filter(slug="new").count() == 1
    check_store()


def test_restores_and_stores_of_a_text_leave_one_live_row(alice: User, ledger: Group) -> None:
    old = kept(person(alice), "The deploy port is 8081.", group="ledger")
    forget(person(alice), old.id)
    calls: list[Callable[[], str]] = [
        lambda: VERBS["restore"].apply(person(alice), old.id).verb,
        lambda: keep(person(alice), "The deploy port is 8081.", group="ledger").outcome,
    ]
    answers = at_once(calls * (WRITERS // 2))
    assert {str(a) if isinstance(a, str) else type(a).__name__ for a in answers} <= {
        "restore", "created", "reinforced", "Conflict",
    }  # fmt: skip
    assert Memory.objects.filter(state="live").count() == 1
    check_store()


def test_a_cycle_beside_edits_and_pins_loses_no_edit_that_answered(alice: User, ledger: Group) -> None:
    rows = [kept(person(alice), f"Service {n} listens on port {9000 + n}.", group="ledger") for n in range(8)]
    Memory.objects.update(created_at="2020-01-01T00:00:00Z")
    edits = [
        lambda n=n, row=row: str(
            edit(person(alice), row.id, EditDraft(content=f"Port {n} is service {n}'s."))
        )
        for n, row in enumerate(rows)
    ]
    pins = [lambda row=row: str(pin(person(alice), row.id)) for row in rows[:7]]
    cycle = [lambda: str(run_cycle(person(alice), RunPlan()).status)]
    answers = at_once([*edits, *pins, *cycle])
    assert [a for a in answers if isinstance(a, Exception) and type(a).__name__ != "Conflict"] == []
    edited = sum(not isinstance(answer, Exception) for answer in answers[: len(edits)])
    assert edited
    assert Memory.objects.filter(state="live", content__startswith="Port ").count() == edited
    # The cycle may put an old row to sleep before its pin or edit, which is then refused; none is gone.
    assert Memory.objects.filter(state__in=("live", "dormant")).count() == len(rows)
    check_store()


def test_merges_in_both_directions_end_without_a_circle(alice: User, ledger: Group, garden: Group) -> None:
    rows = [
        kept(person(alice), f"Rule {n} of the house.", group=group)
        for n in range(8)
        for group in ("ledger", "garden")
    ]
    pairs = [(rows[n], rows[n ^ 1]) for n in range(WRITERS)]
    answers = at_once(
        [lambda a=a, b=b: VERBS["merge"].apply(person(alice), a.id, other=str(b.id)) for a, b in pairs]
    )
    assert {type(a).__name__ for a in answers} <= {"ChangeResult", "Conflict", "InvalidInput", "MergeResult"}
    check_store()


def test_imports_that_make_groups_in_opposite_orders_all_end(alice: User) -> None:
    actor = agent(alice, scopes=["write", "create-group"])
    names = [f"group-{n}" for n in range(6)]

    def run(number: int) -> int:
        order = names if number % 2 else names[::-1]
        drafts = [Draft(f"Row {number} of {name}.", group=name) for name in order]
        return store_many(actor, drafts).created

    assert at_once([lambda n=n: run(n) for n in range(WRITERS)]) == [len(names)] * WRITERS
    assert Group.objects.filter(slug__startswith="group-").count() == len(names)
    check_store()


@pytest.mark.postgresql
def test_a_write_that_lost_to_another_runs_again(alice: User) -> None:
    """Two transactions take two names in opposite orders; the database ends one of them."""
    both_hold_one = threading.Barrier(2)
    runs = Counter[str]()

    @one_change
    def take(first: str, second: str) -> str:
        runs[first] += 1
        with transaction.atomic():
            hold_until_commit([first])
            if runs[first] == 1:
                both_hold_one.wait(timeout=30)
            hold_until_commit([second])
        return first

    assert at_once([lambda: take("a", "b"), lambda: take("b", "a")]) == ["a", "b"]
    assert sorted(runs.values()) == [1, 2]


@pytest.mark.postgresql
def test_rows_of_the_lost_attempt_are_not_part_of_the_answer(alice: User) -> None:
    runs = 0

    @one_change
    def write() -> None:
        nonlocal runs
        runs += 1
        with transaction.atomic():
            append(person(alice), Operation.RUN, subject="once")
            if runs == 1:
                with connection.cursor() as cursor:
                    cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40P01'; END $$")

    with collecting_rows():
        write()
        assert len(current_work().rows) == 1
    runs = 0
    with transaction.atomic():
        with pytest.raises(OperationalError):  # a larger transaction is its owner's to repeat
            write()
        transaction.set_rollback(True)
