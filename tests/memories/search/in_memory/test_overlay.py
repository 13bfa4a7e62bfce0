"""Inside a transaction a search finds what that transaction wrote, by the vectors in memory, and nobody else does."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import transaction

from access.models import Group
from memories.models import Memory
from memories.search.in_memory import sync as following
from memories.search.in_memory.sync import TrialTable, read_progress
from memories.search.in_memory.table import Keys, Vectors
from memories.types import State
from tests.memories.builders import unit_vector
from tests.memories.search.in_memory.test_sync import near, remembered
from tests.memories.search.in_memory.test_table import LIVE, NOW_MS, found, piece, table_of, vectors

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite(reason="vectors in the memory of each process"),
]


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    following._followers.clear()
    following.load_table()
    yield
    following._followers.clear()


@pytest.fixture
def ledger() -> Group:
    return Group.objects.create(slug="ledger")


@pytest.mark.parametrize("change", [{"state": State.FORGOTTEN}, {"trust": "rejected"}])
def test_what_a_transaction_hides_is_hidden_from_it_alone(ledger: Group, change: dict[str, str]) -> None:
    memory, other = remembered(ledger, 1), remembered(ledger, 2)
    assert near(ledger, 1) == [memory.key, other.key]
    with transaction.atomic():
        Memory.objects.filter(pk=memory.pk).update(**change)
        assert near(ledger, 1) == [other.key]
        transaction.set_rollback(True)
    assert near(ledger, 1) == [memory.key, other.key]


def test_what_a_transaction_lets_count_is_found_by_it_alone(ledger: Group) -> None:
    other, waiting = remembered(ledger, 2), remembered(ledger, 1, trust="candidate")
    assert near(ledger, 1) == [other.key]
    with transaction.atomic():
        Memory.objects.filter(pk=waiting.pk).update(trust="active")
        assert near(ledger, 1) == [waiting.key, other.key]
        transaction.set_rollback(True)
    assert near(ledger, 1) == [other.key]


def test_what_a_transaction_writes_anew_or_deletes_is_seen_by_it_alone(ledger: Group) -> None:
    old = remembered(ledger, 1).key
    assert near(ledger, 1) == [old]
    with transaction.atomic():
        new = remembered(ledger, 3).key
        assert near(ledger, 3) == [new, old]
        Memory.objects.get(key=old).delete()
        assert near(ledger, 3) == [new]
        transaction.set_rollback(True)
    assert near(ledger, 3) == [old]


def test_a_transaction_that_changes_nothing_asks_the_table_itself(ledger: Group) -> None:
    memory = remembered(ledger, 1)
    assert near(ledger, 1) == [memory.key]
    table = following.current_table(read_progress())
    with transaction.atomic():
        assert following.current_table(read_progress()) is table


def test_nothing_is_read_for_a_transaction_before_the_table_is_there(ledger: Group) -> None:
    remembered(ledger, 1)
    following._followers.clear()
    with transaction.atomic():
        assert [following.current_table(read_progress()) for _ in range(5)] == [None] * 5


@pytest.mark.parametrize("exact_mb", [64, 0])
def test_it_answers_as_a_table_with_the_changes_would(exact_mb: int) -> None:
    """400 pieces; every fifth changes its group, its vector or its state, or goes; 40 are new."""
    held = vectors(900, seed=4)
    rows = [piece(n, held[n - 1], group=1 + n % 3) for n in range(1, 401)]
    changes = [
        piece(n, held[n - 1], group=1 + (n + 1) % 3, state="live" if n % 2 else "forgotten")
        for n in range(5, 401, 10)
    ]
    changes += [piece(n, held[n - 1], group=1, until=NOW_MS - 1 if n % 3 else 2**53) for n in range(401, 441)]
    gone = list(range(10, 401, 10))
    changed = [*(row.piece for row in changes), *gone]
    base = table_of(rows, exact_mb=exact_mb)
    trial = TrialTable(base, changed, changes)
    whole = table_of(rows, exact_mb=exact_mb)
    whole.put(changes)
    whole.remove(gone)
    looked_at = 0
    for groups in ({1}, {2}, {1, 3}):
        view = replace(LIVE, groups=frozenset(groups), include_global=False)
        for question in held[500:520]:
            for wanted in (1, 10, 1000):
                wished = found(whole, question, view, wanted=wanted, held=held)
                assert found(trial, question, view, wanted=wanted, held=held) == wished  # type: ignore[arg-type]
                looked_at += len(wished)
    assert looked_at > 3000
    untouched = found(table_of(rows), held[0], LIVE, wanted=50, held=held)
    assert found(base, held[0], LIVE, wanted=50, held=held) == untouched


def test_it_says_when_there_is_no_more() -> None:
    held = vectors(40)
    base = table_of([piece(n, held[n - 1]) for n in range(1, 21)])
    trial = TrialTable(base, [20, 21], [piece(21, held[20])])

    def read(pieces: Keys) -> Vectors:
        return held[pieces - 1]

    some = trial.nearest(held[0], trial.allowed(LIVE), wanted=19, read=read)
    every = trial.nearest(held[0], trial.allowed(LIVE), wanted=20, read=read)
    assert (some.is_all, len(some.memories), every.is_all, len(every.memories)) == (False, 19, True, 20)


def test_cosines_are_of_the_pieces_as_they_are_now() -> None:
    """Memory 3 has lost its piece, 2 another vector, 4 is new, and 5 has an old piece beside a new, worse one."""
    held = vectors(8)
    trial = TrialTable(
        table_of([*(piece(n, held[n - 1]) for n in range(1, 4)), piece(5, held[0], memory=5)]),
        [2, 3, 4, 6],
        [piece(4, held[3]), piece(2, held[4]), piece(6, held[6], memory=5)],
    )
    told = trial.best_cosines([1, 2, 3, 4, 5, 9], held[0])
    assert told is not None
    wished = {1: 1.0, 2: float(held[4] @ held[0]), 4: float(held[3] @ held[0]), 5: 1.0}
    assert told == pytest.approx(wished, abs=1e-4)
    without = TrialTable(table_of([piece(1, held[0])], exact_mb=0), [], [])
    assert without.best_cosines([1], held[0]) is None


def test_the_vectors_of_a_test_differ() -> None:
    """A positive control: seeds that gave the same vector would let any order pass."""
    assert float(unit_vector(1) @ unit_vector(2)) < 0.5
