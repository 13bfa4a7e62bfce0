"""What holds of the cycle whatever happened, and whenever it ran."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from access.groups import create_group
from access.models import Group
from access.tokens import operator
from maintenance import cycle
from maintenance.cycle import RunPlan, compute_cap, run_cycle
from maintenance.cycle.step import Batch, Step, Turn
from maintenance.models import Run
from memories.draft import Draft
from memories.models import Link, Memory
from memories.recall import RecallRequest, recall
from memories.store.bulk import store_many
from tests.examples import examples
from tests.maintenance.events import DEPLOYS, MONDAY, TOMATOES, UNRELATED, happen
from tests.memories.builders import row

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
SENTENCES = (*TOMATOES, *DEPLOYS, *UNRELATED)
FACTS = (
    "The billing service listens on port 8080",
    "The billing service listens on port 9090",
    "The greenhouse key hangs next to the door",
)
EVENT = st.tuples(
    st.integers(0, 60), st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4, unique=True)
)
EVENTS = st.lists(EVENT, min_size=1, max_size=14)
RUN_DAYS = st.lists(st.integers(20, 500), min_size=1, max_size=5, unique=True).map(sorted)
FEW = settings(
    max_examples=examples(4),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NUMBERS = count()


def new_group() -> Group:
    """A group of this example's own: those before it stay."""
    return create_group(operator(), f"diary-{next(NUMBERS)}")


def tell(group: Group, events: Sequence[tuple[int, Sequence[str]]]) -> None:
    """Store events on their days after MONDAY."""
    for day, sentences in events:
        happen([". ".join(sentences) + "."], start=MONDAY + day * DAY, group=group.slug)


def run_on(group: Group | None, day: int, **more: Any) -> Run:
    return run_cycle(operator(), RunPlan(group=group, now=MONDAY + day * DAY, **more))


@given(EVENTS, RUN_DAYS)
@FEW
def test_each_sentence_of_a_compacted_event_is_listed_or_found_by_its_words(
    events: list[Any], days: list[int]
) -> None:
    group = new_group()
    tell(group, events)
    for day in days:
        assert run_on(group, day).status == "done"
    rows = Memory.objects.filter(group=group, state="live")
    listed = " ".join(rows.filter(summary=None).values_list("content", flat=True))
    for event in rows.exclude(summary=None).exclude(source="loci:compact"):
        for sentence in event.content.rstrip(".").split(". "):
            if sentence not in listed:
                items = recall(operator(), RecallRequest(sentence, group=group.slug)).items
                assert any(sentence in item.text for item in items)


@given(RUN_DAYS, st.sampled_from([0, 3, 40]))
@FEW
def test_however_often_it_ran_the_same_time_takes_the_same_confidence(days: list[int], recalls: int) -> None:
    often, once = new_group(), new_group()
    for group in (often, once):
        tell(group, [(0, TOMATOES[:1]), (3, DEPLOYS[:1])])
        store_many(operator(), [Draft(FACTS[0], group=group.slug)])
        rows = Memory.objects.filter(group=group)
        rows.update(created_at=MONDAY, decayed_at=MONDAY, access_count=recalls, importance=8)  # none sleeps
    for day in days:
        run_on(often, day)
    run_on(once, days[-1])
    assert _confidences(often) == pytest.approx(_confidences(once), abs=1e-4)


def _confidences(group: Group) -> list[float]:
    return list(Memory.objects.filter(group=group).order_by("content").values_list("confidence", flat=True))


@dataclass(frozen=True)
class _Visited:
    """A step during which others write: after its `at`th batch."""

    step: Step
    at: int
    writes: Any

    @property
    def name(self) -> str:
        return self.step.name

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        batch = self.step.next_batch(turn, cursor)
        if self.at == 0:
            self.writes()
            object.__setattr__(self, "writes", lambda: None)
        object.__setattr__(self, "at", self.at - 1)
        return batch


