"""A run: decay, expiry and cleanup in batches, resumed after an interruption, without effect the second time."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from math import log
from textwrap import indent
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from access.actor import READ, Actor, Via
from access.audit.verify import is_log_whole
from access.errors import InvalidInput, NotPermitted
from access.models import AuditEntry, AuditPayload, Group, RowChange
from access.tokens import operator
from maintenance import cycle
from maintenance.cycle import RunPlan, decay, run_cycle
from maintenance.cycle.decay import Decay
from maintenance.cycle.expiry import Cleanup, Expire
from maintenance.cycle.recorder import Recorder, changes_of_run, within
from maintenance.cycle.step import Batch, Turn
from maintenance.cycle.undo import undo_run
from maintenance.management.commands.compact import Command
from maintenance.models import Run, RunStatus
from maintenance.runs.preview import preview_cycle, read_changes
from memories.models import Memory
from tests.maintenance.events import DEPLOYS, happen
from tests.maintenance.events import NOW as LATER
from tests.maintenance.state import index_faults, whole_state
from tests.memories.builders import NOW, day, fresh, row

pytestmark = pytest.mark.django_db


def changes_of(run: Run) -> list[RowChange]:
    return list(RowChange.objects.filter(change__in=changes_of_run(run.id)))


def decays(at: int, **more: Any) -> Run:
    """Run only decay, `at` days after NOW."""
    return run_cycle(operator(), RunPlan(kind="decay", now=day(at), max_share=1, **more))


@pytest.fixture(autouse=True)
def decay_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cycle.KINDS, "decay", (Decay(),))


def test_an_event_keeps_95_percent_a_day_and_a_fact_99(ledger: Group) -> None:
    event = row(ledger, "we met", type="episodic", confidence=0.8)
    fact = row(ledger, "the sky is blue", confidence=0.8)
    run = decays(1)
    assert fresh(event).confidence == pytest.approx(0.76)
    assert fresh(fact).confidence == pytest.approx(0.792)
    assert fresh(event).decayed_at == day(1)
    assert run.counts == {"decayed": 2}


def test_a_missed_week_is_caught_up_as_if_none_was_missed(ledger: Group) -> None:
    daily = row(ledger, "daily", confidence=0.8)
    for at in range(1, 8):
        decays(at)
    once = row(ledger, "once", confidence=0.8, created_at=NOW)
    decays(7)
    assert fresh(once).confidence == pytest.approx(0.8 * 0.99**7, abs=1e-5)
    assert fresh(daily).confidence == pytest.approx(fresh(once).confidence, abs=1e-5)


def test_a_partial_period_changes_nothing_and_counts_next_time(ledger: Group) -> None:
    memory = row(ledger, "a", confidence=0.8)
    run_cycle(operator(), RunPlan(kind="decay", now=NOW + timedelta(hours=23)))
    assert fresh(memory).confidence == 0.8
    run_cycle(operator(), RunPlan(kind="decay", now=NOW + timedelta(hours=47)))
    assert fresh(memory).confidence == pytest.approx(0.792)
    assert fresh(memory).decayed_at == NOW + timedelta(hours=24)


@pytest.mark.parametrize(
    "kept",
    [
        {"pinned": True},
        {"trust": "verified"},
        {"state": "superseded"},
        {"state": "forgotten"},
        {"confidence": 0.02},
    ],
    ids=str,
)
def test_pinned_verified_retired_and_floor_memories_do_not_decay(ledger: Group, kept: dict[str, Any]) -> None:
    spared = row(ledger, "spared", **{"confidence": 0.8} | kept)
    other = row(ledger, "decays", confidence=0.8)
    decays(3)
    assert fresh(spared).confidence == kept.get("confidence", 0.8)
    assert fresh(spared).decayed_at is None
    assert fresh(other).confidence < 0.8


def test_a_recalled_memory_decays_more_slowly(ledger: Group) -> None:
    never = row(ledger, "never recalled", confidence=0.8)
    often = row(ledger, "often recalled", confidence=0.8, access_count=20)
    decays(10)
    assert fresh(never).confidence == pytest.approx(0.8 * 0.99**10, abs=1e-6)
    assert fresh(often).confidence == pytest.approx(0.8 * 0.99 ** (10 / (1 + 0.5 * log(21))), abs=1e-6)
    assert fresh(never).confidence < fresh(often).confidence < 0.8


def test_decay_stops_at_the_floor(ledger: Group) -> None:
    old = row(ledger, "it is never recalled", confidence=0.5)
    decays(2_000)
    assert fresh(old).confidence == 0.02


def test_a_second_cycle_finds_nothing(ledger: Group) -> None:
    row(ledger, "a", confidence=0.8, expires_at=day(2))
    row(ledger, "b", confidence=0.03)
    first = run_cycle(operator(), RunPlan(now=day(200), max_share=1))
    before = whole_state()
    second = run_cycle(operator(), RunPlan(now=day(200), max_share=1))
    assert first.counts == {"decayed": 2, "expired": 1, "put_to_sleep": 1}
    assert second.counts == {}
    assert not changes_of(second)
    assert whole_state() == before


def test_a_memory_expires_after_its_end_date(ledger: Group) -> None:
    over = row(ledger, "until the third", expires_at=day(3))
    lives = row(ledger, "until the ninth", expires_at=day(9))
    run_cycle(operator(), RunPlan(now=day(3)))
    assert fresh(over).state == "expired"
    assert fresh(over).state_changed_at == day(3)
    assert fresh(lives).state == "live"
    assert index_faults() == []


@pytest.mark.parametrize(
    ("standing", "state"),
    [
        ({}, "dormant"),
        ({"importance": 8}, "live"),
        ({"pinned": True}, "live"),
        ({"trust": "verified"}, "live"),
        ({"confidence": 0.06}, "live"),
        ({"last_accessed": day(20)}, "live"),
        ({"state_changed_at": day(20)}, "live"),  # somebody restored it
        ({"created_at": day(20)}, "live"),
    ],
    ids=str,
)
def test_cleanup_puts_unused_memories_of_low_confidence_to_sleep(
    ledger: Group, standing: dict[str, Any], state: str
) -> None:
    memory = row(ledger, "an old doubt", **{"confidence": 0.04} | standing)
    run_cycle(operator(), RunPlan(kind="cleanup", now=day(95)))
    assert fresh(memory).state == state


def test_groups_are_processed_separately_and_one_can_be_chosen(ledger: Group, garden: Group) -> None:
    here, there = row(ledger, "here", expires_at=day(1)), row(garden, "there", expires_at=day(1))
    run = run_cycle(operator(), RunPlan(group=ledger, now=day(2)))
    assert (fresh(here).state, fresh(there).state) == ("expired", "live")
    assert run.group == ledger


def test_a_run_and_each_memory_that_it_retired_are_logged(ledger: Group) -> None:
    memory = row(ledger, "until tomorrow", expires_at=day(1))
    run = run_cycle(operator(), RunPlan(now=day(2)))
    said = AuditEntry.objects.get(memory_id=memory.id)
    assert said.run == run.id
    assert AuditPayload.objects.get(entry=said).payload["changes"]["state"] == ["live", "expired"]
    assert AuditEntry.objects.filter(run=run.id, subject="cycle done").exists()
    assert is_log_whole()


def test_decay_is_one_change_and_one_row_in_the_log_for_many_memories(ledger: Group) -> None:
    for number in range(30):
        row(ledger, f"fact {number}")
    run = decays(1)
    [change] = changes_of(run)
    assert change.op == "b"
    assert len((change.vals or {})["pk"]) == 30
    assert steps_logged(run) == [("decay", "ledger", {"decayed": 30})]


def steps_logged(run: Run) -> list[tuple[str, str, dict[str, int]]]:
    """Operation, group and counts of each row of the log about a step of the run."""
    slugs = dict(Group.objects.values_list("id", "slug"))
    rows = AuditEntry.objects.filter(run=run.id, memory_id=None).exclude(subject__startswith=f"{run.kind} ")
    return [
        (row.operation, slugs[row.group], {n: c for n, c in row.payload.items() if isinstance(c, int)})
        for row in rows.select_related("payload_row")
    ]


def test_the_log_has_a_row_for_each_step_that_changed_something_in_a_group(
    ledger: Group, garden: Group
) -> None:
    row(ledger, "until tomorrow", expires_at=day(1), confidence=0.8)
    row(ledger, "an old doubt", confidence=0.04)
    row(garden, "a fact", confidence=0.8)
    row(garden, "pinned", pinned=True)
    plan = RunPlan(now=day(120), max_share=1)
    run = run_cycle(operator(), plan)
    assert steps_logged(run) == [
        ("decay", "ledger", {"decayed": 2}),
        ("expire", "ledger", {"expired": 1}),
        ("cleanup", "ledger", {"put_to_sleep": 1}),
        ("decay", "garden", {"decayed": 1}),
    ]
    said = [entry.payload for entry in AuditEntry.objects.filter(operation="decay", run=run.id)]
    assert [(each["run"], each["step"]) for each in said] == [(str(run.id), "decay")] * 2
    kept = [RowChange.objects.get(within(each)) for each in said]
    assert [len((change.vals or {})["pk"]) for change in kept] == [2, 1]
    assert steps_logged(run_cycle(operator(), plan)) == []
    assert is_log_whole()


@pytest.mark.model
def test_the_log_has_words_for_compaction_and_promotion(ledger: Group) -> None:
    happen(DEPLOYS)
    happen(["The staging server needs a restart after each deploy"] * 3, step=timedelta(days=1))
    run = run_cycle(operator(), RunPlan(now=LATER + timedelta(days=60)))
    assert steps_logged(run) == [
        ("compact", "ledger", {"summaries": 1, "compacted": 8}),
        ("promote", "ledger", {"promoted": 1, "evidence": 3}),
    ]


def test_a_step_that_is_stopped_between_batches_is_one_row_of_the_log(
    ledger: Group, garden: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decay, "ROWS", 2)
    facts = [row(group, f"fact {n}") for n in range(5) for group in (ledger, garden)]

    class Dies(Decay):
        place: int

        def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
            if cursor == self.place:
                raise KeyboardInterrupt
            return super().next_batch(turn, cursor)

    monkeypatch.setitem(cycle.KINDS, "decay", (Dies(),))
    # In the midst of a group, after its last batch, and in the second group.
    for place, logged in ((facts[2].key, 0), (facts[8].key, 0), (facts[7].key, 1), (0, 2)):
        monkeypatch.setattr(Dies, "place", place, raising=False)
        with suppress(KeyboardInterrupt):
            decays(1)
        assert len(steps_logged(Run.objects.get())) == logged
    run = Run.objects.get()
    assert run.status == RunStatus.DONE
    assert steps_logged(run) == [("decay", "ledger", {"decayed": 5}), ("decay", "garden", {"decayed": 5})]
    undo_run(operator(), run.id)
    assert {fresh(fact).confidence for fact in facts} == {facts[0].confidence}
    assert len(steps_logged(run)) == 2
    assert is_log_whole()


@dataclass(frozen=True)
class Stumbles:
    """A step that retires one memory at a time and dies at its third."""

    name: str = "stumbles"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        memory = (
            Memory.objects.filter(group=turn.group, state="live", key__gt=cursor or 0).order_by("key").first()
        )
        if memory is None:
            return None

        def write(recorder: Recorder) -> Mapping[str, int]:
            recorder.edit(memory, state="forgotten")
            if memory.content == "stumble":
                raise KeyboardInterrupt
            return {"forgotten": 1}

        return Batch(cursor=memory.key, write=write)


def test_a_killed_run_resumes_after_its_last_batch(ledger: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cycle.KINDS, "decay", (Stumbles(),))
    texts = ["one", "two", "stumble", "four"]
    rows = [row(ledger, text) for text in texts]
    with pytest.raises(KeyboardInterrupt):
        decays(1)
    assert [fresh(memory).state for memory in rows] == ["forgotten", "forgotten", "live", "live"]
    stopped = Run.objects.get()
    assert stopped.status == RunStatus.RUNNING
    assert stopped.cursor["at"] == rows[1].key
    Memory.objects.filter(pk=rows[2].pk).update(content="fine")  # it no longer stumbles
    resumed = decays(5)
    assert resumed.pk == stopped.pk
    assert resumed.status == RunStatus.DONE
    assert resumed.now == day(5)
    assert resumed.counts == {"forgotten": 4}
    assert len(changes_of(resumed)) == 4
    assert steps_logged(resumed) == [("run", "ledger", {"forgotten": 4})]


def test_a_run_that_was_interrupted_before_its_steps_were_others_begins_the_group_anew(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cycle.KINDS, "decay", (Stumbles(),))
    rows = [row(ledger, text) for text in ("one", "two", "stumble")]
    with pytest.raises(KeyboardInterrupt):
        decays(1)
    stopped = Run.objects.get()
    stopped.cursor |= {"step": 3, "at": ["of", "another"]}  # a number, as older versions kept it
    stopped.save()
    Memory.objects.filter(pk=rows[2].pk).update(content="fine")
    resumed = decays(5)
    assert (resumed.pk, resumed.status, resumed.error) == (stopped.pk, RunStatus.DONE, "")
    assert [fresh(memory).state for memory in rows] == ["forgotten"] * 3


def test_a_step_that_fails_in_one_group_stops_nothing_else(
    ledger: Group, garden: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fails(Stumbles):
        def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
            if turn.group == ledger:
                raise OSError("the disk is full")
            return None

    monkeypatch.setitem(cycle.KINDS, "decay", (Fails(), Decay()))
    here, there = row(ledger, "here", confidence=0.8), row(garden, "there", confidence=0.8)
    failed = decays(1)
    assert (failed.status, failed.error) == ("failed", "'ledger', stumbles: OSError: the disk is full")
    assert fresh(here).confidence == fresh(there).confidence == pytest.approx(0.792)
    monkeypatch.setitem(cycle.KINDS, "decay", (Decay(),))
    assert decays(2).status == "done"


def test_what_a_batch_rolled_back_is_neither_counted_nor_marked(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Marks(Stumbles):
        def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
            return None if cursor else Batch("end", lambda _: {"done": 1}, mark=7)

    monkeypatch.setitem(cycle.KINDS, "decay", (Marks(),))
    save = Run.save

    def fails(run: Run, **how: Any) -> None:
        save(run, **how)
        if "steps" in how.get("update_fields", ()):
            raise OSError("the disk is full")

    monkeypatch.setattr(Run, "save", fails)
    run = decays(1)
    assert (run.status, run.counts, run.cursor["marks"]) == ("failed", {}, {})
    assert steps_logged(run) == []


def test_a_step_that_takes_too_long_is_left_for_the_next_run(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = row(ledger, "a", confidence=0.8)
    monkeypatch.setattr(cycle, "STEP_S", -1)
    run = decays(1)
    assert (run.status, fresh(memory).confidence) == ("stopped", 0.8)
    assert "'ledger', decay: not done within" in run.error
    monkeypatch.undo()
    assert run_cycle(operator(), RunPlan(now=day(1))).status == "done"
    assert fresh(memory).confidence < 0.8


def doubts(group: Group, count: int) -> None:
    """Memories that nothing keeps awake on day 100."""
    for number in range(count):
        row(group, f"doubt {number}", confidence=0.04)


def tidies(at: int, **more: Any) -> Run:
    return run_cycle(operator(), RunPlan(kind="cleanup", now=day(at), **more))


def asleep(group: Group) -> int:
    return Memory.objects.filter(group=group, state="dormant").count()


def test_no_more_than_the_share_goes_to_sleep_in_a_week(ledger: Group, garden: Group) -> None:
    doubts(ledger, 150)
    doubts(garden, 1)
    run = tidies(100, max_share=0.5)
    assert (run.status, asleep(ledger), asleep(garden)) == ("stopped", 50, 1)
    assert "'ledger'" in run.error
    assert "--max-share" in run.error
    assert (tidies(103, max_share=0.5).status, asleep(ledger)) == ("stopped", 50)
    assert (tidies(108, max_share=0.5).status, asleep(ledger)) == ("stopped", 100)
    assert (tidies(108, max_share=1).status, asleep(ledger)) == ("done", 150)


def test_what_expires_or_gets_a_successor_is_outside_the_share(ledger: Group) -> None:
    over = row(ledger, "until tomorrow", expires_at=day(1))
    assert run_cycle(operator(), RunPlan(now=day(2), max_share=0)).status == "done"
    assert fresh(over).state == "expired"


def test_a_capped_step_ends_itself_alone(ledger: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    doubts(ledger, 3)
    over = row(ledger, "until then", expires_at=day(99))
    monkeypatch.setitem(cycle.KINDS, "cleanup", (Cleanup(), Expire()))
    assert tidies(100, max_share=0).status == "stopped"
    assert (asleep(ledger), fresh(over).state) == (0, "expired")


def test_a_resumed_run_keeps_the_error_about_its_share(ledger: Group, garden: Group) -> None:
    doubts(ledger, 30)
    doubts(garden, 1)

    def dies(step: str, done: int, total: int) -> None:
        if step.startswith("garden: "):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tidies(100, report=dies)
    assert asleep(garden) == 0
    run = tidies(100)
    assert (run.status, asleep(garden), asleep(ledger)) == ("stopped", 1, 0)
    assert "'ledger'" in run.error


@pytest.mark.parametrize(
    ("share", "floor", "left"), [(0.5, 1, 8), (0, 1, 8), (0, 20, 8), (0.5, 8, 0), (1, 1, 0)]
)
def test_the_share_holds_in_a_group_of_eight(
    ledger: Group, monkeypatch: pytest.MonkeyPatch, share: float, floor: int, left: int
) -> None:
    doubts(ledger, 8)
    monkeypatch.setattr(cycle, "SHARE_FLOOR", floor)
    assert tidies(100, max_share=share).status == ("stopped" if left else "done")
    assert Memory.objects.filter(state="live").count() == left


def test_a_resumed_run_keeps_its_share(ledger: Group) -> None:
    doubts(ledger, 30)
    begun = tidies(100, max_share=1, max_seconds=0)
    assert begun.status == RunStatus.RUNNING
    ended = tidies(100)  # as the worker does
    assert (ended.pk, ended.status, asleep(ledger)) == (begun.pk, RunStatus.DONE, 30)
    assert "max_share" not in ended.cursor  # a larger share applies to one run only


def test_a_few_memories_are_always_within_the_share(ledger: Group) -> None:
    doubts(ledger, 1)
    assert (tidies(100, max_share=0.1).status, asleep(ledger)) == (RunStatus.DONE, 1)


def test_a_run_out_of_time_resumes_later(ledger: Group) -> None:
    memory = row(ledger, "until tomorrow", expires_at=day(1))
    run = run_cycle(operator(), RunPlan(now=day(2), max_seconds=0))
    assert run.status == RunStatus.RUNNING
    assert fresh(memory).state == "live"
    again = run_cycle(operator(), RunPlan(now=day(2)))
    assert again.pk == run.pk
    assert fresh(memory).state == "expired"


def test_a_run_resumed_days_later_dates_its_changes_at_that_time(ledger: Group) -> None:
    memory = row(ledger, "until tomorrow", expires_at=day(1))
    run_cycle(operator(), RunPlan(now=day(2), max_seconds=0))
    run_cycle(operator(), RunPlan(now=day(9)))
    assert fresh(memory).state_changed_at == day(9)
    assert run_cycle(operator(), RunPlan(now=day(8), max_seconds=0)).now == day(8)
    assert run_cycle(operator(), RunPlan(now=day(7))).now == day(8)  # never back


def test_only_curators_may_run_it(ledger: Group, garden: Group) -> None:
    reader = replace(operator(), scopes=frozenset({READ}))
    with pytest.raises(NotPermitted):
        run_cycle(reader)
    bound = Actor(name="carol", via=Via.JOB, scopes=operator().scopes, roles={ledger.key: "curator"})
    with pytest.raises(NotPermitted):
        run_cycle(bound)
    with pytest.raises(NotPermitted):
        run_cycle(bound, RunPlan(group=garden))
    assert run_cycle(bound, RunPlan(group=ledger)).status == RunStatus.DONE
    assert not Run.objects.exclude(group=ledger).exists()


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="tidy") as refused:
        run_cycle(operator(), RunPlan(kind="tidy"))
    assert "cleanup" in str(refused.value)


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_predicts_the_run_exactly_and_changes_nothing(ledger: Group) -> None:
    row(ledger, "until tomorrow", expires_at=day(1))
    row(ledger, "an old doubt", confidence=0.04)
    row(ledger, "a fact", confidence=0.8)
    before = whole_state()
    preview = preview_cycle(operator(), RunPlan(now=day(120), max_share=1))
    assert whole_state() == before
    assert not Run.objects.exists()
    assert not AuditEntry.objects.filter(operation="decay").exists()
    run = run_cycle(operator(), RunPlan(now=day(120), max_share=1))
    done = read_changes(run, limit=1000)
    assert preview.changes == done.changes
    assert preview.total == done.total == 5  # three decay, one of them expires and one goes to sleep
    assert preview.run["counts"] == run.counts == {"decayed": 3, "expired": 1, "put_to_sleep": 1}


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_a_dry_run_shows_the_texts_that_it_would_write_whole(ledger: Group) -> None:
    happen(DEPLOYS)
    row(ledger, "until then", expires_at=LATER - timedelta(days=1))  # each step before has changes too
    preview = preview_cycle(operator(), RunPlan(now=LATER), limit=0)
    [made] = preview.changes
    assert (made.made, made.table, preview.texts) == (True, "memories_memory", 1)
    assert made.text.startswith("5 events, 8 May 2023")
    wanted = {"type": "episodic", "scope": "group", "trust": "active", "confidence": 0.7}
    assert made.fields == {name: [None, value] for name, value in wanted.items()}
    options = {"group": "", "now": LATER, "max_share": None, "changes": 0, "dry_run": True}
    shown = Command().act(options)
    assert indent(made.text, "    ") in shown.text
    assert "type episodic, scope group, trust active, confidence 0.7" in shown.text
    assert shown.body.changes[0].text == made.text
    assert Memory.objects.filter(source="loci:compact").count() == 0
    done = read_changes(run_cycle(operator(), RunPlan(now=LATER)), limit=1000)
    assert [(change.text, change.fields) for change in done.changes[:1]] == [(made.text, made.fields)]
    assert (preview.total, preview.run["counts"]) == (done.total, done.run["counts"])
    assert done.total == len(done.changes) > 1


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_leaves_no_copy_behind(ledger: Group, settings: Settings) -> None:
    preview_cycle(operator(), RunPlan(now=timezone.now()))
    assert list(settings.LOCI.home.glob(".trial-*")) == []
