"""Every memory's fields at any past time can be rebuilt from the audit log, whatever happened to it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from datetime import timezone as zones
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from access.audit import append
from access.audit.operations import Operation
from access.audit.retention import drop_log
from access.errors import InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry, Group, RowChange
from access.tokens import operator
from maintenance import cycle
from maintenance.audit_replay import REBUILT, memory_at
from maintenance.cycle import RunPlan, run_cycle
from maintenance.cycle.decay import Decay
from maintenance.cycle.recorder import Recorder, step_change
from maintenance.cycle.step import Batch, Turn
from maintenance.cycle.undo import undo_run
from maintenance.models import Run
from memories.draft import Draft, EditDraft
from memories.draft.registry import OLDER_VALUES
from memories.lifecycle.edit import edit
from memories.lifecycle.merge import merge
from memories.lifecycle.restore import restore
from memories.lifecycle.retract import retract
from memories.lifecycle.verbs import approve, dispute, forget, pin, reject, supersede, unpin, verify
from memories.models import Memory
from memories.queries.snapshot import FIELDS, RELATED_ROWS, snapshot
from memories.store import store
from memories.store.bulk import store_many
from storage.changes import changing
from tests.people import agent, person

Remember = Callable[..., Memory]
pytestmark = [pytest.mark.django_db, pytest.mark.model]


@dataclass
class Witness:
    """Records every memory after each step."""

    seen: list[tuple[str, datetime, dict[str, dict[str, Any]]]] = field(default_factory=list)

    def look(self, step: str) -> None:
        rows = Memory.objects.select_related(*RELATED_ROWS)
        truth = {str(row.id): {name: snapshot(row)[name] for name in REBUILT} for row in rows}
        self.seen.append((step, timezone.now(), truth))

    def compare(self) -> int:
        """Rebuild every memory at every recorded time; return the number of comparisons."""
        count = 0
        for step, at, truth in self.seen:
            for id_, fields in truth.items():
                if not Memory.objects.filter(id=id_).exists():
                    continue
                told = memory_at(operator(), id_, at)
                differing = {
                    name: (value, told.fields[name])
                    for name, value in fields.items()
                    if told.fields[name] != value
                }
                assert not differing, f"after '{step}', {fields['content']!r}: (true, rebuilt) {differing}"
                assert told.basis == "log"
                assert told.unsure == ()
                count += 1
        return count


@pytest.fixture
def witness() -> Witness:
    return Witness()


def test_every_field_except_recall_counters_is_rebuilt() -> None:
    assert set(FIELDS) - set(REBUILT) == {"access_count", "last_accessed"}


def test_storing_restating_and_editing(remember: Remember, witness: Witness, ledger: Group) -> None:
    zone = zones(timedelta(hours=2))
    port = remember(
        "The port is 8081",
        tags=("deploy",),
        metadata={"by": "Änne"},
        valid_from=datetime(2026, 1, 5, 8, tzinfo=zone),
        thread="monday",
        source="chat",
        source_ref="7",
    )
    witness.look("store")
    store(
        operator(), Draft("The port is 8081", group="ledger", valid_from=datetime(2026, 1, 5, 6, tzinfo=UTC))
    )
    witness.look("restate")
    edit(operator(), port.id, EditDraft(tags=("deploy", "net"), importance=8, metadata={"by": "bob"}))
    witness.look("edit in place")
    new = edit(operator(), port.id, EditDraft(content="The port is 9090")).memory
    witness.look("new version")
    edit(operator(), new.id, EditDraft(type="procedural"))
    witness.look("another type")
    assert witness.compare() == 1 + 1 + 1 + 2 + 3


def test_curators_changes(remember: Remember, witness: Witness) -> None:
    memory = remember("The queue is called ledger-events")
    steps: list[tuple[str, Callable[[], object]]] = [
        ("pin", lambda: pin(operator(), memory.id)),
        ("unpin", lambda: unpin(operator(), memory.id)),
        ("dispute", lambda: dispute(operator(), memory.id)),
        ("verify", lambda: verify(operator(), memory.id)),
        ("forget", lambda: forget(operator(), memory.id, reason="not needed")),
        ("restore", lambda: restore(operator(), memory.id)),
        ("reject", lambda: reject(operator(), memory.id)),
        ("approve", lambda: approve(operator(), memory.id)),
        ("retract", lambda: retract(operator(), memory.id, reason="it was wrong")),
    ]
    for step, work in steps:
        work()
        witness.look(step)
    assert witness.compare() == 9


def test_superseding(remember: Remember, witness: Witness) -> None:
    old = remember("The port is 8081")
    witness.look("store")
    remember("The port is 9090", supersedes=str(old.id))
    witness.look("store with supersedes")
    first, second = remember("Anna leads billing"), remember("Berta leads the billing team")
    witness.look("two more")
    supersede(operator(), first.id, second.id)
    witness.look("supersede")
    assert witness.compare() == 1 + 2 + 4 + 4


def test_merging(remember: Remember, witness: Witness) -> None:
    kept = remember("Deploys run on Friday evening")
    gone = remember("Every Friday in the evening there is a deploy")
    witness.look("store")
    merge(operator(), gone.id, kept.id)
    witness.look("merge")
    assert witness.compare() >= 4


def test_restoring_a_version_and_superseding_a_retracted_one(remember: Remember, witness: Witness) -> None:
    memory = remember("The port is 8081")
    edit(operator(), memory.id, EditDraft(content="The port is 9090"))
    restore(operator(), memory.id)
    witness.look("former version")
    retract(operator(), memory.id, successor="The port is 7070", reason="a typing error")
    witness.look("retracted with a text")
    wrong = remember("Berta leads the garden")
    forget(operator(), wrong.id)
    witness.look("forgotten")
    retract(operator(), wrong.id, successor="Clara looks after the garden")
    witness.look("what was forgotten gets a successor")
    assert witness.compare() == 2 + 3 + 4 + 5  # restoring a version makes no new row


def test_a_candidate_is_approved(witness: Witness, ledger: Group, alice: Any) -> None:
    ledger.policy = "agents"
    ledger.save()
    machine = agent(alice, groups=[ledger])
    old = store(operator(), Draft("The port is 8081", group="ledger", thread="monday")).memory
    assert old is not None
    candidate = store(machine, Draft("The port is 9090", group="ledger", supersedes=str(old.id))).memory
    assert candidate is not None
    assert candidate.trust == "candidate"
    witness.look("candidate")
    edit(machine, candidate.id, EditDraft(content="The port is 9091"))
    witness.look("edited candidate")
    head = Memory.objects.get(state="live", content="The port is 9091")
    approve(operator(), head.id)
    witness.look("approve")
    waiting = edit(machine, head.id, EditDraft(content="The port is 9092")).memory
    witness.look("queued edit")
    approve(operator(), waiting.id)
    witness.look("approved edit")
    assert witness.compare() == 2 + 3 + 3 + 4 + 4


def test_expired_texts_are_replaced(witness: Witness, ledger: Group) -> None:
    past = timezone.now() - timedelta(days=1)
    for text in ("The port is 8081", "The bridge is closed"):
        store(operator(), Draft(text, group="ledger", valid_to=past))
    witness.look("over already")
    store(operator(), Draft("The port is 8081", group="ledger"))
    witness.look("stored anew")
    store_many(operator(), [Draft("The bridge is closed", group="ledger")])
    witness.look("stored anew in a batch")
    assert witness.compare() == 2 + 3 + 4


def test_a_batch_with_sources_that_change(witness: Witness, ledger: Group) -> None:
    def line(text: str, ref: str) -> Draft:
        return Draft(text, group="ledger", source="notes", source_ref=ref, thread="notes")

    store_many(operator(), [line("The port is 8081", "1"), line("Anna leads billing", "2")])
    witness.look("import")
    store_many(operator(), [line("The port is 9090", "1"), line("Anna leads billing", "3")])
    witness.look("import again")
    assert witness.compare() >= 2 + 3


def test_a_cycle_and_its_undo(remember: Remember, witness: Witness, ledger: Group) -> None:
    decaying = remember("The queue is called ledger-events", confidence=0.8)
    expiring = remember("The bridge is closed", expires_at=timezone.now() + timedelta(milliseconds=1))
    unsure = remember("Perhaps the colour is green", confidence=0.04)
    stored = timezone.now() - timedelta(days=200)
    Memory.objects.filter(pk=unsure.pk).update(created_at=stored)
    entry = AuditEntry.objects.get(memory_id=unsure.id, operation="store").payload_row
    entry.payload["after"]["created_at"] = stored.isoformat()
    entry.save()
    Memory.objects.filter(pk=decaying.pk).update(created_at=stored)
    entry = AuditEntry.objects.get(memory_id=decaying.id, operation="store").payload_row
    entry.payload["after"]["created_at"] = stored.isoformat()
    entry.save()
    witness.look("before")
    first = run_cycle(operator(), RunPlan(now=timezone.now(), max_share=1))
    witness.look("first cycle")
    for row, states in ((decaying, {"live"}), (expiring, {"expired"}), (unsure, {"dormant"})):
        row.refresh_from_db()
        assert {row.state} == states
    assert decaying.confidence < 0.8
    second = run_cycle(operator(), RunPlan(now=timezone.now() + timedelta(days=3)))
    witness.look("second cycle")
    undo_run(operator(), second.id)
    witness.look("second undone")
    undo_run(operator(), first.id)
    witness.look("first undone")
    decaying.refresh_from_db()
    assert decaying.confidence == 0.8
    assert witness.compare() >= 15


def test_a_memory_retired_in_favour_of_another(remember: Remember, witness: Witness, ledger: Group) -> None:
    """As compaction does it, and then its undo."""
    sources = [remember(f"The deploy of {day} failed", type="episodic") for day in ("Monday", "Tuesday")]
    remember("Deploys failed on Monday and Tuesday")
    run = Run.objects.create(kind="cycle", actor="operator", status="done", group=ledger, now=timezone.now())
    witness.look("before")
    with changing(step_change(run.id, "cleanup")), transaction.atomic():
        recorder = Recorder(replace(operator(), run=run.id), run, "cleanup")
        for source in sources:
            recorder.retire(
                Memory.objects.select_related("group").get(pk=source.pk),
                Operation.RUN,
                at=timezone.now(),
                reason="not recalled for long",
                state="dormant",
            )
        recorder.flush()
    witness.look("asleep")
    undo_run(operator(), run.id)
    witness.look("undone")
    assert not Memory.objects.filter(state="dormant").exists()
    assert witness.compare() == 9


def test_without_a_start_in_the_log_the_present_row_is_reverted(remember: Remember) -> None:
    memory = remember("The port is 8081")
    pin(operator(), memory.id)
    before = timezone.now()
    edit(operator(), memory.id, EditDraft(tags=("net",)))
    AuditEntry.objects.filter(memory_id=memory.id, operation="store").delete()
    told = memory_at(operator(), memory.id, before)
    assert (told.basis, told.fields["tags"], told.fields["pinned"]) == ("row", [], True)


def test_a_field_that_the_log_did_not_have_yet_has_its_value_of_that_time(
    remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = remember("The port is 8081")
    payload = AuditEntry.objects.get(memory_id=memory.id, operation="store").payload_row
    del payload.payload["after"]["importance"]
    payload.save()
    assert memory_at(operator(), memory.id, timezone.now()).fields["importance"] is None
    monkeypatch.setitem(OLDER_VALUES, "importance", 5)
    assert memory_at(operator(), memory.id, timezone.now()).fields["importance"] == 5


def test_a_later_entry_with_the_whole_memory_serves_as_well(remember: Remember) -> None:
    memory = remember("The port is 8081")
    before = timezone.now()
    whole = AuditEntry.objects.get(memory_id=memory.id, operation="store").payload["after"]
    remember("The port is 9090", supersedes=str(memory.id))
    AuditEntry.objects.filter(memory_id=memory.id, operation="store").delete()
    entry = AuditEntry.objects.get(memory_id=memory.id, operation="supersede")
    changed = {name: new for name, (_, new) in entry.payload["changes"].items()}
    entry.payload_row.payload = {"before": whole, "after": whole | changed}  # as 0.3.0 logged it
    entry.payload_row.save()
    told = memory_at(operator(), memory.id, before)
    assert (told.basis, told.fields["state"], told.fields["superseded_by"]) == ("log", "live", None)


def test_rows_in_the_chains_of_two_groups_are_replayed_by_their_times(
    remember: Remember, garden: Group
) -> None:
    memory = remember("The port is 8081", importance=5)
    times = [timezone.now()]
    for group, before, after in ((garden, 5, 9), (memory.group, 9, 7), (garden, 7, 3)):
        payload = {"changes": {"importance": [before, after]}}
        append(operator(), Operation.EDIT, memory_id=memory.id, group=group.id, payload=payload)
        times.append(timezone.now())
    Memory.objects.filter(pk=memory.pk).update(importance=3)
    seen = [memory_at(operator(), memory.id, at).fields["importance"] for at in times]
    assert seen == [5, 9, 7, 3]
    assert set(AuditEntry.objects.filter(memory_id=memory.id).values_list("chain", flat=True)) == {
        str(memory.group.id),
        str(garden.id),
    }
    drop_log(operator(), before=times[1])  # the first row of each chain goes
    with pytest.raises(NotFound, match="The log begins on"):
        memory_at(operator(), memory.id, times[0])


def test_times_before_the_retained_log_are_refused(remember: Remember) -> None:
    memory = remember("The port is 8081")
    early = timezone.now()
    pin(operator(), memory.id)
    drop_log(operator(), before=timezone.now())
    with pytest.raises(NotFound, match="The log begins on"):
        memory_at(operator(), memory.id, early)
    assert memory_at(operator(), memory.id, timezone.now()).fields["pinned"] is True


def test_fields_whose_changes_were_deleted_are_unsure(remember: Remember) -> None:
    memory = remember("The port is 8081")
    run_cycle(operator(), RunPlan(now=timezone.now() + timedelta(days=3)))
    assert memory_at(operator(), memory.id, timezone.now()).unsure == ()
    RowChange.objects.all().delete()
    assert memory_at(operator(), memory.id, timezone.now()).unsure == ("confidence", "decayed_at")


def test_a_decay_is_as_old_as_its_batch_not_as_its_row_in_the_log(
    remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waits(Decay):
        def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
            if cursor is not None:
                ann = replace(operator(), name="ann")
                store(ann, Draft("The port is 8081", group="ledger"))  # reinforces it
            return super().next_batch(turn, cursor)

    memory = remember("The port is 8081", confidence=0.5)
    monkeypatch.setitem(cycle.KINDS, "cycle", (Waits(),))
    run_cycle(operator(), RunPlan(now=timezone.now() + timedelta(days=30)))
    memory.refresh_from_db()
    assert memory.confidence > 0.5 * 0.99**29
    assert memory_at(operator(), memory.id, timezone.now()).fields["confidence"] == memory.confidence


def test_impossible_times_are_refused(remember: Remember) -> None:
    memory = remember("The port is 8081")
    with pytest.raises(NotFound, match="was not stored yet"):
        memory_at(operator(), memory.id, memory.created_at - timedelta(seconds=1))
    with pytest.raises(InvalidInput, match="lies in the future"):
        memory_at(operator(), memory.id, timezone.now() + timedelta(days=1))
    with pytest.raises(InvalidInput, match="no time zone"):
        memory_at(operator(), memory.id, datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is refused


def test_the_log_of_a_foreign_group_is_not_shown(garden: Group, bob: Any) -> None:
    def kept(scope: str) -> Memory:
        memory = store(operator(), Draft(f"Tulips, {scope}", group="garden", scope=scope)).memory
        assert memory is not None
        return memory

    now = timezone.now() + timedelta(seconds=0)
    with pytest.raises(NotFound):
        memory_at(person(bob), kept("group").id, now)
    shared = kept("global")
    with pytest.raises(NotPermitted):
        memory_at(person(bob), shared.id, timezone.now())
    assert memory_at(operator(), shared.id, timezone.now()).fields["content"] == "Tulips, global"
