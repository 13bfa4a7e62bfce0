"""Undo restores the exact state before a run, and leaves rows that were changed since."""

from typing import Any

import pytest

from access.audit.verify import is_log_whole
from access.errors import Conflict, InvalidInput, NotFound
from access.models import AuditEntry, AuditPayload, Group, RowChange
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle, undo
from maintenance.cycle.recorder import step_change
from maintenance.cycle.undo import find_run, preview_undo, undo_run
from maintenance.models import Run
from memories.lifecycle import verbs
from memories.lifecycle.undo import large
from memories.models import Memory, Thread
from memories.store.threads import refresh_around
from relations.models import Relation
from storage.changes import changing
from tests.maintenance.state import index_faults, whole_state
from tests.memories.builders import add_piece, day, fresh, row, unit_vector

pytestmark = pytest.mark.django_db


def filled(group: Group) -> list[Memory]:
    """Store memories in one thread, some of which a run at day 120 decays, expires and forgets."""
    thread = Thread.objects.create(group=group, name="talk")
    rows = [
        row(group, "until tomorrow", expires_at=day(1), thread=thread, position=0),
        row(group, "an old doubt", confidence=0.04, thread=thread, position=1),
        row(group, "a fact that stays", confidence=0.8, thread=thread, position=2),
        row(group, "pinned", pinned=True, thread=thread, position=3),
    ]
    for number, memory in enumerate(rows):
        add_piece(memory, unit_vector(number))
    for memory in rows:
        from_now = Memory.objects.get(pk=memory.pk)
        refresh_around([from_now])
    return rows


def state() -> dict[str, Any]:
    """The whole state but for the moment of the last write."""
    found = whole_state()
    for each in found["memories_memory"].values():
        each.pop("updated_at")
    return found


def cycle(at: int = 120) -> Run:
    return run_cycle(operator(), RunPlan(now=day(at)))


def test_undo_without_later_writes_restores_rows_and_indexes_exactly(ledger: Group) -> None:
    filled(ledger)
    before = state()
    run = cycle()
    assert state() != before
    done = undo_run(operator(), run.id)
    assert state() == before
    assert index_faults() == []
    assert (done.restored, done.deleted, done.kept) == (5, 0, ())
    assert Run.objects.get().status == "undone"


def test_undo_is_logged_and_the_log_stays_intact(ledger: Group) -> None:
    memory = filled(ledger)[0]
    run = cycle()
    undo_run(operator(), run.id)
    told = AuditEntry.objects.filter(memory_id=memory.id).order_by("seq").last()
    assert told is not None
    assert AuditPayload.objects.get(entry=told).payload["changes"]["state"] == ["expired", "live"]
    assert is_log_whole()


def test_rows_changed_since_are_skipped_and_listed(ledger: Group) -> None:
    expired, doubt, fact, _ = filled(ledger)
    run = cycle()
    verbs.restore(operator(), doubt.id)
    touched = fresh(doubt)
    done = undo_run(operator(), run.id)
    assert {kept.id for kept in done.kept} == {str(doubt.id)}
    assert done.kept
    assert fresh(doubt).state == touched.state
    assert fresh(expired).state == "live"
    assert fresh(fact).confidence == 0.8


def test_force_restores_rows_changed_since(ledger: Group) -> None:
    _, doubt, _, _ = filled(ledger)
    run = cycle()
    Memory.objects.filter(pk=doubt.pk).update(confidence=0.5)
    undo_run(operator(), run.id, force=True)
    assert fresh(doubt).confidence == 0.04
    assert fresh(doubt).state == "live"


def test_later_runs_over_the_same_memories_are_undone_first(ledger: Group) -> None:
    filled(ledger)
    before = state()
    first, second = cycle(120), cycle(130)
    with pytest.raises(Conflict, match=str(second.id)):
        undo_run(operator(), first.id)
    done = undo_run(operator(), first.id, with_later=True)
    assert done.earlier == (second.id,)
    assert state() == before


def test_a_later_run_over_other_memories_does_not_matter(ledger: Group, garden: Group) -> None:
    filled(ledger)
    row(garden, "elsewhere", expires_at=day(1))
    first = run_cycle(operator(), RunPlan(group=ledger, now=day(120)))
    run_cycle(operator(), RunPlan(group=garden, now=day(120)))
    assert undo_run(operator(), first.id).restored == 5
    assert Memory.objects.get(content="elsewhere").state == "expired"


def test_a_second_undo_is_refused(ledger: Group) -> None:
    filled(ledger)
    run = cycle()
    undo_run(operator(), run.id)
    with pytest.raises(Conflict, match="already"):
        undo_run(operator(), run.id)


def test_an_interrupted_undo_resumes(ledger: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(ledger)
    before = state()
    run = cycle()
    monkeypatch.setattr(large, "ROWS_AT_ONCE", 1)
    calls, real = list[int](), undo.reverse

    def stumbling(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(undo, "reverse", stumbling)
    with pytest.raises(KeyboardInterrupt):
        undo_run(operator(), run.id)
    monkeypatch.setattr(undo, "reverse", real)
    assert RowChange.objects.exclude(undone_by=None).count() == 2  # the batch of decay, and one row
    undo_run(operator(), run.id)
    assert state() == before


def test_a_memory_that_the_run_made_is_hidden_unless_it_is_in_use(ledger: Group) -> None:
    run = Run.objects.create(kind="cycle", status="done", actor="job/cycle")
    with changing(step_change(run.id, "compact")):
        made, tied = row(ledger, "made"), row(ledger, "made and used", type="entity")
    old = row(ledger, "old", type="entity")
    Relation.objects.create(group=ledger, subject=old, predicate="knows", object=tied)
    done = undo_run(operator(), run.id)
    assert (fresh(made).state, fresh(tied).state) == ("forgotten", "live")
    assert [kept.id for kept in done.kept] == [str(tied.id)]
    assert "a relation leads to it" in done.kept[0].why


def test_a_text_that_is_live_again_is_not_restored_twice(ledger: Group) -> None:
    old = row(ledger, "until tomorrow", expires_at=day(1))
    run = cycle(2)
    row(ledger, "until tomorrow")
    done = undo_run(operator(), run.id)
    assert fresh(old).state == "expired"
    assert ["The same text is live" in kept.why for kept in done.kept] == [True]


def test_a_run_is_found_by_a_part_of_its_id(ledger: Group) -> None:
    run = cycle(1)
    assert find_run(operator(), str(run.id)[-6:]) == run
    with pytest.raises(NotFound):
        find_run(operator(), "ffff0000ffff")
    cycle(2)
    with pytest.raises(InvalidInput, match="2 runs"):
        find_run(operator(), str(run.id)[:3])


@pytest.mark.django_db(transaction=True)
def test_a_preview_equals_the_undo(ledger: Group) -> None:
    filled(ledger)
    run = cycle()
    after = state()
    preview = preview_undo(operator(), run.id)
    assert state() == after
    assert preview.dry_run
    done = undo_run(operator(), run.id)
    assert (preview.restored, preview.deleted, preview.kept) == (done.restored, done.deleted, done.kept)
