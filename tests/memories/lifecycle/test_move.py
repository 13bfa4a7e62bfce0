"""A memory moves to another group with all that belongs to it, and back."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from access.audit import collecting_rows
from access.audit.verify import is_log_whole
from access.errors import Conflict, GroupNotFound, NotPermitted
from access.groups.members import set_member, set_private
from access.models import AuditEntry, Group
from access.tokens import operator
from maintenance.audit_replay import memory_at
from maintenance.doctor import examine
from memories.draft import Draft, EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.edit import edit
from memories.lifecycle.regroup.move import PartFilter, move, move_memories, move_memories_back
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.lifecycle.verbs import forget, purge, retract
from memories.models import Link, Memory, MovedSource, Piece, Thread
from memories.queries.snapshot import snapshot
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.sessions.checkpoints import save_checkpoint
from memories.store import store
from memories.store.bulk import store_many
from relations.models import EntityAlias, Relation
from tests.memories.builders import fresh, keep, kept
from tests.memories.tables import all_rows
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
ENVIRONMENT = ("driver", "home", "disk", "model", "index model")
TEXT = "The deploy port of the staging server is 8081."
QUESTION = "What is the deploy port of the staging server?"


def found(group: str) -> list[str]:
    answer = recall(operator(), RecallRequest(QUESTION, group=group, is_trial=True))
    return [item.text for item in answer.items]


@pytest.fixture
def memory(ledger: Group, garden: Group) -> Memory:
    return kept(
        operator(), TEXT, group="ledger", scope="group", tags=("ports",), source="wiki", source_ref="p1"
    )


def test_recall_finds_it_in_the_other_group_at_once_and_no_longer_in_the_old_one(memory: Memory) -> None:
    assert (found("ledger"), found("garden")) == ([TEXT], [])
    done = move(operator(), memory.id, "garden", reason="theirs")
    assert (done.changed, done.changes) == (1, {"group": ["ledger", "garden"]})
    assert (found("ledger"), found("garden")) == ([], [TEXT])
    assert (fresh(memory).id, fresh(memory).tags) == (memory.id, ["ports"])
    assert is_log_whole()
    wrong = [f for f in examine(operator()).findings if f.verdict == "wrong" and f.check not in ENVIRONMENT]
    assert wrong == []


def test_former_versions_wordings_and_vectors_go_along(memory: Memory) -> None:
    newer = edit(
        operator(), memory.id, EditDraft(content="The deploy port of the staging server is 8082.")
    ).memory
    pieces = list(Piece.objects.order_by("key").values_list("key", "memory"))
    done = move(operator(), memory.id, "garden")  # by the id of a former version
    assert (done.id, done.changed) == (newer.id, 2)
    assert set(Memory.objects.values_list("group__slug", "version")) == {("garden", 1), ("garden", 2)}
    assert list(Piece.objects.order_by("key").values_list("key", "memory")) == pieces
    assert any("1 former version" in line for line in done.consequences)


def test_both_chains_have_a_row_and_the_replay_knows_the_former_group(memory: Memory, garden: Group) -> None:
    before = fresh(memory).updated_at
    move(operator(), memory.id, "garden", reason="theirs")
    rows = AuditEntry.objects.filter(operation="move", memory_id=memory.id).order_by("key")
    assert [row.group for row in rows] == [memory.group.id, garden.id]
    assert [row.payload["reason"] for row in rows] == ["theirs", "theirs"]
    assert rows[0].payload["moved_to"] == "garden"
    assert memory_at(operator(), memory.id, before).fields["group"] == "ledger"
    assert memory_at(operator(), memory.id, timezone.now()).fields["group"] == "garden"


def test_undo_restores_everything(memory: Memory) -> None:
    threaded = kept(
        operator(), "The gate opens at nine.", group="ledger", scope="group", thread="gates", position=4
    )
    kept(operator(), "The gate shuts at six.", group="garden", scope="group", thread="gates", position=4)
    for row in (memory, threaded):
        before = snapshot(fresh(row)) | {"updated_at": ""}
        with collecting_rows() as written:
            move(operator(), row.id, "garden")
        assert fresh(row).group.slug == "garden"
        undone = undo_write(operator(), undo_id_of(operator(), written))
        assert (undone.undone, undone.consequences) == ("move", ("it is in 'ledger' again",))
        assert snapshot(fresh(row)) | {"updated_at": ""} == before
    assert found("ledger") == [TEXT]
    assert not MovedSource.objects.exists()
    assert is_log_whole()


def test_a_turn_keeps_its_thread_by_name_and_moves_to_its_end_if_its_place_is_taken(
    garden: Group, ledger: Group
) -> None:
    first = kept(operator(), "We open at nine.", group="ledger", scope="group", thread="talk", position=0)
    second = kept(
        operator(), "And we close at six.", group="ledger", scope="group", thread="talk", position=1
    )
    kept(operator(), "Roses are cut in March.", group="garden", scope="group", thread="talk", position=0)
    move(operator(), first.id, "garden")
    talk = Thread.objects.get(group=garden, name="talk")
    assert (fresh(first).thread_id, fresh(first).position) == (talk.key, 1)
    assert "Roses" in fresh(first).context
    assert "nine" not in fresh(second).context, "its neighbour has gone"


def test_a_dry_run_changes_nothing_and_names_what_stays_behind(memory: Memory) -> None:
    recall(operator(), RecallRequest(QUESTION, group="ledger"))
    save_checkpoint(operator(), group="ledger", thread="", state={"facts": [TEXT]})
    COUNTER.flush()
    rows = all_rows()
    done = move(operator(), memory.id, "garden", dry_run=True)
    assert all_rows() == rows
    assert "'ledger' keeps naming it in 1 log row, 1 logged recall, 1 checkpoint" in done.consequences[-1]
    assert "loci group purge-left-behind" in done.consequences[-1]


def test_it_needs_the_right_to_curate_in_both_groups(
    memory: Memory, alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    set_member(operator(), ledger, user=bob, role="curator")
    with pytest.raises(GroupNotFound):
        move(person(bob), memory.id, "garden")
    set_member(operator(), garden, user=bob, role="contributor")
    with pytest.raises(NotPermitted, match="curate in the group 'garden'"):
        move(person(bob), memory.id, "garden")
    set_member(operator(), garden, user=bob, role="curator")
    set_member(operator(), ledger, user=bob, role="contributor")
    with pytest.raises(NotPermitted, match="curate in the group 'ledger'"):
        move(person(bob), memory.id, "garden")
    with pytest.raises(Conflict, match="already"):
        move(operator(), memory.id, "ledger")


def test_what_the_target_has_withdrew_or_bars_stays(memory: Memory, garden: Group) -> None:
    twin = kept(operator(), TEXT, group="garden", scope="group")
    with pytest.raises(Conflict, match=f"the same text is live in 'garden' as {twin.id}"):
        move(operator(), memory.id, "garden")
    retract(operator(), twin.id, reason="wrong")
    with pytest.raises(Conflict, match="its text was retracted in 'garden'"):
        move(operator(), memory.id, "garden")
    other = kept(operator(), "The gate opens at nine.", group="ledger", scope="global")
    set_private(operator(), "garden", private=True)
    with pytest.raises(Conflict, match="it is global, and 'garden' is private"):
        move(operator(), other.id, "garden")
    Group.objects.filter(pk=garden.pk).update(private=False, guard="personal=refuse")
    mail = kept(operator(), "Ask anna.berg@gartenbau-huber.de about roses.", group="ledger", scope="group")
    with pytest.raises(Conflict, match="rules of 'garden' for sensitive text"):
        move(operator(), mail.id, "garden")
    tagged = kept(
        operator(), "Ask Anna about peonies.", group="ledger", scope="group", metadata={"mail": "anna.berg@gartenbau-huber.de"}
    )  # fmt: skip
    with pytest.raises(Conflict, match="rules of 'garden' for sensitive text"):
        move(operator(), tagged.id, "garden")
    forget(operator(), other.id)
    with pytest.raises(Conflict, match="it is forgotten"):
        move(operator(), other.id, "garden")


def test_a_near_duplicate_in_the_target_comes_to_the_review(memory: Memory) -> None:
    near = kept(operator(), "The deploy port of the staging server is 8090.", group="garden", scope="group")
    with collecting_rows() as written:
        done = move(operator(), memory.id, "garden")
    assert "the Review gets 1 link to what is near there" in done.consequences
    link = Link.objects.get()
    assert {link.source_id, link.target_id} == {memory.key, near.key}
    undo_write(operator(), undo_id_of(operator(), written))
    assert not Link.objects.exists()


def test_an_import_of_the_same_source_follows_the_move(memory: Memory, ledger: Group) -> None:
    move(operator(), memory.id, "garden")
    again = Draft(TEXT, group="ledger", scope="group", source="wiki", source_ref="p1")
    changed = Draft(
        "The deploy port of the staging server is 8090.", group="ledger", source="wiki", source_ref="p1"
    )
    assert store_many(operator(), [again]).unchanged == 1
    stored = store(operator(), changed)
    assert (stored.group, stored.superseded) == ("garden", memory.id)
    assert not Memory.objects.filter(group=ledger).exists()
    move(operator(), memory.id, "ledger")
    assert store(operator(), changed).outcome == "unchanged"
    assert set(MovedSource.objects.values_list("group__slug", "to__slug")) == {("garden", "ledger")}


def test_an_import_does_not_write_where_its_token_may_not(memory: Memory, bob: User, ledger: Group) -> None:
    set_member(operator(), ledger, user=bob, role="contributor")
    set_private(operator(), "garden", private=True)
    move(operator(), memory.id, "garden")
    draft = Draft(TEXT, group="ledger", scope="group", source="wiki", source_ref="p1")
    result = store_many(person(bob), [draft])
    assert len(result.refused) == 1
    assert "moved to another group" in result.refused[0].why
    assert "garden" not in result.refused[0].why
    with pytest.raises(NotPermitted, match="moved to another group"):
        store(person(bob), draft)


def test_what_was_purged_after_its_move_does_not_come_back_into_the_old_group(memory: Memory) -> None:
    move(operator(), memory.id, "garden")
    purge(operator(), memory.id, reason="gone")
    assert keep(operator(), TEXT, group="ledger", source="wiki", source_ref="p1").outcome == "refused"


def test_related_entities_move_together_with_names_and_relations(ledger: Group, garden: Group) -> None:
    store_relation(operator(), RelationDraft("Ines", "leads", "Billing", group="ledger"))
    ines, _billing = Memory.objects.filter(type="entity").order_by("key")
    with pytest.raises(Conflict, match="it is related to “Billing”, which stays"):
        move(operator(), ines.id, "garden")
    done = move_memories(operator(), "ledger", to="garden", wanted=PartFilter(types=("entity",)))
    assert (done.moved, done.staying) == (2, ())
    assert Relation.objects.get().group_id == garden.key
    assert set(EntityAlias.objects.values_list("group", flat=True)) == {garden.key}


def test_a_part_of_a_group_moves_and_comes_back(ledger: Group, garden: Group) -> None:
    roses = [
        kept(operator(), f"Rose number {n} is red.", group="ledger", scope="group", tags=("roses",))
        for n in range(3)
    ]
    kept(operator(), "Invoices are due in May.", group="ledger", scope="group")
    twin = kept(operator(), "Rose number 1 is red.", group="garden", scope="group")
    rows = all_rows()
    wanted = PartFilter(tags=("roses",))
    would = move_memories(operator(), "ledger", to="garden", wanted=wanted, dry_run=True)
    assert (would.moved, all_rows()) == (2, rows)
    done = move_memories(operator(), "ledger", to="garden", wanted=wanted, reason="theirs")
    assert (done.moved, done.rows) == (2, 2)
    assert [(each.id, str(twin.id) in each.why) for each in done.staying] == [(roses[1].id, True)]
    assert [fresh(row).group.slug for row in roses] == ["garden", "ledger", "garden"]
    assert list(AuditEntry.objects.filter(operation="group", run=done.run).values_list("group", flat=True)) == [
        ledger.id, garden.id,
    ]  # fmt: skip
    back = move_memories_back(operator(), "ledger", run=str(done.run))
    assert (back.moved, back.target) == (2, "ledger")
    assert Memory.objects.filter(group=ledger).count() == 4
    with pytest.raises(Conflict, match="moved on, or purged"):
        move_memories_back(operator(), "ledger", run=str(done.run))
    assert is_log_whole()


def test_the_command_moves_a_part_in_words_and_as_json(memory: Memory) -> None:
    would = said("group", "move-memories", "ledger", "--to", "garden", "--dry-run")
    assert "1 memory would be in 'garden'" in would
    assert "keeps naming it in 1 log row" in would
    done = json.loads(said("group", "move-memories", "ledger", "--to", "garden", "--json"))
    assert (done["moved"], done["staying"], done["dry_run"]) == (1, [], False)
    assert "1 memory is in 'ledger' again" in said("group", "move-memories", "ledger", "--undo", done["run"])
    with pytest.raises(CommandError, match="--to"):
        said("group", "move-memories", "ledger")
    assert "Would" not in said("memory", "move", str(memory.id), "--to", "garden")
    assert fresh(memory).group.slug == "garden"


def said(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()
