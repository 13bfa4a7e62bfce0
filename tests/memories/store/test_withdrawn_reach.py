"""The reach of a withdrawn text, cell by cell: verb × its scope × where it is said again; and texts without a review."""

from collections.abc import Callable
from datetime import datetime
from itertools import product

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.actor import Actor
from access.errors import Conflict
from access.groups import GroupChange, update_group
from access.models import AuditEntry, Group
from access.tokens import operator
from access.visibility import Narrowing
from maintenance.embeddings.backfill import embed_owed, is_owed
from memories.browse.suggest import suggest
from memories.draft import Draft
from memories.lifecycle.purge.lift_tombstone import lift_tombstones
from memories.lifecycle.verbs import approve, purge, reject, retract
from memories.models import Link, Memory, Tombstone, Unprobed
from memories.models.short_id import short_id
from memories.recall import RecallRequest, recall
from memories.sessions.checkpoints import save_checkpoint
from memories.sessions.context_pack import get_context
from memories.store import store
from memories.store.withdrawn.tombstones import bars
from memories.types import Scope
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "Kestrel is the third boat of the harbour fleet."
SAID = {
    "exact": TEXT.upper(),
    "dress": f"- **{TEXT[:-1]}** 🏗️",
    "inside": f"Ann: {TEXT}",
    "near": "Kestrel is the harbour fleet's third boat.",
}
VERBS: dict[str, Callable[..., object]] = {"rejected": reject, "retracted": retract, "purged": purge}
# What becomes of it, by how it is said: of a purged text no vector is left, so nothing can be near it.
OUTCOMES = {"exact": "refused", "dress": "queued", "inside": "queued", "near": "queued"}
# Where it is said again (the group, and the scope there): is it barred, by the scope of the withdrawn text?
BARRED = {
    ("ledger", Scope.GROUP): {Scope.GROUP: True, Scope.GLOBAL: True},
    ("ledger", Scope.GLOBAL): {Scope.GROUP: True, Scope.GLOBAL: True},
    ("garden", Scope.GROUP): {Scope.GROUP: False, Scope.GLOBAL: False},
    ("garden", Scope.GLOBAL): {Scope.GROUP: False, Scope.GLOBAL: True},
}


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize(("place", "scope", "kind"), [*product(BARRED, Scope, VERBS)])
def test_every_cell_of_the_table(
    alice: User,
    ledger: Group,
    garden: Group,
    place: tuple[str, Scope],
    scope: Scope,
    kind: str,
    said: str,
) -> None:
    memory = kept(person(alice), TEXT, group="ledger", scope=scope)
    VERBS[kind](person(alice), memory.id, reason="wrong")
    slug, said_scope = place
    is_barred = BARRED[place][scope]
    is_near_nothing = (said, kind) == ("near", "purged")
    outcome = OUTCOMES[said] if is_barred and not is_near_nothing else "created"
    stored = keep(agent(alice), SAID[said], group=slug, scope=said_scope, type="procedural")
    assert stored.outcome == outcome, stored
    assert bars(scope, is_own=slug == "ledger", scope=said_scope) is is_barred
    if outcome == "queued" and kind != "purged":
        assert Link.objects.filter(kind="conflict", source=stored.memory, target=memory).exists()
    in_ledger = recall(person(alice), RecallRequest("What is Kestrel?", group="ledger")).items
    assert not [item for item in in_ledger if said in ("exact", "dress")]


def test_elsewhere_a_refusal_names_neither_reason_author_nor_id(
    alice: User, charlie: User, ledger: Group
) -> None:
    memory = kept(person(alice), TEXT, group="ledger", scope="global")
    retract(person(alice), memory.id, reason="the boat is rented")
    Group.objects.create(slug="attic").memberships.create(user=charlie, role="contributor")
    for text in SAID.values():
        stored = keep(agent(charlie), text, group="attic", scope="global")
        assert stored.outcome in ("refused", "queued")
        for secret in ("rented", "alice", str(memory.id)):
            assert secret not in stored.why
    assert not AuditEntry.objects.filter(operation="refuse", memory_id=memory.id).exists()
    assert "rented" in keep(agent(alice), TEXT, group="ledger").why


