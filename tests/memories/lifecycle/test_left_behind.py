"""What moved memories left in their former group is named, and purged on its own."""

import json
from contextlib import closing
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from access.audit.verify import is_log_whole
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, AuditPayload, Group
from access.tokens import operator
from maintenance.audit_replay import memory_at
from memories.lifecycle.purge import WAL_IS_HELD
from memories.lifecycle.regroup.left_behind import has_moved_away, purge_left_behind
from memories.lifecycle.regroup.move import PartFilter, move, move_memories, move_memories_back
from memories.lifecycle.verbs import dispute, purge
from memories.models import Checkpoint, Memory, RecallLog
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.sessions.checkpoints import save_checkpoint
from memories.sessions.conversations.move import assign
from storage.dialect import dialect
from tests.file_bytes import held_log
from tests.memories.builders import fresh, kept
from tests.memories.lifecycle.test_purge import stored_bytes
from tests.memories.tables import all_rows
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The deploy port of the staging server is 8081."
QUESTION = "Which port does zebrafinch staging deploy on?"  # a word that stands nowhere else


def moved(ledger: Group, garden: Group) -> Memory:
    """A memory that was edited, recalled and quoted in the ledger, and then moved to the garden."""
    memory = kept(operator(), TEXT, group="ledger", scope="group", tags=("ports",))
    recall(operator(), RecallRequest(QUESTION, group="ledger"))
    recall(operator(), RecallRequest("What is unrelated to any of it?", group="garden"))
    COUNTER.flush()
    save_checkpoint(operator(), group="ledger", thread="", state={"text": f"Next: write down that {TEXT}"})
    move(operator(), memory.id, "garden", reason=f"{TEXT} belongs there")
    return fresh(memory)


def held_by(group: Group) -> str:
    """Every log payload, question and checkpoint of a group."""
    payloads = AuditPayload.objects.filter(entry__group=group.id).values_list("payload", flat=True)
    questions = RecallLog.objects.filter(group=group).values_list("query", flat=True)
    states = Checkpoint.objects.filter(group=group).values_list("state", flat=True)
    return json.dumps([*payloads, *questions, *states])


def test_the_text_is_gone_where_it_stayed_and_the_memory_lives_where_it_is(
    ledger: Group, garden: Group
) -> None:
    memory = moved(ledger, garden)
    rows = all_rows()
    would = purge_left_behind(operator(), "ledger", dry_run=True)
    assert (would.memories, would.checkpoints, would.recalls) == (1, 1, 1)
    assert all_rows() == rows
    assert TEXT in held_by(ledger)
    done = purge_left_behind(operator(), "ledger", reason=f"{TEXT} is theirs")
    assert (done.log_payloads, done.recalls, done.checkpoints) == (would.log_payloads, 1, 1)
    assert done.remains == dialect().purge_leaves
    assert TEXT not in held_by(ledger)
    assert "zebrafinch" not in held_by(ledger)
    assert (fresh(memory).group.slug, fresh(memory).content) == ("garden", TEXT)
    assert is_log_whole()
    found = recall(operator(), RecallRequest("What is the deploy port?", group="garden", is_trial=True))
    assert [item.text for item in found.items] == [TEXT]
    cleared = AuditEntry.objects.filter(operation="clear")
    assert cleared.count() == 1
    assert purge_left_behind(operator(), "ledger").log_payloads == 0
    assert cleared.count() == 1  # nothing was left to destroy
    AuditPayload.objects.filter(entry__group=garden.id, entry__memory_id=memory.id).delete()
    assert not is_log_whole()  # what is missing elsewhere is not excused


@pytest.mark.django_db(transaction=True)
def test_no_byte_of_what_only_the_old_group_held_is_left(ledger: Group, garden: Group) -> None:
    moved(ledger, garden)
    assert b"zebrafinch" in stored_bytes()
    purge_left_behind(operator(), "ledger")
    assert b"zebrafinch" not in stored_bytes()
    assert b"Next: write down" in stored_bytes()  # a checkpoint loses the quote alone


def test_the_move_is_still_logged_and_still_undone(ledger: Group, garden: Group) -> None:
    kept(operator(), TEXT, group="ledger", scope="group")
    done = move_memories(operator(), "ledger", to="garden", wanted=PartFilter())
    purge_left_behind(operator(), "ledger")
    moves = AuditEntry.objects.filter(group=ledger.id, operation="move")
    assert [row.payload for row in moves] == [{"moved_to": "garden"}]
    assert move_memories_back(operator(), "ledger", run=str(done.run)).moved == 1
    # It came back: what the ledger holds about it is its own again, and the garden holds what is left.
    assert purge_left_behind(operator(), "ledger", dry_run=True).memories == 0
    assert purge_left_behind(operator(), "garden", dry_run=True).memories == 1


