"""The versions of a memory are in one group; a chain of an older store that is not leads nobody into a closed group."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.audit import collecting_rows
from access.errors import Conflict, LociError, NotFound
from access.models import Group
from loci_site.mcp import resources
from maintenance.doctor.rows import check_chains
from memories.browse.inspection import inspect_memory
from memories.browse.serializers import InspectionOut
from memories.draft import EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.lifecycle.regroup.move import PartFilter, move_memories, move_memories_back
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.models import Memory
from memories.types import State, Trust
from tests.memories.builders import fresh, keep, kept, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
OLD, SECRET = "The verger keeps the keys in the sacristy.", "The verger keeps the keys under his bed."
OTHER = "The gate opens at nine."


def torn(ledger: Group, garden: Group, **fields: object) -> tuple[Memory, Memory]:
    """A memory of `ledger` with its next version in `garden`, as 0.3.0 allowed."""
    old = row(ledger, OLD)
    new = row(garden, SECRET, root=old, version=2, **fields)
    Memory.objects.filter(pk=old.pk).update(superseded_by=new, state=State.SUPERSEDED)
    return fresh(old), new


# What is written


@pytest.mark.parametrize("scope", ["group", "global"])
def test_a_new_text_replaces_no_memory_of_another_group(
    alice: User, ledger: Group, garden: Group, scope: str
) -> None:
    old = kept(person(alice), OLD, group="ledger", scope=scope)
    with pytest.raises(Conflict, match=r"'ledger'.*'garden'") as caught:
        keep(person(alice), SECRET, group="garden", scope=scope, supersedes=old.id)
    assert caught.value.field == "supersedes"
    assert "move" in caught.value.hint
    assert [row.state for row in Memory.objects.all()] == ["live"]


def test_a_memory_that_one_may_not_see_is_not_found(alice: User, bob: User, garden: Group) -> None:
    hidden = kept(person(alice), SECRET, group="garden", scope="group")
    with pytest.raises(NotFound, match="Memory not found") as caught:
        keep(agent(bob), OLD, group="ledger", supersedes=hidden.id)
    assert "garden" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("scope", ["group", "global"])
def test_no_verb_ties_memories_of_two_groups(alice: User, ledger: Group, garden: Group, scope: str) -> None:
    me = person(alice)
    old = kept(me, OLD, group="ledger", scope=scope)
    other = kept(me, SECRET, group="garden", scope=scope)
    for field, tie in (
        ("by", lambda: verbs.supersede(me, old.id, other.id)),
        ("into", lambda: verbs.merge(me, old.id, other.id)),
        ("successor", lambda: verbs.retract(me, old.id, successor=str(other.id))),
    ):
        with pytest.raises(Conflict, match=r"'ledger'.*'garden'") as caught:
            tie()
        assert caught.value.field == field
    assert {(fresh(each).state, fresh(each).superseded_by_id) for each in (old, other)} == {("live", None)}


def test_once_it_is_moved_it_may_be_replaced(alice: User, ledger: Group, garden: Group) -> None:
    me = person(alice)
    old, other = kept(me, OLD, group="ledger"), kept(me, SECRET, group="garden")
    verbs.move(me, old.id, "garden")
    verbs.supersede(me, old.id, other.id)
    assert fresh(old).superseded_by_id == other.key


def test_what_a_retracted_memory_leads_to_takes_it_along(alice: User, ledger: Group, garden: Group) -> None:
    me = person(alice)
    old, right = kept(me, OLD, group="ledger"), kept(me, OTHER, group="ledger")
    verbs.retract(me, old.id, successor=str(right.id))
    verbs.move(me, right.id, "garden")
    assert {fresh(old).group, fresh(right).group} == {garden}


# What is undone


@pytest.mark.parametrize("later", ["edit", "supersede", "merge"])
def test_undoing_a_move_tears_no_chain(alice: User, ledger: Group, garden: Group, later: str) -> None:
    me = person(alice)
    memory = kept(me, OLD, group="ledger", tags=("keys",))
    with collecting_rows() as work:
        verbs.move(me, memory.id, "garden")
    if later == "edit":
        edit(agent(alice), memory.id, EditDraft(content=SECRET))
    elif later == "supersede":
        keep(me, SECRET, group="garden", supersedes=memory.id)
    else:
        verbs.merge(me, memory.id, kept(me, SECRET, group="garden").id)
    with pytest.raises(Conflict, match="another group"):
        undo_write(me, undo_id_of(me, work))
    assert set(Memory.objects.values_list("group__slug", flat=True)) == {"garden"}


def test_undoing_the_move_of_a_part_tears_no_chain(alice: User, ledger: Group, garden: Group) -> None:
    me = person(alice)
    memory, still = (kept(me, text, group="ledger", tags=("keys",)) for text in (OLD, OTHER))
    done = move_memories(me, "ledger", to="garden", wanted=PartFilter(tags=("keys",)))
    assert done.run is not None
    edit(agent(alice), memory.id, EditDraft(content=SECRET))
    with pytest.raises(Conflict, match="another group"):
        move_memories_back(me, "ledger", run=str(done.run))
    assert {fresh(still).group, fresh(memory).group} == {garden}


def test_a_move_without_later_versions_is_undone_with_all_it_took_along(
    alice: User, ledger: Group, garden: Group
) -> None:
    me = person(alice)
    memory = kept(me, OLD, group="ledger")
    edit(me, memory.id, EditDraft(content=SECRET))
    with collecting_rows() as work:
        verbs.move(me, memory.id, "garden")
    undo_write(me, undo_id_of(me, work))
    assert set(Memory.objects.values_list("group__slug", flat=True)) == {"ledger"}


def test_a_plan_that_comes_back_replaces_nothing_that_was_moved(
    alice: User, ledger: Group, garden: Group
) -> None:
    me = person(alice)
    old = kept(me, OLD, group="ledger")
    plan = kept(me, OTHER, valid_from=timezone.now() + timedelta(days=9), group="ledger")
    verbs.supersede(me, old.id, plan.id)
    verbs.forget(me, plan.id)
    verbs.move(me, old.id, "garden")
    with pytest.raises(Conflict, match="another group"):
        verbs.restore(me, plan.id)
    assert (fresh(old).state, fresh(old).superseded_by_id) == ("live", None)
    assert (fresh(old).group, fresh(plan).group) == (garden, ledger)


# What is read of a chain that leads into another group


def test_a_resource_stays_in_the_groups_of_its_reader(
    bob: User, ledger: Group, garden: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, _ = torn(ledger, garden)
    monkeypatch.setattr(resources, "current_actor", lambda: agent(bob, name="reader"))
    with pytest.raises(NotFound, match="superseded") as caught:
        resources.read_memory.__wrapped__(str(old.id))  # type: ignore[attr-defined]
    assert "garden" not in str(caught.value)


def test_a_narrower_version_is_not_shown_to_those_who_saw_a_wider_one(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    old = kept(person(alice), OLD, group="garden", scope="global")
    new = kept(person(alice), SECRET, group="garden", scope="group", supersedes=old.id)
    seen = inspect_memory(agent(bob), old.id)
    assert (seen.memory, seen.head) == (old, None)
    assert inspect_memory(person(alice), old.id).head == new


def test_an_inspection_says_superseded_and_no_more(bob: User, ledger: Group, garden: Group) -> None:
    old, new = torn(ledger, garden)
    actor = agent(bob)
    seen = inspect_memory(actor, old.id)
    assert (seen.head, seen.label, seen.versions) == (None, "superseded", (old,))
    told = str(InspectionOut.json(seen, is_person=False))
    assert not [word for word in (SECRET, str(new.id), "garden") if word in told]


def test_the_page_says_superseded_and_no_more(
    bob: User, ledger: Group, garden: Group, client: Client
) -> None:
    old, new = torn(ledger, garden)
    client.force_login(bob)
    page = client.get(f"/admin/memories/memory/{old.id}/change/").content.decode()
    assert not [word for word in (SECRET, str(new.id), "garden") if word in page]
    assert "newer memory" in page
    assert client.get(f"/admin/memories/memory/{old.id}/edit/").status_code in (403, 404)


def test_rest_names_no_version_of_a_closed_group(
    bob: User, ledger: Group, garden: Group, client: Client
) -> None:
    old, new = torn(ledger, garden)
    client.force_login(bob)
    for way in ("", "?versions=true", "/inspect"):
        body = client.get(f"/api/memories/{old.id}{way}")
        assert body.status_code == 200, body.content
        assert body.json()["head"] is None
        assert not [word for word in (SECRET, str(new.id), "garden") if word in body.content.decode()]


def test_no_refusal_names_a_closed_group(alice: User, bob: User, ledger: Group, garden: Group) -> None:
    old, new = torn(ledger, garden)
    other = row(ledger, OTHER)
    actor = agent(bob)
    for refused in (
        lambda: verbs.forget(actor, old.id),
        lambda: verbs.restore(actor, old.id),
        lambda: verbs.retract(actor, other.id, successor=str(old.id)),
        lambda: verbs.supersede(actor, other.id, old.id),
        lambda: verbs.merge(actor, other.id, old.id),
        lambda: edit(actor, old.id, EditDraft(content="The keys are lost.")),
        lambda: keep(actor, "The keys are lost.", group="ledger", supersedes=old.id),
    ):
        with pytest.raises(LociError) as caught:
            refused()
        said = f"{caught.value} {caught.value.hint}"
        assert not [word for word in (SECRET, str(new.id), "garden") if word in said], said


def test_a_source_is_followed_in_its_own_group_alone(alice: User, ledger: Group, garden: Group) -> None:
    old = row(ledger, OLD, source="wiki", source_ref="keys")
    new = row(garden, SECRET, root=old, version=2)
    Memory.objects.filter(pk=old.pk).update(superseded_by=new, state=State.SUPERSEDED)
    for text in (OLD, OTHER):
        again = keep(person(alice), text, group="ledger", source="wiki", source_ref="keys")
        assert again.memory is not None
        assert (again.memory.group, again.memory.content) == (ledger, text)
    assert (fresh(new).state, fresh(new).superseded_by_id) == ("live", None)


def test_its_own_group_may_store_a_text_again_that_was_replaced_elsewhere(
    bob: User, ledger: Group, garden: Group
) -> None:
    torn(ledger, garden)
    again = keep(agent(bob), OLD, group="ledger")
    assert (again.outcome, again.why) == ("created", "")


def test_an_approval_replaces_nothing_of_another_group(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    me = person(alice)
    old = kept(me, OLD, group="ledger")
    verbs.verify(me, old.id)
    waiting = keep(agent(bob), SECRET, group="ledger", supersedes=old.id).memory
    assert waiting is not None
    Memory.objects.filter(pk=waiting.pk).update(group=garden)  # as 0.3.0 had candidates
    verbs.approve(me, waiting.id)
    assert (fresh(old).state, fresh(waiting).trust) == (State.LIVE, Trust.ACTIVE)


def test_the_doctor_finds_a_chain_in_two_groups(ledger: Group, garden: Group) -> None:
    assert check_chains().verdict == "ok"
    old, new = torn(ledger, garden)
    found = check_chains()
    assert found.verdict == "wrong"
    assert str(new.id) in found.detail or str(old.id) in found.detail
