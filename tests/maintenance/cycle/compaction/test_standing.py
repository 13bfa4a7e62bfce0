"""A summary stands as long as each event that it tells of counts in its group; what is behind it is listed by itself else."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import QuerySet

from access.audit import collecting_rows
from access.models import Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.cycle.compaction import Compact
from maintenance.cycle.expiry import Expire
from maintenance.cycle.undo import undo_run
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.regroup.move import move_memories, move_memories_back
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.lifecycle.verbs import forget, merge, move, quarantine, reject, restore, retract, supersede
from memories.models import Memory
from tests.maintenance.cycle.compaction.test_compaction import NOTES, WEEK, behind, summaries
from tests.maintenance.events import MONDAY, NOW, drive, happen, turn_of
from tests.memories.builders import fresh

pytestmark = [pytest.mark.django_db, pytest.mark.model]
YEAR = timedelta(days=400)
LATER = tuple(note.replace("Ines", "Olga").replace("Marek", "Piet") for note in NOTES)

Act = Callable[[Memory], object]


def expire(memory: Memory) -> None:
    Memory.objects.filter(pk=memory.pk).update(expires_at=NOW)
    drive(Expire(), turn_of(memory.group, now=NOW + timedelta(days=1)))


def replace_it(memory: Memory) -> None:
    [other] = happen(["The stand-ups were moved to the greenhouse"], start=NOW - timedelta(days=1))
    supersede(operator(), memory.id, other.id)


def rewrite(memory: Memory) -> None:
    edit(operator(), memory.id, EditDraft(content="A quiet week, as a person tells it"))


def merge_away(memory: Memory) -> None:
    others = Memory.objects.filter(state="live", type="episodic").exclude(source="loci:compact")
    merge(operator(), memory.id, others.exclude(pk=memory.pk).earliest("key").id)


def by(verb: Callable[..., object]) -> Act:
    return lambda memory: verb(operator(), memory.id)


WITHDRAWALS: tuple[Act, ...] = (by(retract), by(reject), by(quarantine))
ENDS: tuple[Act, ...] = (by(forget), *WITHDRAWALS, expire, replace_it, rewrite)


def months() -> QuerySet[Memory]:
    return Memory.objects.filter(source="loci:compact", state="live", metadata__has_key="months")


@pytest.mark.parametrize("act", [*ENDS, merge_away])
def test_no_summary_tells_of_an_event_that_counts_no_more(ledger: Group, act: Act) -> None:
    events = happen(NOTES)
    drive(Compact(), turn_of(ledger))
    act(events[1])
    assert summaries() == []
    assert behind(events) == [None] * 5


@pytest.mark.parametrize("act", ENDS)
def test_what_was_behind_a_summary_is_listed_when_that_counts_no_more(ledger: Group, act: Act) -> None:
    events = happen(NOTES)
    drive(Compact(), turn_of(ledger))
    [former] = summaries()
    act(former)
    assert behind(events) == [None] * 5
    drive(Compact(), turn_of(ledger))
    [again] = [row for row in summaries() if row.trust == "active"]
    # A text that a person withdrew does not come back.
    is_barred = act in WITHDRAWALS
    assert again.metadata["form"] == ("index" if is_barred else "summary")
    assert behind(events) == [None if is_barred else again.key] * 5


def test_a_summary_that_is_restored_after_another_took_its_place_goes(ledger: Group) -> None:
    events = happen(NOTES)
    drive(Compact(), turn_of(ledger))
    [former] = summaries()
    forget(operator(), former.id)
    drive(Compact(), turn_of(ledger))
    restore(operator(), former.id)
    drive(Compact(), turn_of(ledger))
    [summary] = summaries()
    assert summary.id != former.id
    assert behind(events) == [summary.key] * 5


@pytest.mark.parametrize("verb", [retract, reject, quarantine])
def test_a_withdrawn_text_is_in_no_summary_of_an_event_with_the_same_text(
    ledger: Group, verb: Callable[..., object]
) -> None:
    twin = "Stand-up of the checkout squad. Yusuf sold the delivery van. The money went into a new oven. It arrives in June."
    events = happen([NOTES[0], twin, *NOTES[2:]]) + happen([*LATER[:4], twin], start=MONDAY + WEEK)
    drive(Compact(), turn_of(ledger))
    told = ("delivery van", "new oven", "in June")
    assert all(any(words in row.content for words in told) for row in summaries())
    verb(operator(), events[1].id)
    assert not any(words in row.content for row in summaries() for words in told)
    drive(Compact(), turn_of(ledger))
    [summary] = summaries()
    assert not any(words in summary.content for words in told)
    assert events[1].summary_id is None
    assert {*behind([*events[:1], *events[2:]])} == {summary.key}


def test_a_moved_event_leaves_its_summary_and_a_summary_does_not_move(ledger: Group, garden: Group) -> None:
    events = happen(NOTES) + happen(LATER, start=MONDAY + WEEK)
    drive(Compact(), turn_of(ledger))
    move(operator(), events[1].id, garden.slug)
    assert [row.metadata["weeks"] for row in summaries()] == [["2023-W20"]]
    assert behind(events[:5]) == [None] * 5
    moved = move_memories(operator(), ledger.slug, to=garden.slug)
    assert (moved.moved, moved.staying, summaries()) == (9, (), [])
    drive(Compact(), turn_of(garden))
    assert {row.group_id for row in summaries()} == {garden.key}
    move_memories_back(operator(), ledger.slug, run=str(moved.run))
    assert {row.group_id for row in summaries()} == {ledger.key}


def test_an_event_whose_move_is_undone_leaves_the_summary_that_it_got_there(
    ledger: Group, garden: Group
) -> None:
    [event] = happen(NOTES[:1])
    with collecting_rows() as written:
        move(operator(), event.id, garden.slug)
    others = happen(LATER, group=garden.slug)
    drive(Compact(), turn_of(garden))
    assert None not in behind([event, *others])
    undo_write(operator(), undo_id_of(operator(), written))
    assert (summaries(), behind([event, *others])) == ([], [None] * 6)


def test_what_no_verb_withdrew_the_next_cycle_withdraws(ledger: Group) -> None:
    events = happen(NOTES)
    drive(Compact(), turn_of(ledger))
    Memory.objects.filter(pk=events[0].pk).update(trust="rejected")
    [summary] = summaries()
    counts, _, run = drive(Compact(), turn_of(ledger))
    assert counts == {"summaries_dropped": 1}
    assert behind(events) == [None] * 5
    assert undo_run(operator(), run.id).kept == ()
    assert behind(events) == [summary.key] * 5


def test_what_comes_late_for_a_week_of_a_month_renews_both(ledger: Group) -> None:
    events = happen(NOTES) + happen(LATER, start=MONDAY + WEEK)
    drive(Compact(), turn_of(ledger, now=NOW + YEAR))
    [month] = months()
    assert month.content.startswith("10 events, 8 May 2023 to 16 May 2023: about ")
    events += happen(["Eva found the lost key of the cellar. It hung behind the door."], start=MONDAY)
    counts, _, run = drive(Compact(), turn_of(ledger, now=NOW + YEAR))
    assert counts == {"summaries": 2, "compacted": 3}
    [anew] = months()
    assert anew.content.startswith("11 events, ")
    assert [row.key for row in summaries() if row.summary_id is None] == [anew.key]
    undo_run(operator(), run.id)
    assert [row.key for row in months()] == [month.key]
    assert fresh(events[-1]).summary_id is None


def test_a_second_run_over_an_old_diary_changes_nothing(ledger: Group) -> None:
    happen(NOTES)
    happen(LATER, start=MONDAY + WEEK)
    plan = RunPlan(group=ledger, now=NOW + YEAR)
    assert run_cycle(operator(), plan).counts["summaries"] == 3
    assert run_cycle(operator(), plan).counts == {}