def test_rows_after_the_purge_are_not_excused(ledger: Group, garden: Group) -> None:
    memory = kept(operator(), TEXT, group="ledger", scope="group")
    done = move_memories(operator(), "ledger", to="garden", wanted=PartFilter())
    purge_left_behind(operator(), "ledger")
    move_memories_back(operator(), "ledger", run=str(done.run))
    dispute(operator(), memory.id, reason="is it?")
    assert is_log_whole()
    AuditPayload.objects.filter(entry__group=ledger.id, entry__operation="dispute").delete()
    assert not is_log_whole()


def test_a_past_that_was_purged_is_not_made_up(ledger: Group, garden: Group) -> None:
    memory = kept(operator(), TEXT, group="ledger", scope="group")
    then = timezone.now()
    dispute(operator(), memory.id, reason="is it?")
    move(operator(), memory.id, "garden")
    assert memory_at(operator(), memory.id, then).fields["content"] == TEXT
    purge_left_behind(operator(), "ledger")
    with pytest.raises(NotFound, match="was purged in a group that the memory left"):
        memory_at(operator(), memory.id, then)


def test_only_one_memory_and_only_where_one_may_curate(ledger: Group, garden: Group) -> None:
    first = moved(ledger, garden)
    second = kept(operator(), "Invoices are due in May.", group="ledger", scope="group")
    with pytest.raises(NotFound, match="No memory of that id moved away"):
        purge_left_behind(operator(), "ledger", memory=str(second.id))
    with pytest.raises(InvalidInput) as raised:
        purge_left_behind(operator(), "ledger", memory="x")
    assert raised.value.field == "memory"
    move(operator(), second.id, "garden")
    purge_left_behind(operator(), "ledger", memory=str(second.id))
    assert TEXT in held_by(ledger)
    assert "Invoices" not in held_by(ledger)
    zoe = User.objects.create_user("zoe")
    set_member(operator(), ledger, user=zoe, role="curator")
    curator = person(zoe)
    assert purge_left_behind(curator, "ledger", dry_run=True).elsewhere == 2
    with pytest.raises(NotFound):
        purge_left_behind(curator, "ledger", memory=str(first.id))
    set_member(operator(), ledger, user=zoe, role="contributor")
    with pytest.raises(NotPermitted):
        purge_left_behind(person(zoe), "ledger")


@pytest.mark.sqlite(reason="bytes of the database's file and its write-ahead log")
@pytest.mark.django_db(transaction=True)
def test_a_reader_that_holds_the_log_of_writes_is_named(ledger: Group, garden: Group) -> None:
    kept(operator(), TEXT, group="ledger", scope="group")
    move_memories(operator(), "ledger", to="garden", wanted=PartFilter())
    with closing(connection), held_log():
        assert purge_left_behind(operator(), "ledger", dry_run=True).remains == ()
        assert purge_left_behind(operator(), "ledger").remains == (WAL_IS_HELD,)


def test_a_group_that_a_conversation_left_leads_to_the_purge_too(ledger: Group, garden: Group) -> None:
    turn = kept(operator(), TEXT, group="ledger", scope="group", type="episodic", thread="t")
    assert not has_moved_away(ledger)
    assert turn.thread is not None
    assign(operator(), turn.thread.id, "garden")
    assert (has_moved_away(ledger), has_moved_away(garden)) == (True, False)
    assert purge_left_behind(operator(), "ledger").memories == 1
    assert TEXT not in held_by(ledger)
    assert is_log_whole()


def said(*words: str) -> str:
    out = StringIO()
    call_command("group", *words, stdout=out)
    return out.getvalue()


def test_the_command_previews_and_asks_for_confirmation(ledger: Group, garden: Group) -> None:
    moved(ledger, garden)
    with pytest.raises(CommandError, match="cannot be undone"):
        said("purge-left-behind", "ledger")
    assert "Nothing was changed. This would be destroyed in 'ledger'" in said(
        "purge-left-behind", "ledger", "--dry-run"
    )
    done = json.loads(said("purge-left-behind", "ledger", "--yes", "--json"))
    assert (done["memories"], done["checkpoints"], done["dry_run"]) == (1, 1, False)
    assert TEXT not in held_by(ledger)


