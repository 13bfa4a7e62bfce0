"""A group holds so many live memories and bytes of text; what leaves it makes room, and two writers do not share the last place."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from access.audit import collecting_rows
from access.errors import GroupFull, InvalidInput, LociError, NotPermitted
from access.groups import GroupChange, create_group, update_group
from access.groups.members import set_member
from access.limits.quota import use_of
from access.models import Group
from access.tokens import operator
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.regroup.move import move_memories
from memories.lifecycle.restore import restore
from memories.lifecycle.retract import retract
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.lifecycle.verbs import forget, move, purge
from memories.models import Memory
from memories.review.stats import memory_stats
from memories.search.base import search_index
from memories.search.schema import fill_group_use
from memories.store import store
from memories.store.bulk import store_many
from tests.loci_site.api.conftest import Caller
from tests.people import alice, bob, ledger, make_token, person

__all__ = ["alice", "bob", "ledger"]
pytestmark = pytest.mark.django_db


def text(number: int) -> Draft:
    """A text of 31 bytes."""
    return Draft(f"The größe of machine {number:03} is 7", group="ledger")


def limit(group: Group, *, memories: int = 0, size: int = 0) -> None:
    update_group(operator(), group.slug, GroupChange(max_memories=memories, max_bytes=size))


def held(group: Group) -> tuple[int, int]:
    """What the group holds, counted anew and by the triggers."""
    rows = [row.content for row in Memory.objects.filter(group=group, state="live")]
    use = use_of(group)
    assert (use.memories, use.bytes) == (len(rows), sum(len(row.encode()) for row in rows))
    return use.memories, use.bytes


def test_a_full_group_refuses_and_says_who_can_change_it(ledger: Group) -> None:
    limit(ledger, memories=2)
    kept = [store(operator(), text(number)).memory for number in range(2)]
    with pytest.raises(GroupFull) as refusal:
        store(operator(), text(2))
    assert refusal.value.as_dict() == {
        "code": "group_full",
        "message": "The group 'ledger' holds 2 of at most 2 memories, and this would add 1.",
        "hint": "Retract, forget or purge memories to make room. An admin of all groups can change the limit:"
        " loci group update ledger --max-memories N.",
        "field": "group",
    }
    assert store(operator(), text(1)).outcome == "reinforced"  # takes no room
    assert kept[1] is not None
    assert store(operator(), replace(text(7), supersedes=kept[1].id)).outcome == "created"
    assert held(ledger) == (2, 62)


def test_bytes_are_counted_in_utf8(ledger: Group) -> None:
    assert len(text(0).content.encode()) == 31
    limit(ledger, size=61)
    store(operator(), text(0))
    with pytest.raises(GroupFull, match="31 of at most 61 bytes of text, and this would add 31"):
        store(operator(), text(1))
    limit(ledger, size=62)
    store(operator(), text(1))
    assert held(ledger) == (2, 62)


def test_the_instance_has_a_default_and_a_group_a_limit_of_its_own(ledger: Group, settings: Settings) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, group_memories=1))
    store(operator(), text(0))
    with pytest.raises(GroupFull):
        store(operator(), text(1))
    limit(ledger, memories=2)
    store(operator(), text(1))
    with pytest.raises(GroupFull):
        store(operator(), text(2))


def test_an_import_stores_what_has_room(ledger: Group) -> None:
    limit(ledger, memories=300)
    done = store_many(operator(), [text(number) for number in range(400)])
    assert (done.created, len(done.refused)) == (300, 100)
    assert [refusal.index for refusal in done.refused] == list(range(300, 400))
    assert "holds 300 of at most 300 memories" in done.refused[0].why
    assert held(ledger) == (300, 300 * 31)


def test_what_leaves_makes_room(ledger: Group) -> None:
    limit(ledger, memories=1)

    def stored(number: int) -> Memory:
        memory = store(operator(), text(number)).memory
        assert memory is not None
        return memory

    for number, leave in enumerate((forget, retract, purge)):
        memory = stored(number)
        with pytest.raises(GroupFull):
            stored(100 + number)
        leave(operator(), memory.id, reason="makes room")
    assert held(ledger) == (0, 0)
    with collecting_rows() as rows:
        stored(9)
        undo_write(operator(), undo_id_of(operator(), rows))
    gone = stored(10)
    forget(operator(), gone.id, reason="makes room")
    stored(11)
    with pytest.raises(GroupFull):
        restore(operator(), gone.id)
    assert held(ledger) == (1, 31)


def test_what_comes_back_needs_room_too(ledger: Group) -> None:
    """Restores, undos and redos, each into a group that was filled meanwhile."""

    def offered(write: Callable[[], object]) -> str:
        with collecting_rows() as rows:
            write()
            return undo_id_of(operator(), rows)

    def stored(number: int) -> Memory:
        memory = store(operator(), text(number)).memory
        assert memory is not None
        return memory

    limit(ledger, memories=3)
    forgotten, retracted, moved = (stored(number) for number in range(3))
    create_group(operator(), "garden")
    undos = [
        offered(lambda: forget(operator(), forgotten.id)),
        offered(lambda: retract(operator(), retracted.id)),
        offered(lambda: move(operator(), moved.id, "garden")),
    ]
    redo = offered(lambda: undo_write(operator(), offered(lambda: stored(3))))
    for number in range(10, 13):
        stored(number)
    for id_ in (*undos, redo):
        with pytest.raises(GroupFull, match="holds 3 of at most 3 memories, and this would add 1"):
            undo_write(operator(), id_)
    with pytest.raises(GroupFull):
        restore(operator(), forgotten.id)
    assert held(ledger) == (3, 93)
    limit(ledger, memories=7)
    for id_ in (*undos, redo):
        undo_write(operator(), id_)
    assert held(ledger) == (7, 217)


def test_an_edit_takes_the_room_that_it_adds(ledger: Group) -> None:
    memory = store(operator(), text(0)).memory
    assert memory is not None
    limit(ledger, size=20)  # the group is over it already
    longer = EditDraft(content=f"{text(0).content} and that is long")
    with pytest.raises(GroupFull, match="holds 31 of at most 20 bytes of text, and this would add 17"):
        edit(operator(), memory.id, longer)
    limit(ledger, size=48)
    edit(operator(), memory.id, longer)
    with collecting_rows() as rows:
        edit(operator(), memory.id, EditDraft(content="It is short."))
    limit(ledger, size=20)
    with pytest.raises(GroupFull):
        undo_write(operator(), undo_id_of(operator(), rows))
    assert held(ledger) == (1, 12)


def test_a_move_needs_room_in_the_other_group(ledger: Group) -> None:
    garden = create_group(operator(), "garden")
    for number in range(3):
        store(operator(), text(number))
    limit(garden, memories=2)
    with pytest.raises(GroupFull, match="'garden' holds 0 of at most 2 memories, and this would add 3"):
        move_memories(operator(), "ledger", to="garden")
    limit(garden, memories=3)
    move_memories(operator(), "ledger", to="garden")
    assert (held(ledger), held(garden)) == ((0, 0), (3, 93))


def test_the_repair_of_the_indexes_counts_anew(ledger: Group) -> None:
    store(operator(), text(0))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE group_use SET live = 9")
    search_index().rebuild()
    assert held(ledger) == (1, 31)
    fill_group_use(connection)
    assert held(ledger) == (1, 31)


def test_only_an_admin_of_all_groups_sets_limits(alice: User, bob: User, ledger: Group) -> None:
    set_member(operator(), ledger, user=bob, role="admin")
    update_group(person(bob), "ledger", GroupChange(title="Books"))
    with pytest.raises(NotPermitted, match="Only an admin of all groups") as refusal:
        update_group(person(bob), "ledger", GroupChange(max_bytes=5))
    assert refusal.value.field == "max_bytes"
    with pytest.raises(InvalidInput, match="max_bytes must be between 0 and 1,000,000,000,000"):
        update_group(operator(), "ledger", GroupChange(max_bytes=-1))


def test_the_page_and_the_statistics_show_the_share(alice: User, ledger: Group) -> None:
    limit(ledger, memories=4)
    store(operator(), text(0))
    assert memory_stats(operator(), group="ledger").use == {
        "memories": 1, "bytes": 31, "max_memories": 4, "max_bytes": 0, "share": 0.25,
    }  # fmt: skip
    owner = Client()
    owner.force_login(alice)
    page = owner.get("/admin/groups/ledger/settings/").content.decode()
    assert "live memories: 1, text: 31" in page
    assert "25% of its limit" in page
    assert 'name="max_memories"' in page


def test_rest_refuses_with_a_conflict(bob: User, ledger: Group) -> None:
    limit(ledger, memories=1)
    caller = Caller(make_token(bob)[1])
    caller.store("The port is 8081.", status=201)
    assert caller.store("The host is shire.", status=409)["code"] == "group_full"
    assert caller.get("/stats?group=ledger")["use"]["share"] == 1.0


def test_a_group_without_a_limit_costs_no_query(ledger: Group) -> None:
    store(operator(), text(0))
    with CaptureQueriesContext(connection) as free:
        store(operator(), text(1))
    limit(ledger, memories=9)
    with CaptureQueriesContext(connection) as limited:
        store(operator(), text(2))
    assert [sum("FROM group_use" in query["sql"] for query in found) for found in (free, limited)] == [0, 1]


@pytest.mark.django_db(transaction=True)
def test_two_writers_at_once_stay_within_the_limit(ledger: Group) -> None:
    limit(ledger, memories=10)
    refused: list[LociError] = []

    def write(writer: int) -> None:
        try:
            for number in range(10):
                try:
                    store(operator(), text(100 * writer + number))
                except GroupFull as error:
                    refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (held(ledger)[0], len(refused)) == (10, 20)
