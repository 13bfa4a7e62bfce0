"""Approving a correction that waited makes it count in the place of what it corrects."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.browse.inspection import inspect_memory
from memories.draft import EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import approve, pin, reject, retract
from memories.models import Link, Memory
from relations.models import Relation
from tests.memories.builders import day, fresh, keep, kept
from tests.people import agent, alice, bob, ledger, person  # noqa: F401 - fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.fixture
def strict(ledger: Group) -> Group:  # noqa: F811
    """The ledger, in which what agents write waits."""
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    ledger.refresh_from_db()
    return ledger


def test_an_approved_correction_supersedes(alice: User, strict: Group) -> None:  # noqa: F811
    old = kept(person(alice), "The office is in Berlin.", group="ledger", scope="group")
    queued = keep(agent(alice), "The office is in Hamburg.", group="ledger", scope="group", supersedes=old.id)
    assert queued.outcome == "queued"
    assert queued.memory is not None
    assert fresh(old).state == "live"

    approve(person(alice), queued.memory.id)

    old = fresh(old)
    assert (old.state, old.superseded_by_id) == ("superseded", queued.memory.pk)
    assert old.valid_to == queued.memory.valid_from
    assert not Link.objects.exists()  # both are versions of one chain now


def test_an_approval_settles_only_what_it_decides(alice: User, strict: Group) -> None:  # noqa: F811
    said = {"group": "ledger", "scope": "group"}
    old = kept(person(alice), "The office is in Belin.", **said)
    other = kept(person(alice), "The office moves to Bremen.", **said)
    waiting = keep(agent(alice), "The office is in Berlin.", supersedes=old.id, **said).memory
    assert waiting is not None
    Link.objects.get_or_create(kind="conflict", source=waiting, target=other)
    approve(person(alice), waiting.id)
    assert (fresh(old).state, fresh(other).state) == ("superseded", "live")
    assert Link.objects.get(kind="conflict", target=other).status == "open"


def test_a_rejected_correction_leaves_the_old_one(alice: User, strict: Group) -> None:  # noqa: F811
    old = kept(person(alice), "The office is in Berlin.", group="ledger", scope="group")
    queued = keep(agent(alice), "The office is in Hamburg.", group="ledger", scope="group", supersedes=old.id)
    assert queued.memory is not None
    reject(person(alice), queued.memory.id)
    assert fresh(old).state == "live"


def test_an_approved_edit_ends_what_was_never_right(alice: User, strict: Group) -> None:  # noqa: F811
    old = kept(person(alice), "The office is in Belin.", group="ledger", scope="group")
    waiting = edit(agent(alice), old.id, EditDraft(content="The office is in Berlin."))
    assert waiting.outcome == "queued"

    approve(person(alice), waiting.memory.id)

    old = fresh(old)
    assert (old.state, old.superseded_by_id, old.valid_to) == ("superseded", waiting.memory.pk, None)
    assert old.retired_at is not None


def test_an_approved_edit_is_the_next_version_in_the_same_place(alice: User, strict: Group) -> None:  # noqa: F811
    said = {"group": "ledger", "thread": "monday", "scope": "group"}
    old = kept(person(alice), "The office is in Belin.", valid_from=day(-9), valid_to=day(900), **said)
    kept(person(alice), "Lunch is at noon.", **said)
    pin(person(alice), old.id)
    waiting = edit(agent(alice), old.id, EditDraft(content="The office is in Berlin.")).memory

    approve(person(alice), waiting.id)

    new, old = fresh(waiting), fresh(old)
    assert (new.root_id, new.version, new.position, new.pinned) == (old.pk, 2, 0, True)
    assert (new.valid_from, new.valid_to) == (day(-9), day(900))
    assert (old.state, old.valid_to) == ("superseded", day(900))
    assert Memory.objects.get(content="Lunch is at noon.").context == "The office is in Berlin."


def test_relations_follow_an_approved_correction(alice: User, strict: Group) -> None:  # noqa: F811
    owns = RelationDraft("Otto", "owns", "Bicycle shop", group="ledger")
    otto = store_relation(person(alice), owns).subject
    queued = keep(
        agent(alice), "Otto Berg: mends bicycles", group="ledger", type="entity", supersedes=otto.id
    ).memory
    assert queued is not None
    store_relation(person(alice), RelationDraft(str(queued.id), "owns", "Bicycle shop", group="ledger"))
    store_relation(person(alice), RelationDraft(str(queued.id), "likes", "Tandems", group="ledger"))

    approve(person(alice), queued.id)

    assert fresh(queued).root_id == otto.pk
    again = store_relation(person(alice), owns)
    assert (again.outcome, again.subject) == ("reinforced", queued)
    standing = Relation.objects.filter(retired_at=None)
    assert sorted(standing.values_list("subject", "predicate")) == [(otto.pk, "likes"), (otto.pk, "owns")]
    assert len(inspect_memory(person(alice), queued.id).relations) == 2
    assert sorted(otto.aliases.values_list("name", flat=True)) == ["Otto", "Otto Berg"]


def test_an_edit_towards_what_was_retracted_waits(alice: User, ledger: Group) -> None:  # noqa: F811
    wrong = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger")
    retract(person(alice), wrong.id)
    other = kept(person(alice), "The office is in Berlin.", group="ledger")
    waiting = edit(person(alice), other.id, EditDraft(content="The nightly backups go to the NAS."))
    assert (waiting.outcome, waiting.why) == (
        "queued",
        f"it restates {wrong.id}, which was retracted; a curator decides",
    )
    assert fresh(other).state == "live"