def test_the_groups_page_leads_to_the_preview_and_purges(
    ledger: Group, garden: Group, client: Client
) -> None:
    client.force_login(User.objects.create_superuser("owner", password="a-long-password"))
    address = "/admin/groups/ledger/left-behind/"
    assert address not in client.get("/admin/groups/ledger/settings/").content.decode()
    moved(ledger, garden)
    assert address in client.get("/admin/groups/ledger/settings/").content.decode()
    page = client.get(address).content.decode()
    assert "Checkpoints whose quotes are blanked: 1" in page
    assert TEXT in held_by(ledger)
    assert address not in client.get("/admin/groups/garden/settings/").content.decode()
    answer = client.post(address, {"reason": "theirs"}, follow=True)
    assert "Purged in “ledger”" in answer.content.decode()
    assert TEXT not in held_by(ledger)


def test_a_part_moves_and_comes_back_over_rest(ledger: Group, garden: Group, client: Client) -> None:
    client.force_login(User.objects.create_superuser("owner", password="a-long-password"))
    rose = kept(operator(), "Roses are red.", group="ledger", scope="group", tags=("roses",))
    kept(operator(), "Invoices are due in May.", group="ledger", scope="group")
    body = {"to": "garden", "tags": ["Roses "], "reason": "theirs"}  # as people write it
    move_part = "/api/groups/ledger/move-memories"
    would = client.post(move_part, body | {"dry_run": True}, "application/json").json()
    assert (would["moved"], would["run"], fresh(rose).group.slug) == (1, None, "ledger")
    done = client.post(move_part, body, "application/json").json()
    assert (done["from"], done["to"], done["moved"], done["staying"]) == ("ledger", "garden", 1, [])
    assert fresh(rose).group.slug == "garden"
    for field, values in (
        ("types", ["poem"]), ("tags", [" "]), ("tags", [f"t{n}" for n in range(1200)]),
        ("sources", ["\x00"]), ("sources", [f"s{n}" for n in range(40_000)]),
    ):  # fmt: skip
        wrong = client.post(move_part, {"to": "garden", field: values}, "application/json")
        assert (wrong.status_code, wrong.json()["field"]) == (422, field)
    lost = client.post(f"{move_part}/undo", {"run": "x"}, "application/json")
    assert (lost.status_code, lost.json()["field"]) == (422, "run")
    undone = client.post(f"{move_part}/undo", {"run": done["run"]}, "application/json").json()
    assert (undone["undo"], undone["to"], fresh(rose).group.slug) == (True, "ledger", "ledger")
    assert is_log_whole()


def test_a_move_of_which_something_was_purged_does_not_come_back_in_part(
    ledger: Group, garden: Group
) -> None:
    gone = kept(operator(), TEXT, group="ledger", scope="group")
    other = kept(operator(), "Invoices are due in May.", group="ledger", scope="group")
    done = move_memories(operator(), "ledger", to="garden")
    purge(operator(), gone.id, reason="theirs")
    with pytest.raises(Conflict, match="moved on, or purged"):
        move_memories_back(operator(), "ledger", run=str(done.run))
    assert fresh(other).group.slug == "garden"


@pytest.mark.parametrize("field", ["tags", "sources"])
def test_values_that_no_memory_can_have_are_refused_by_name(
    ledger: Group, garden: Group, client: Client, field: str
) -> None:
    client.force_login(User.objects.create_superuser("owner", password="a-long-password"))
    for value in ("a\x00b", "\ud800"):
        body = json.dumps({"to": "garden", field: [value]})
        wrong = client.post("/api/groups/ledger/move-memories", body, "application/json")
        assert (wrong.status_code, wrong.json()["field"]) == (422, field)


def test_tags_narrow_together(ledger: Group, garden: Group) -> None:
    rose = kept(operator(), "Roses are red.", group="ledger", scope="group", tags=("roses", "red"))
    kept(operator(), "Violets are blue.", group="ledger", scope="group", tags=("roses",))
    many = PartFilter(tags=("roses", *(f"tag{number}" for number in range(30))))
    assert move_memories(operator(), "ledger", to="garden", wanted=many).moved == 0
    assert (
        move_memories(operator(), "ledger", to="garden", wanted=PartFilter(tags=("red", "roses"))).moved == 1
    )
    assert fresh(rose).group.slug == "garden"
