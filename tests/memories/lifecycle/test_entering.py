"""A withdrawn text does not enter a group in what is stored with a memory, whichever way it comes."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.actor import Actor
from access.errors import Conflict
from access.models import Group
from access.tokens import operator
from memories.draft import Draft, EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.edit import edit
from memories.lifecycle.regroup.move import PartFilter, move, move_memories, move_memories_back
from memories.lifecycle.verbs import dispute, forget, purge, restore, retract
from memories.models import Memory, Thread
from memories.sessions.checkpoints import save_checkpoint
from memories.sessions.conversations.change import tag
from memories.sessions.conversations.move import assign
from memories.store import store
from memories.store.bulk import store_many
from tests.memories.builders import fresh, kept
from tests.people import agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "Kestrel is the third boat of the harbour fleet."
SAID = "Tea is served at four."
WITHDRAW: dict[str, Callable[..., object]] = {"retracted": retract, "purged": purge}
LABELS: dict[str, dict[str, Any]] = {
    "metadata": {"metadata": {"notes": ["tea", TEXT.upper()]}},
    "source": {"source": TEXT},
    "source_ref": {"source": "log", "source_ref": TEXT},
    "tags": {"tags": ("tea", TEXT)},
    "anchor_commit": {"anchor_commit": TEXT},
    "thread": {"thread": TEXT},
    "thread that states it": {"thread": f"Note: {TEXT}"},
    "thread in other dress": {"thread": f"** {TEXT[:-1]} **"},
}
# Names that share words with it, or say that it is wrong.
ORDINARY = (
    "Kestrel",
    "harbour fleet",
    "third boat",
    "claude.ai/c-1",
    "The harbour fleet: boats",
    f"It is not true that {TEXT}",
)


@pytest.fixture(params=WITHDRAW)
def withdrawn(alice: User, ledger: Group, garden: Group, request: pytest.FixtureRequest) -> Actor:
    """An agent that may write in both groups, in one of which the text was withdrawn."""
    WITHDRAW[request.param](operator(), kept(operator(), TEXT, group="ledger", scope="group").id)
    return agent(alice)


def by_store(actor: Actor, **fields: Any) -> None:
    store(actor, Draft(SAID, group="ledger", scope="group", **fields))


def by_import(actor: Actor, **fields: Any) -> None:
    [refusal] = store_many(actor, [Draft(SAID, group="ledger", scope="group", **fields)]).refused
    raise Conflict(refusal.why)


def by_move(actor: Actor, **fields: Any) -> None:
    move(operator(), kept(actor, SAID, group="garden", scope="group", **fields).id, "ledger")


def by_move_of_a_part(actor: Actor, **fields: Any) -> None:
    kept(actor, SAID, group="garden", scope="group", **fields)
    moved = move_memories(operator(), "garden", to="ledger", wanted=PartFilter(types=("semantic",)))
    [staying] = moved.staying
    raise Conflict(staying.why)


def by_move_of_another_version(actor: Actor, **fields: Any) -> None:
    memory = kept(actor, "Tea is served at three.", group="garden", scope="group", **fields)
    move(operator(), edit(operator(), memory.id, EditDraft(content=SAID)).memory.id, "ledger")


WAYS = [by_store, by_import, by_move, by_move_of_another_version, by_move_of_a_part]
# The source of a former text stays with it, which bars what was purged alone.
CASES = [case for case in product(WAYS, LABELS) if case != (by_move_of_another_version, "source_ref")]


@pytest.mark.parametrize(("way", "label"), CASES)
def test_no_label_brings_it(withdrawn: Actor, way: Callable[..., None], label: str) -> None:
    with pytest.raises(Conflict, match=rf"'{label.split()[0]}.*repeats a"):
        way(withdrawn, **LABELS[label])
    assert not Memory.objects.filter(group__slug="ledger", state="live").exists()


def thread_by_checkpoint(actor: Actor, thread: str) -> None:
    save_checkpoint(actor, group="ledger", thread=thread, state={"done": "tests"})


def thread_by_store(actor: Actor, thread: str) -> None:
    by_store(actor, thread=thread)


def thread_by_move(actor: Actor, thread: str) -> None:
    by_move(actor, thread=thread)


def thread_by_conversation(actor: Actor, thread: str) -> None:
    kept(actor, SAID, group="garden", scope="group", thread=thread, type="episodic")
    assign(operator(), Thread.objects.get(name=thread).id, "ledger")


def thread_by_undo(actor: Actor, thread: str) -> None:
    memory = kept(actor, SAID, group="garden", scope="group", thread=thread)
    forget(operator(), memory.id)
    Memory.objects.filter(pk=memory.pk).update(group=Group.objects.get(slug="ledger"))
    Thread.objects.update(group=Group.objects.get(slug="ledger"))
    restore(operator(), memory.id)


THREADS = [thread_by_checkpoint, thread_by_store, thread_by_move, thread_by_conversation, thread_by_undo]


@pytest.mark.parametrize("way", THREADS)
@pytest.mark.parametrize("thread", [TEXT, f"Note: {TEXT}", f"** {TEXT[:-1]} **"])
def test_the_name_of_a_thread_does_not_state_it(
    withdrawn: Actor, way: Callable[..., None], thread: str
) -> None:
    with pytest.raises(Conflict, match="repeats a"):
        way(withdrawn, thread)


@pytest.mark.parametrize("way", THREADS)
@pytest.mark.parametrize("thread", ORDINARY)
def test_an_ordinary_name_of_a_thread_is_taken(
    withdrawn: Actor, way: Callable[..., None], thread: str
) -> None:
    way(withdrawn, thread)


def with_title(thread: Thread) -> None:
    Thread.objects.filter(pk=thread.pk).update(title=f"Note: {TEXT}")


def with_tag(thread: Thread) -> None:
    tag(operator(), thread.id, [TEXT])


def with_checkpoint(thread: Thread) -> None:
    save_checkpoint(operator(), group="garden", thread=thread.name, state={"next": f"Tea. {TEXT}"})


def with_metadata(thread: Thread) -> None:
    kept(operator(), "Ben asks.", group="garden", thread=thread.name, type="episodic", metadata={"a": TEXT})


def with_dispute(thread: Thread) -> None:
    dispute(operator(), Memory.objects.get(thread=thread).id, reason=TEXT)


@pytest.mark.parametrize("with_it", [with_title, with_tag, with_checkpoint, with_metadata, with_dispute])
def test_a_conversation_does_not_bring_it(withdrawn: Actor, with_it: Callable[[Thread], None]) -> None:
    kept(withdrawn, SAID, group="garden", scope="group", thread="standup", type="episodic")
    thread = Thread.objects.get()
    with_it(thread)
    with pytest.raises(Conflict, match="repeats a text that was withdrawn in 'ledger'"):
        assign(operator(), thread.id, "ledger")
    assert not Memory.objects.filter(group__slug="ledger", state="live").exists()


def test_the_title_of_a_thread_does_not_go_along(withdrawn: Actor) -> None:
    memory = kept(withdrawn, SAID, group="garden", scope="group", thread="standup")
    with_title(Thread.objects.get())
    with pytest.raises(Conflict, match="'title'"):
        move(operator(), memory.id, "ledger")


def test_a_reason_does_not_go_along(withdrawn: Actor) -> None:
    memory = kept(withdrawn, SAID, group="garden", scope="group")
    dispute(operator(), memory.id, reason=TEXT)
    with pytest.raises(Conflict, match="'reason'"):
        move(operator(), memory.id, "ledger")


def test_a_relation_that_states_it_stays_with_its_ends(withdrawn: Actor) -> None:
    draft = RelationDraft("Kestrel", "is the third boat of", "the harbour fleet", group="garden")
    store_relation(withdrawn, draft)
    store_relation(withdrawn, RelationDraft("Ben", "owns", "Kestrel House", group="garden"))
    moved = move_memories(operator(), "garden", to="ledger")
    assert moved.moved == 2
    assert ["'predicate" in each.why for each in moved.staying] == [True, True]


def test_an_undo_does_not_bring_a_relation_back_that_states_it(
    alice: User, ledger: Group, garden: Group
) -> None:
    draft = RelationDraft("Kestrel", "is the third boat of", "the harbour fleet", group="ledger")
    store_relation(operator(), draft)
    moved = move_memories(operator(), "ledger", to="garden")
    retract(operator(), kept(operator(), TEXT, group="ledger", scope="group").id)
    with pytest.raises(Conflict, match="repeats a withdrawn text"):
        move_memories_back(operator(), "ledger", run=str(moved.run))


def test_a_former_version_moves_with_a_text_that_was_retracted_but_not_purged(
    withdrawn: Actor, request: pytest.FixtureRequest
) -> None:
    memory = kept(withdrawn, TEXT, group="garden", scope="group")
    newer = edit(operator(), memory.id, EditDraft(content=SAID)).memory
    if "purged" in request.node.callspec.id:
        with pytest.raises(Conflict, match="its text was purged in 'ledger'"):
            move(operator(), newer.id, "ledger")
    else:
        move(operator(), newer.id, "ledger")
        assert fresh(memory).group.slug == "ledger"