@given(EVENTS, st.integers(0, 14), st.integers(0, 6), st.integers(0, 2))
@FEW
def test_what_is_stored_during_a_run_is_not_skipped_by_the_next(
    monkeypatch: pytest.MonkeyPatch, events: list[Any], late: int, step: int, at: int
) -> None:
    visited, calm = new_group(), new_group()
    repeated = [(day, SENTENCES[:1]) for day in (1, 9, 17)]
    early, later = [*events[late:], *repeated[:2]], [*events[:late], repeated[2]]

    def write(group: Group) -> None:
        tell(group, later)
        store_many(operator(), [Draft(fact, group=group.slug) for fact in FACTS[1:]])

    for group in (visited, calm):
        tell(group, early)
        store_many(operator(), [Draft(FACTS[0], group=group.slug)])
    write(calm)
    steps = cycle.KINDS["cycle"]
    with monkeypatch.context() as patch:
        visits = _Visited(steps[step], at, lambda: write(visited))
        patch.setitem(cycle.KINDS, "cycle", (*steps[:step], visits, *steps[step + 1 :]))
        run_on(visited, 100)
        visits.writes()
    run_on(calm, 100)
    for group in (visited, calm):
        for day in (101, 200):
            run_on(group, day)
    assert _worked_on(visited) == _worked_on(calm)


def _worked_on(group: Group) -> dict[str, Any]:
    """Which events are behind summaries, which are evidence of a fact, and which facts are linked with which."""
    rows = Memory.objects.filter(group=group)
    links = Link.objects.filter(source__group=group).exclude(kind__in=["derived", "evidence"])
    return {
        "in front": sorted(rows.filter(type="episodic", summary=None).exclude(source="loci:compact").values_list("content")),
        "repeated": sorted(rows.filter(source="loci:promote").values_list("content")),
        "linked": Counter(
            frozenset(pair) for pair in links.values_list("source__content", "target__content")
        ),
    }  # fmt: skip


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=6).map(sorted),
    st.integers(1, 60),
    st.sampled_from([0.2, 0.5]),
)
@FEW
def test_however_often_it_runs_no_more_than_the_share_sleeps_in_any_week(
    days: list[int], unused: int, share: float
) -> None:
    group = new_group()
    for number in range(unused):
        long_ago = MONDAY - 300 * DAY
        row(
            group,
            f"{group.slug} {number}",
            confidence=0.03,
            created_at=long_ago,
            decayed_at=MONDAY + 30 * DAY,
        )
    cap = compute_cap(share, unused)
    for day in days:
        run_on(group, day, max_share=share)
        now = MONDAY + day * DAY
        slept = Memory.objects.filter(group=group, state="dormant", state_changed_at__gt=now - 7 * DAY)
        assert slept.count() <= cap


@dataclass(frozen=True)
class _Fails:
    """A step that fails in one group after some batches."""

    step: Step
    group: Group
    after: int

    @property
    def name(self) -> str:
        return self.step.name

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        if turn.group == self.group:
            object.__setattr__(self, "after", self.after - 1)
            if self.after < 0:
                raise OSError("the disk is full")
        return self.step.next_batch(turn, cursor)


@given(EVENTS, st.integers(0, 6), st.integers(0, 2))
@FEW
def test_a_step_that_fails_in_one_group_changes_nothing_for_others(
    monkeypatch: pytest.MonkeyPatch, events: list[Any], step: int, after: int
) -> None:
    alone, failing, other = new_group(), new_group(), new_group()
    for group in (alone, failing, other):
        tell(group, events)
    run_on(alone, 100)
    steps = cycle.KINDS["cycle"]
    with monkeypatch.context() as patch:
        fails = _Fails(steps[step], failing, after)
        patch.setitem(cycle.KINDS, "cycle", (*steps[:step], fails, *steps[step + 1 :]))
        run = run_on(None, 100)
    assert (run.status == "failed") == (fails.after < 0)
    assert _worked_on(other) == _worked_on(alone)
    assert _confidences(other) == _confidences(alone)
    run_on(failing, 100)
    assert _worked_on(failing) == _worked_on(alone)