@pytest.mark.parametrize("text", ["👍", "🎉", "?!"])
def test_nobody_owns_a_text_without_letters(alice: User, ledger: Group, text: str) -> None:
    reject(person(alice), kept(person(alice), "👍", group="ledger", type="episodic").id)
    assert not Tombstone.objects.exists()
    assert keep(agent(alice), text, group="ledger", type="episodic").outcome == "created"


def test_approving_a_rejected_text_lifts_its_tombstone(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    reject(person(alice), memory.id)
    assert keep(agent(alice), TEXT, group="ledger", scope="group").outcome == "refused"
    approve(person(alice), memory.id)
    assert Tombstone.objects.get().lifted_at is not None
    assert keep(agent(alice), TEXT, group="ledger").outcome == "reinforced"


def test_recall_leaves_it_out_whoever_holds_it_and_however_it_is_dressed(
    alice: User, ledger: Group, garden: Group
) -> None:
    memory = kept(person(alice), TEXT, group="ledger", scope="group")
    other = kept(person(alice), SAID["dress"], group="garden", scope="global", type="procedural")
    before = timezone.now()
    retract(person(alice), memory.id)
    after = timezone.now()

    def told(group: str, **moments: datetime) -> list[Memory]:
        answer = recall(
            person(alice), RecallRequest("What is Kestrel?", group=group, narrowing=Narrowing(**moments))
        )
        return [item.memory for item in answer.items + answer.nearest]

    assert told("ledger") == told("ledger", as_of=after) == told("ledger", known_at=after) == []
    assert other in told("ledger", known_at=before)
    assert told("garden", as_of=after) == [other]
    assert suggest(person(alice), "Kestrel", group="garden")[0].memory == other
    assert other not in [each.memory for each in suggest(person(alice), "Kestrel", group="ledger")]
    assert told("garden") == [other]
    Memory.objects.filter(key=other.key).update(pinned=True)
    assert short_id(other.id) not in get_context(person(alice), group="ledger").text
    assert short_id(other.id) in get_context(person(alice), group="garden").text
    lift_tombstones(person(alice), memory.id)
    assert told("ledger") == [other]


@pytest.fixture
def withdrawn(alice: User, ledger: Group) -> Actor:
    purge(person(alice), kept(person(alice), TEXT, group="ledger").id)
    return person(alice)


def test_a_checkpoint_is_refused_with_the_path(withdrawn: Actor) -> None:
    state = {"done": "tests", "notes": ["Ask Ben.", f"Mind this: no.\n{SAID['dress']}\nThen go on."]}
    with pytest.raises(Conflict, match=r"state\.notes\[1\]"):
        save_checkpoint(withdrawn, group="ledger", thread="", state=state)
    with pytest.raises(Conflict, match="thread"):
        save_checkpoint(withdrawn, group="ledger", thread=TEXT, state={"done": "tests"})
    assert save_checkpoint(withdrawn, group="ledger", thread="", state={"done": "tests"}).count == 1


def test_instructions_titles_and_names_of_threads_are_refused(withdrawn: Actor, ledger: Group) -> None:
    for change in (GroupChange(instructions=f"Be kind. {TEXT}"), GroupChange(title=TEXT)):
        with pytest.raises(Conflict, match="repeats a withdrawn text"):
            update_group(withdrawn, "ledger", change)
    with pytest.raises(Conflict, match="'thread' repeats"):
        store(withdrawn, Draft("Another text.", group="ledger", thread=TEXT))
    assert not Memory.objects.exists()


@pytest.mark.parametrize(
    ("text", "trust"),
    [("Kestrel is the harbour fleet's third boat.", "candidate"), ("Tea is at four.", "active")],
)
def test_a_text_without_a_vector_waits_until_it_was_compared(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch, text: str, trust: str
) -> None:
    wrong = kept(person(alice), TEXT, group="ledger")
    retract(person(alice), wrong.id)
    with monkeypatch.context() as patch:
        patch.setattr("memories.store.prepare.available_encoder", lambda: None)
        stored = keep(agent(alice), text, group="ledger")
    assert stored.outcome == "queued"
    assert stored.memory is not None
    assert Unprobed.objects.filter(memory=stored.memory).exists()
    assert is_owed()
    embed_owed(operator())
    assert fresh(stored.memory).trust == trust
    assert not Unprobed.objects.exists()
    assert Link.objects.filter(source=stored.memory, target=wrong).exists() == (trust == "candidate")
