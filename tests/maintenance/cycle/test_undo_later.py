"""Undo after people decided about the changed memories: nothing retracted returns, nothing approved loses its evidence."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict, NotPermitted
from access.models import Group, Membership, Role, RowChange
from access.tokens import operator
from maintenance.cycle import RunPlan, decay, run_cycle, undo
from maintenance.cycle.compaction import Compact
from maintenance.cycle.promotion import Promote
from maintenance.cycle.recorder import step_change
from maintenance.cycle.undo import find_later_runs, undo_run
from maintenance.models import Run
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import approve, pin, purge, restore, retract
from memories.models import Link, LinkKind, Memory
from memories.store import store
from tests.maintenance.events import TOMATOES, drive, happen, turn_of
from tests.memories.builders import day, fresh, row
from tests.people import person

pytestmark = pytest.mark.django_db
ALIKE = (
    "The staging server needs a restart after each deploy",
    "After each deploy the staging server needs a restart",
    "The staging server needs to be restarted after each deploy",
)


def expired(group: Group) -> tuple[Memory, Run]:
    """A memory that a run expired, and that run."""
    memory = row(group, "until tomorrow", expires_at=day(1))
    run = run_cycle(operator(), RunPlan(now=day(2)))
    assert fresh(memory).state == "expired"
    return memory, run


def whys(run: Run, **more: Any) -> set[str]:
    return {kept.why for kept in undo_run(operator(), run.id, **more).kept}


@pytest.mark.parametrize("again", ["until tomorrow", "Until  TOMORROW"])
@pytest.mark.parametrize("force", [False, True])
def test_a_text_that_was_retracted_in_another_row_does_not_come_back(
    ledger: Group, again: str, force: bool
) -> None:
    memory, run = expired(ledger)
    retract(operator(), row(ledger, again).id)
    assert any("was retracted" in why for why in whys(run, force=force))
    assert fresh(memory).state == "expired"


def test_force_does_not_bring_back_what_was_retracted_itself(ledger: Group) -> None:
    memory, run = expired(ledger)
    retract(operator(), memory.id)
    assert whys(run, force=True) == {"It is retracted since."}
    assert fresh(memory).state == "retracted"


def test_force_does_not_revive_a_superseded_memory(ledger: Group) -> None:
    memory, run = expired(ledger)
    restore(operator(), memory.id)
    store(operator(), Draft("until Friday", group="ledger", supersedes=str(memory.id)))
    assert whys(run, force=True) == {"It is superseded since."}
    assert fresh(memory).state == "superseded"


def test_a_later_run_that_the_actor_may_not_undo_is_not_undone(
    ledger: Group, garden: Group, bob: User
) -> None:
    Membership.objects.filter(user=bob).update(role=Role.CURATOR)
    row(ledger, "ours", confidence=0.8)
    theirs = row(garden, "theirs", confidence=0.8)
    first = run_cycle(person(bob), RunPlan(group=ledger, now=day(1)))
    run_cycle(operator(), RunPlan(now=day(2)))
    decayed = fresh(theirs).confidence
    assert decayed < 0.8
    with pytest.raises(NotPermitted):
        undo_run(person(bob), first.id, with_later=True)
    assert fresh(theirs).confidence == decayed


def test_a_later_run_in_progress_is_not_undone(ledger: Group) -> None:
    row(ledger, "decays", confidence=0.8)
    first, second = (run_cycle(operator(), RunPlan(now=day(at))) for at in (1, 2))
    Run.objects.filter(pk=second.pk).update(status="running")
    with pytest.raises(Conflict, match="has not ended yet"):
        undo_run(operator(), first.id, with_later=True)
    assert Run.objects.get(pk=first.pk).status == "done"


def test_a_run_that_shares_rows_with_a_later_one_is_undone_first_too(ledger: Group) -> None:
    one, other = row(ledger, "one"), row(ledger, "other")
    runs = [Run.objects.create(kind="cycle", status="done", actor="job/cycle") for _ in range(4)]
    for run, keys in zip(runs, [[one.pk], [one.pk, other.pk], [other.pk], [0]], strict=True):
        for key in keys:
            RowChange.objects.create(
                change=step_change(run.id, "decay"), op="u", kept="memories_memory", row=key, vals={}
            )
    assert find_later_runs(runs[0]) == [runs[2], runs[1]]


def test_each_batch_of_decay_is_undone_in_its_own_transaction(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        row(ledger, f"decays {number}", confidence=0.8)
    monkeypatch.setattr(decay, "ROWS", 2)
    run = run_cycle(operator(), RunPlan(now=day(1)))
    real, calls = undo.reverse_batch, list[int]()

    def stumbling(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(undo, "reverse_batch", stumbling)
    with pytest.raises(KeyboardInterrupt):
        undo_run(operator(), run.id)
    assert Memory.objects.filter(confidence=0.8).count() == 2


@pytest.mark.model
def test_a_summary_that_stays_keeps_its_sources_so_that_a_retraction_reaches_it(ledger: Group) -> None:
    events = happen(TOMATOES)
    _, _, run = drive(Compact(), turn_of(ledger))
    summary = Memory.objects.get(source="loci:compact")
    pin(operator(), summary.id)
    assert {"Its memory stays."} < whys(run)
    assert {fresh(event).state for event in events} == {"live"}
    retract(operator(), events[0].id)
    assert fresh(summary).state == "retracted"


@pytest.mark.model
def test_a_withdrawn_summary_is_still_reached_by_a_purge_after_the_undo(ledger: Group) -> None:
    events = happen(TOMATOES)
    _, _, run = drive(Compact(), turn_of(ledger))
    retract(operator(), events[0].id)
    undo_run(operator(), run.id)
    assert Memory.objects.filter(content__contains=TOMATOES[0]).count() == 1
    purge(operator(), events[0].id)
    assert not Memory.objects.filter(content__contains=TOMATOES[0]).exists()


@pytest.mark.model
def test_a_fact_that_a_person_approved_keeps_its_evidence(ledger: Group) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    ledger.refresh_from_db()
    happen(ALIKE, step=timedelta(days=1))
    _, _, run = drive(Promote(), turn_of(ledger))
    fact = Memory.objects.get(type="semantic")
    approve(operator(), fact.id)
    undo_run(operator(), run.id)
    assert fresh(fact).trust == "active"
    assert Link.objects.filter(kind=LinkKind.EVIDENCE, source=fact).count() == 3


def test_an_edited_version_gets_its_confidence_back_and_is_named(ledger: Group) -> None:
    memory = row(ledger, "The gate is green.", confidence=0.7)
    run = run_cycle(operator(), RunPlan(now=day(40)))
    assert fresh(memory).confidence < 0.5
    new = edit(operator(), memory.id, EditDraft(content="The gate is dark green.")).memory
    assert fresh(new).confidence == fresh(memory).confidence
    done = undo_run(operator(), run.id)
    assert (done.versions, done.kept) == ((new.id,), ())
    assert [(row.confidence, row.decayed_at) for row in (fresh(memory), fresh(new))] == [(0.7, None)] * 2


def test_a_later_run_over_an_edited_version_stands_in_the_way(ledger: Group) -> None:
    memory = row(ledger, "The gate is green.", confidence=0.7)
    run = run_cycle(operator(), RunPlan(now=day(40)))
    new = edit(operator(), memory.id, EditDraft(content="The gate is dark green.")).memory
    later = run_cycle(operator(), RunPlan(now=day(60)))
    assert find_later_runs(run) == [later]
    done = undo_run(operator(), run.id, with_later=True)
    assert (fresh(new).confidence, done.versions) == (0.7, (new.id,))


def test_an_empty_run_in_between_hides_no_work_after_an_undo(ledger: Group) -> None:
    """Without that, the events that had been summarised would be forgotten instead."""
    happen(TOMATOES)
    plan = RunPlan(now=day(60), max_share=1)
    first = run_cycle(operator(), plan)
    assert first.counts["compacted"] > 0
    assert run_cycle(operator(), plan).counts == {}
    undo_run(operator(), first.id)
    assert run_cycle(operator(), plan).counts == first.counts


def test_of_two_undos_at_once_one_is_told_that_the_other_did_it(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, run = expired(ledger)
    read = undo.rows_of

    def read_after_the_other(changes: Any) -> Any:
        monkeypatch.setattr(undo, "rows_of", read)
        assert undo_run(operator(), run.id).restored == 1  # what decay did is taken back already
        return read(changes)

    monkeypatch.setattr(undo, "rows_of", read_after_the_other)
    with pytest.raises(Conflict, match="undone by another actor at the same time"):
        undo_run(operator(), run.id)
    assert fresh(memory).state == "live"
