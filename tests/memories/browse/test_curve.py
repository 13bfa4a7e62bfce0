"""The curve of a memory's confidence: what moved it, where it ends, and when it falls so low that it may sleep."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from pytest_django import DjangoAssertNumQueries

from access.models import AuditEntry, Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from memories.browse.curve import ConfidenceCurve, confidence_curve
from memories.browse.inspection import inspect_memory
from memories.decay import DECAYING, UNUSED_BELOW, decay_to, falls_below, protections_of
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import pin, unpin, verify
from memories.models import Memory
from memories.queries.versions import head_of
from tests.memories.builders import NOW, day, fresh, keep, kept, row
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The deploy port of staging is 8081."
STORED = datetime(2026, 1, 3, 12, tzinfo=UTC)


def at(days: float) -> time_machine.travel:
    return time_machine.travel(STORED + timedelta(days=days, minutes=1), tick=False)


def store(confidence: float = 0.8) -> Memory:
    with time_machine.travel(STORED, tick=False):
        return kept(operator(), TEXT, group="ledger", confidence=confidence)


def decay(days: float) -> None:
    with at(days):
        run_cycle(operator(), RunPlan(kind="cycle"))


def curve_of(memory: Memory, days: float) -> ConfidenceCurve:
    with at(days):
        return inspect_memory(operator(), memory.id).curve


def moves_of(curve: ConfidenceCurve) -> list[tuple[str, float | None, float | None]]:
    return [(move.what, move.before, move.after) for move in curve.moves]


def test_a_new_memory_has_its_day_and_what_is_ahead(ledger: Group) -> None:
    # 0.8 · 0.99^276 = 0.0499: on the 276th day after 2026-01-03
    assert curve_of(store(), 0).line == (
        "confidence 0.80 (2026-01-03 stored) → 0.80 today; below 0.05 about 2026-10-06 unless recalled"
    )


def test_a_decay_and_a_restatement_appear_in_their_order(ledger: Group, alice: User) -> None:
    memory = store()
    decay(10)  # 0.8 · 0.99^10 = 0.7235
    with at(20):
        assert keep(person(alice), TEXT, group="ledger").outcome == "reinforced"
    raised = fresh(memory).confidence
    decay(30)
    curve = curve_of(memory, 31)
    decayed = pytest.approx(0.723506)
    assert moves_of(curve) == [
        ("stored", None, 0.8),
        ("decayed", 0.8, decayed),
        ("reinforced", decayed, raised),
        ("decayed", raised, fresh(memory).confidence),
    ]
    assert curve.line.startswith("confidence 0.80 (2026-01-03 stored) → 0.72 (2026-01-23 decayed) → ")


def test_the_curve_ends_in_the_stored_confidence_and_never_rises_by_itself(
    ledger: Group, alice: User
) -> None:
    memory = store()
    decay(9)
    with at(12):
        edit(person(alice), memory.id, EditDraft(content=f"{TEXT} Behind the proxy."))
    head = head_of(fresh(memory))
    curve = curve_of(head, 15)
    assert head.version == 2
    assert curve.points[-1] == (curve.now, head.confidence)
    assert [move.what for move in curve.moves] == ["stored", "decayed", "edited"]
    values = [value for _, value in curve.points]
    assert values == sorted(values, reverse=True)
    assert [point[0] for point in curve.points] == sorted(point[0] for point in curve.points)


def test_what_protects_it_is_told_and_has_no_fall_ahead(ledger: Group, alice: User) -> None:
    memory = store()
    with at(1):
        pin(person(alice), memory.id)
        verify(person(alice), memory.id)
    curve = curve_of(memory, 2)
    assert curve.line.endswith("0.80 today; does not decay: pinned, verified")
    assert curve.below_at is None
    assert [move.what for move in curve.moves] == ["stored", "pinned", "verified"]
    with at(3):
        unpin(person(alice), memory.id)
    assert curve_of(memory, 3).protected_by == ("verified",)


def test_sleep_and_waking_appear(ledger: Group) -> None:
    memory = store(0.04)
    with at(100):
        run_cycle(operator(), RunPlan(kind="cleanup", max_share=1))
    asleep = curve_of(memory, 100)
    assert asleep.protected_by == ("dormant",)
    Memory.objects.update(last_accessed=STORED + timedelta(days=101), access_count=1)
    with at(102):
        run_cycle(operator(), RunPlan(kind="cleanup", max_share=1))
    assert moves_of(curve_of(memory, 102))[-3:] == [
        ("put to sleep", None, None),
        ("recalled", None, None),
        ("woken", 0.04, 0.5),
    ]


def test_without_its_log_the_beginning_is_unknown_and_the_end_is_not(ledger: Group) -> None:
    memory = row(ledger, TEXT, confidence=0.6)
    with time_machine.travel(day(3), tick=False):
        curve = inspect_memory(operator(), memory.id).curve
    assert curve.points == [(day(3), 0.6)]
    assert curve.line.startswith("confidence unknown (2026-05-01 stored) → 0.60 today")


def test_the_curve_asks_nothing(ledger: Group, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    memory = fresh(store())
    entries = list(AuditEntry.objects.filter(memory_id=memory.id).select_related("payload_row"))
    with django_assert_num_queries(0):
        assert confidence_curve(memory, [memory], entries).points


@pytest.mark.parametrize("type_", ["episodic", "semantic"])
@pytest.mark.parametrize("recalls", [0, 1, 40])
@pytest.mark.parametrize("confidence", [1.0, 0.7, 0.0501, 0.05])
def test_the_day_ahead_is_the_first_on_which_decay_goes_below(
    type_: str, recalls: int, confidence: float
) -> None:
    memory = Memory(type=type_, confidence=confidence, access_count=recalls, created_at=NOW)
    found = falls_below(memory, UNUSED_BELOW)
    assert found is not None
    assert decay_to(memory, found)[0] < UNUSED_BELOW <= decay_to(memory, found - timedelta(days=1))[0]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda memory: {}, ""),
        (lambda memory: {"state": "expired"}, "expired"),
        (lambda memory: {"summary": memory}, "compacted"),
        (lambda memory: {"pinned": True}, "pinned"),
        (lambda memory: {"trust": "verified"}, "verified"),
        (lambda memory: {"confidence": 0.02}, "fully decayed"),
    ],
)
def test_a_memory_without_protection_is_one_that_decays(
    ledger: Group, change: Callable[[Memory], dict[str, object]], word: str
) -> None:
    memory = row(ledger, TEXT)
    Memory.objects.filter(pk=memory.pk).update(**change(memory))
    assert protections_of(fresh(memory)) == ((word,) if word else ())
    assert Memory.objects.filter(DECAYING).exists() == (not word)
