"""Whatever people, agents and cycles do, in any order: nothing is lost, and undo restores the former state."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from access.actor import Actor
from access.audit.verify import is_log_whole
from access.errors import LociError
from access.models import Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.cycle.undo import undo_run
from maintenance.models import Run, RunStatus
from memories.draft import Draft, EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.models import Link, Memory
from memories.store import store
from tests.examples import examples
from tests.maintenance.state import index_faults, whole_state
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

FACTS = (
    "The deploy port is 8081.",
    "The deploy port is 8082.",
    "The nightly backup goes to the NAS.",
    "The nightly backups go to the NAS.",
)
EVENTS = (
    "Anna told Bruno that the altos want more rehearsals.",
    "Bruno told Chiara that the altos asked for more rehearsals.",
    "The nightly backup failed because the disk was full.",
    "The forklift broke a wheel in the warehouse.",
)
VERBS = ("forget", "restore", "retract", "dispute", "approve", "reject", "verify", "pin", "unpin", "purge")
INDEX = st.integers(0, 11)
STEP = st.one_of(
    st.tuples(st.just("fact"), st.integers(0, len(FACTS) - 1), st.sampled_from([0.03, 0.7])),
    st.tuples(st.just("event"), st.integers(0, len(EVENTS) - 1), st.integers(0, 3)),
    st.tuples(st.just("event"), st.integers(0, len(EVENTS) - 1), st.integers(0, 3)),
    st.tuples(st.just("supersede"), INDEX, st.integers(0, len(FACTS) - 1)),
    st.tuples(st.just("expiring"), st.integers(1, 90)),
    st.tuples(st.sampled_from(VERBS), INDEX),
    st.tuples(st.just("cycle"), st.sampled_from([1, 40, 200])),
    st.tuples(st.just("cycle, taken back"), st.sampled_from([1, 40, 200])),
    st.tuples(st.just("cycle, edit, taken back"), st.sampled_from([1, 40, 200]), INDEX),
    st.tuples(st.just("small share"), st.sampled_from([40, 200]), st.sampled_from([0, 0.1, 0.5])),
    st.tuples(st.just("undo"), st.integers(0, 3), st.booleans()),
)


@dataclass
class World:
    """One store, its users, and a clock that the cycles advance."""

    alice: Actor
    days: int = 0
    seen: dict[str, str] = field(default_factory=dict)

    def take(self, step: tuple[Any, ...]) -> None:
        """Take one step; a refusal changes nothing."""
        before = whole_state()
        try:
            with transaction.atomic():
                self._do(step)
        except LociError:
            assert whole_state() == before
        self._check(step)

    def _do(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("fact", number, confidence):
                store(
                    self.alice, Draft(FACTS[number], group="ledger", type="semantic", confidence=confidence)
                )
            case ("event", number, weeks):
                happened = timezone.now() - timedelta(weeks=weeks, minutes=number)
                store(
                    self.alice,
                    Draft(EVENTS[number], group="ledger", type="episodic", valid_from=happened),
                )
            case ("expiring", days):
                ends = timezone.now() + timedelta(days=days)
                store(self.alice, Draft(f"Perhaps until day {days}.", group="ledger", expires_at=ends))
            case ("supersede", at, number):
                if memory := self._pick(at):
                    store(self.alice, Draft(FACTS[number], supersedes=memory.id))
            case ("cycle", days):
                self._cycle(days)
            case ("cycle, taken back", days):
                before = whole_state()
                run = self._cycle(days)
                undo_run(operator(), run.id)
                assert whole_state() == before
                # The empty run in between hides no work from the next one.
                assert self._cycle(0).counts == run.counts
            case ("cycle, edit, taken back", days, at):
                self._taken_back_after_edit(days, at)
            case ("small share", days, share):
                self._small_share(days, share)
            case ("undo", at, force):
                runs = list(Run.objects.exclude(status=RunStatus.UNDONE))
                if runs:
                    undo_run(operator(), runs[at % len(runs)].id, force=force, with_later=not force)
            case (verb, at):
                if memory := self._pick(at):
                    getattr(verbs, verb)(self.alice, memory.id)

    def _pick(self, at: int) -> Memory | None:
        rows = list(Memory.objects.order_by("key"))
        return rows[at % len(rows)] if rows else None

    def _cycle(self, days: int) -> Run:
        self.days += days
        now = timezone.now() + timedelta(days=self.days)
        run = run_cycle(operator(), RunPlan(now=now, max_share=1))
        assert run_cycle(operator(), RunPlan(now=now, max_share=1)).counts == {}
        return run

    def _taken_back_after_edit(self, days: int, at: int) -> None:
        """Edit a memory that a run changed, then undo the run: the new version has the confidence from before."""
        live = Memory.objects.filter(state="live").order_by("key")
        former = {memory.key: memory.confidence for memory in live}
        run = self._cycle(days)
        rows = [memory for memory in live.all() if memory.key in former]
        if not rows:
            return
        memory = rows[at % len(rows)]
        edited = edit(self.alice, memory.id, EditDraft(content=f"{memory.content} Corrected {run.pk}."))
        done = undo_run(operator(), run.id)
        new = Memory.objects.get(pk=edited.memory.pk)
        assert new.confidence == former[memory.key]
        assert (new.id in done.versions) == (memory.confidence != former[memory.key])

    def _small_share(self, days: int, share: float) -> None:
        """A run keeps its share of the group, however small the group."""
        live = Memory.objects.filter(state="live")
        before = set(live.values_list("key", flat=True))
        now = timezone.now() + timedelta(days=self.days + days)
        run = run_cycle(operator(), RunPlan(now=now, max_share=share))
        gone = len(before - set(live.values_list("key", flat=True)))
        assert gone <= (max(1, share * len(before)) if share else 0)
        undo_run(operator(), run.id)

    def _check(self, step: tuple[Any, ...]) -> None:
        assert index_faults() == []
        assert is_log_whole()
        self._nothing_lost(step)
        live = Counter(memory.root_key for memory in Memory.objects.filter(state="live"))
        assert [root for root, count in live.items() if count > 1] == []
        for memory in Memory.objects.filter(state="compacted").select_related("superseded_by"):
            assert memory.superseded_by is not None
            ends = {"source": memory.superseded_by.root_key, "target": memory.root_key}
            assert Link.objects.filter(kind="derived", **ends).exists() == (
                memory.superseded_by.source == "loci:compact"
            )

    def _nothing_lost(self, step: tuple[Any, ...]) -> None:
        """People's memories disappear only by their own purge, and their text never changes."""
        now = {str(m.id): m.content for m in Memory.objects.exclude(source__startswith="loci:")}
        if step[0] != "purge":
            assert {id_: now.get(id_) for id_ in self.seen} == self.seen
        self.seen = now


@settings(
    max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEP, min_size=3, max_size=14))
def test_anything_in_any_order_keeps_every_promise(
    alice: User, ledger: Group, steps: list[tuple[Any, ...]]
) -> None:
    with transaction.atomic():
        world = World(person(alice))
        for step in steps:
            world.take(step)
        transaction.set_rollback(True)
