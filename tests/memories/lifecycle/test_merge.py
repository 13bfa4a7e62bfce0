"""Two memories become one: both stay as history, all references move, and everything can be undone."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.audit.verify import is_log_whole
from access.errors import Conflict, NotFound, NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import forget, merge, move, purge, restore, retract
from memories.models import Link, LinkKind, Memory
from memories.queries.versions import head_of
from memories.recall import RecallRequest, recall
from tests.memories.builders import fresh, keep, kept
from tests.memories.tables import all_rows
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

ONE, TWO = "The ledger is served from Hamburg.", "Production of the ledger stands in a rack in Hamburg."
BOTH = "Production of the ledger is served from a rack in Hamburg."


@pytest.fixture
def pair(alice: User, ledger: Group) -> tuple[Memory, Memory]:
    """Two facts that say nearly the same."""
    first = kept(person(alice), ONE, group="ledger", tags=("hosting", "ops"), confidence=0.9, importance=3)
    second = kept(person(alice), TWO, group="ledger", tags=("rack", "ops"), confidence=0.6, importance=8)
    Memory.objects.filter(pk=first.pk).update(access_count=4, pinned=True, last_accessed=first.created_at)
    Memory.objects.filter(pk=second.pk).update(access_count=3)
    return fresh(first), fresh(second)


def fields(memory: Memory) -> dict[str, Any]:
    """The fields that a merge combines."""
    names = (
        "content",
        "confidence",
        "importance",
        "access_count",
        "pinned",
        "trust",
        "tags",
        "last_accessed",
    )
    now = head_of(fresh(memory))
    return {name: getattr(now, name) for name in names}


def test_one_of_two_goes_into_the_other(alice: User, pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    done = merge(person(alice), one.id, two.id, reason="the same")
    gone, stays = fresh(one), fresh(two)
    assert (done.verb, done.id, done.state, done.changed, done.successor) == (
        "merge",
        one.id,
        "merged",
        2,
        two.id,
    )
    assert (gone.state, gone.superseded_by_id, gone.content) == ("merged", two.pk, ONE)
    assert (stays.state, stays.content, stays.version) == ("live", TWO, 1)
    assert (stays.confidence, stays.access_count, stays.importance, stays.pinned) == (0.9, 7, 8, True)
    assert stays.tags == ["rack", "ops", "hosting"]
    assert stays.last_accessed == one.last_accessed
    found = recall(person(alice), RecallRequest("Where is the ledger served from?", group="ledger")).items
    assert [item.memory.id for item in found] == [two.id]
    assert [item.memory.id for item in recall(person(alice), RecallRequest(ids=(str(one.id),))).items] == [
        two.id
    ]
    assert AuditEntry.objects.filter(operation="merge", memory_id=one.id).get().payload_row.payload[
        "reason"
    ] == ("the same")
    assert is_log_whole()


def test_the_survivor_may_get_a_text_of_its_own(alice: User, pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    done = merge(person(alice), one.id, two.id, content=BOTH)
    new = Memory.objects.get(id=done.successor)
    assert (new.content, new.state, new.root_id, new.version, new.confidence) == (
        BOTH,
        "live",
        two.pk,
        2,
        0.9,
    )
    assert (fresh(two).state, fresh(two).superseded_by_id) == ("superseded", new.pk)
    assert fresh(one).superseded_by_id == new.pk
    found = recall(person(alice), RecallRequest("rack in Hamburg", group="ledger")).items
    assert [item.memory.id for item in found] == [new.id]


def test_the_new_text_may_be_the_merged_ones(alice: User, pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    before = fields(two)
    merge(person(alice), one.id, two.id, content=ONE)
    assert fields(two)["content"] == ONE
    restore(person(alice), one.id)
    assert fields(two) == before
    assert (fresh(one).state, fresh(one).content) == ("live", ONE)


def test_a_group_that_holds_writes_back_does_not_hold_back_a_curators_merge(
    alice: User, ledger: Group, pair: tuple[Memory, Memory]
) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy="all")
    done = merge(person(alice), pair[0].id, pair[1].id, content=BOTH)
    assert Memory.objects.get(id=done.successor).trust == "active"


@pytest.mark.parametrize("content", ["", BOTH])
def test_a_dry_run_changes_no_table(alice: User, pair: tuple[Memory, Memory], content: str) -> None:
    before = all_rows()
    done = merge(person(alice), pair[0].id, pair[1].id, content=content, dry_run=True)
    assert (done.dry_run, done.changed, done.state, done.successor) == (True, 0, "merged", pair[1].id)
    assert ("the survivor gets a new version" in done.consequences) == bool(content)
    assert all_rows() == before


@pytest.mark.parametrize("content", ["", BOTH])
def test_restoring_takes_the_two_apart(alice: User, pair: tuple[Memory, Memory], content: str) -> None:
    one, two = pair
    before = fields(one), fields(two)
    merge(person(alice), one.id, two.id, content=content)
    rows = all_rows()
    restore(person(alice), one.id, dry_run=True)
    assert all_rows() == rows
    done = restore(person(alice), one.id)
    assert (done.state, fresh(one).superseded_by_id) == ("live", None)
    assert (fields(one), fields(two)) == before
    assert fresh(one).decayed_at is not None
    # And once more: an undone merge leaves nothing in the way.
    merge(person(alice), one.id, two.id)
    assert fields(two)["access_count"] == 7


def test_what_was_changed_since_the_merge_stays_and_is_said(alice: User, pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    merge(person(alice), one.id, two.id)
    Memory.objects.filter(pk=two.pk).update(confidence=0.95)
    edit(person(alice), two.id, EditDraft(tags=("mine",)))
    done = restore(person(alice), one.id)
    assert (fields(two)["confidence"], fields(two)["tags"], fields(two)["pinned"]) == (0.95, ["mine"], False)
    assert f"{two.id} stays as it is: confidence has changed since" in done.consequences
    assert f"{two.id} stays as it is: tags has changed since" in done.consequences


def test_a_survivor_that_was_edited_since_keeps_its_text(alice: User, pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    merge(person(alice), one.id, two.id, content=BOTH)
    later = edit(person(alice), two.id, EditDraft(content="The ledger moved to Bremen.")).memory
    done = restore(person(alice), one.id)
    assert fields(two)["content"] == "The ledger moved to Bremen."
    assert any("has changed since" in said for said in done.consequences)
    assert (fresh(later).state, fresh(one).state) == ("live", "live")


def test_a_verified_fact_stays_verified_in_the_other(alice: User, pair: tuple[Memory, Memory]) -> None:
    Memory.objects.filter(pk=pair[0].pk).update(trust="verified")
    merge(person(alice), pair[0].id, pair[1].id)
    assert fresh(pair[1]).trust == "verified"
    restore(person(alice), pair[0].id)
    assert (fresh(pair[0]).trust, fresh(pair[1]).trust) == ("verified", "active")


def test_a_text_from_outside_is_not_verified_by_what_goes_into_it(
    alice: User, pair: tuple[Memory, Memory]
) -> None:
    Memory.objects.filter(pk=pair[0].pk).update(trust="verified")
    Memory.objects.filter(pk=pair[1].pk).update(outside=True)
    merge(person(alice), pair[0].id, pair[1].id)
    assert fresh(pair[1]).trust == "active"


# What may not be merged


def test_only_a_person_who_curates_merges_and_takes_apart(
    alice: User, bob: User, charlie: User, ledger: Group, pair: tuple[Memory, Memory]
) -> None:
    one, two = pair
    with pytest.raises(NotPermitted):
        merge(person(bob), one.id, two.id)
    done = merge(agent(alice, scopes=["read", "write", "curate", "admin"]), one.id, two.id)
    assert "a curator decides" in done.queued
    assert fresh(one).state == "live"
    hidden = kept(person(alice), "Ours alone.", group="ledger", scope="group")
    with pytest.raises(NotFound):
        merge(person(charlie), hidden.id, two.id)
    merge(person(alice), one.id, two.id)
    for actor in (agent(alice, name="other", scopes=["read", "write", "curate", "admin"]), person(bob)):
        with pytest.raises(NotPermitted):
            restore(actor, one.id)
    set_member(operator(), ledger, user=bob, role="curator")
    assert restore(person(bob), one.id).state == "live"


def test_memories_of_two_groups_are_not_merged(
    alice: User, bob: User, ledger: Group, garden: Group, pair: tuple[Memory, Memory]
) -> None:
    Memory.objects.update(scope="global")
    far = kept(person(alice), "The garden's ledger is in Hamburg.", group="garden", scope="global")
    set_member(operator(), ledger, user=bob, role="curator")
    set_member(operator(), garden, user=bob, role="contributor")
    for first, second in ((far, pair[1]), (pair[1], far)):
        with pytest.raises(NotPermitted, match="You may not curate in the group 'garden'"):
            merge(person(bob), first.id, second.id)
    with pytest.raises(Conflict, match="move one of them first"):
        merge(person(alice), far.id, pair[1].id)
    move(person(alice), far.id, "ledger")
    assert merge(person(alice), far.id, pair[1].id).state == "merged"


def test_merging_never_shows_a_text_more_widely_nor_hides_one(
    alice: User, garden: Group, pair: tuple[Memory, Memory]
) -> None:
    Memory.objects.update(scope="global")
    inner = kept(person(alice), "The ledger runs in a rack.", group="ledger", scope="group")
    other = kept(person(alice), "The ledger runs in a shed.", group="garden", scope="group")
    for first, second in ((inner, pair[1]), (pair[1], inner)):
        with pytest.raises(Conflict, match="only in the group 'ledger'"):
            merge(person(alice), first.id, second.id)
    with pytest.raises(Conflict, match="to 'garden'"):
        merge(person(alice), inner.id, other.id)


def test_what_does_not_fit_is_refused_and_nothing_is_done(
    alice: User, ledger: Group, pair: tuple[Memory, Memory]
) -> None:
    one, two = pair
    other_type = kept(person(alice), "To serve the ledger, turn the key.", group="ledger", type="procedural")
    hidden, waits, bad = (kept(person(alice), f"Text number {n}.", group="ledger") for n in (1, 2, 3))
    forget(person(alice), hidden.id)
    Memory.objects.filter(pk=waits.pk).update(trust="candidate")
    Memory.objects.filter(pk=bad.pk).update(trust="quarantined")
    summary = kept(person(alice), "A summary of the week.", group="ledger")
    Link.objects.create(kind=LinkKind.DERIVED, source=summary, target=two)
    before = all_rows()
    for first, second, said in (
        (one, one, "lead to the same memory"),
        (one, other_type, "One is semantic, the other procedural"),
        (one, hidden, "is forgotten"),
        (hidden, one, "is forgotten"),
        (one, waits, "cannot be merged"),
        (bad, one, "cannot be merged"),
        (summary, one, "is a summary"),
    ):
        with pytest.raises(Conflict, match=said):
            merge(person(alice), first.id, second.id)
    assert all_rows() == before


def test_a_candidate_goes_into_what_it_restates(alice: User, pair: tuple[Memory, Memory]) -> None:
    Memory.objects.filter(pk=pair[0].pk).update(trust="candidate")
    Link.objects.all().delete()
    Link.objects.create(kind=LinkKind.DUPLICATE, source=pair[0], target=pair[1])
    merge(person(alice), pair[0].id, pair[1].id)
    assert fresh(pair[1]).trust == "active"
    assert Link.objects.get().status == "settled"
    restore(person(alice), pair[0].id)
    assert (Link.objects.get().status, Link.objects.get().settled_at) == ("open", None)


def test_a_merge_does_not_bring_a_retracted_text_in(alice: User, pair: tuple[Memory, Memory]) -> None:
    retract(person(alice), kept(person(alice), BOTH, group="ledger").id)
    before = all_rows()
    with pytest.raises(Conflict, match="was retracted here before"):
        merge(person(alice), pair[0].id, pair[1].id, content=BOTH.upper())
    with pytest.raises(Conflict, match="restates"):
        merge(person(alice), pair[0].id, pair[1].id, content=f"{BOTH} ✅")
    assert all_rows() == before


def test_purging_the_survivor_takes_what_was_merged_into_it(alice: User, pair: tuple[Memory, Memory]) -> None:
    merge(person(alice), pair[0].id, pair[1].id)
    assert purge(person(alice), pair[1].id).changed == 2
    assert Memory.objects.count() == 0


def test_a_wording_that_a_restatement_left_is_restored_by_who_may_write(
    alice: User, bob: User, ledger: Group
) -> None:
    kept(person(alice), "The nightly backup goes to the NAS.", group="ledger")
    keep(person(alice), "The nightly backups go to the NAS.", group="ledger")
    wording = Memory.objects.get(state="merged")
    assert restore(agent(bob), wording.id).state == "live"


def test_a_merged_memory_whose_survivor_was_retracted_stays_merged(
    alice: User, pair: tuple[Memory, Memory]
) -> None:
    merge(person(alice), pair[0].id, pair[1].id)
    for successor in ("", "The ledger moved to Bremen."):
        if successor:
            Memory.objects.filter(pk=pair[1].pk).update(
                superseded_by=kept(person(alice), successor, group="ledger")
            )
        else:
            retract(person(alice), pair[1].id)
        with pytest.raises(Conflict, match="which was retracted"):
            restore(person(alice), pair[0].id)


def test_a_merge_undone_after_the_end_of_a_memory_leaves_that_end(
    alice: User, pair: tuple[Memory, Memory]
) -> None:
    merge(person(alice), pair[0].id, pair[1].id)
    past = timezone.now() - timedelta(days=400)
    Memory.objects.filter(pk=pair[0].pk).update(state_changed_at=past, expires_at=past)
    done = restore(person(alice), pair[0].id)
    assert (fresh(pair[0]).state, fresh(pair[0]).expires_at) == ("live", past)
    assert "its end has passed: recall returns it once that is changed" in done.consequences
