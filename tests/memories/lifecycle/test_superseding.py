"""A newer memory takes the place of an older one, which stays as history."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry, Group, Membership
from access.visibility import Narrowing
from memories.lifecycle.verbs import forget, restore
from memories.models import Link, LinkKind, Memory
from memories.queries.versions import head_of, versions_of
from memories.recall import RecallRequest, recall
from storage.ids import new_id
from tests.memories.builders import day, fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

OLD, NEW, NEWEST = (f"The deploy port is {port}." for port in (8081, 8082, 8083))


def test_the_old_row_gets_an_end_and_a_successor_and_is_not_retired(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger", valid_from=day(-10))
    stored = keep(person(alice), NEW, supersedes=old.id, valid_from=day(-3))
    new = stored.memory
    assert new is not None
    assert (stored.outcome, stored.superseded, stored.group) == ("created", old.id, "ledger")
    old = fresh(old)
    assert (old.state, old.superseded_by_id, old.valid_to, old.retired_at) == (
        "superseded",
        new.key,
        day(-3),
        None,
    )
    assert old.valid_to_known_at is not None
    assert old.valid_to_known_at >= new.created_at
    assert (new.root_id, new.version, new.state, new.valid_from) == (old.key, 2, "live", day(-3))
    assert AuditEntry.objects.filter(operation="supersede", memory_id=old.id).count() == 1


def test_without_a_date_the_new_one_is_true_from_now(alice: User, ledger: Group) -> None:
    before = timezone.now()
    old = kept(person(alice), OLD, group="ledger")
    new = kept(person(alice), NEW, supersedes=old.id)
    assert new.valid_from is not None
    assert before <= new.valid_from <= timezone.now()
    assert fresh(old).valid_to == new.valid_from


def test_an_end_that_lies_before_stays(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger", valid_from=day(-9), valid_to=day(-5))
    kept(person(alice), NEW, supersedes=old.id, valid_from=day(-3))
    assert fresh(old).valid_to == day(-5)


def test_superseding_an_older_version_replaces_the_head(alice: User, ledger: Group) -> None:
    first = kept(person(alice), OLD, group="ledger")
    second = kept(person(alice), NEW, supersedes=first.id)
    third = kept(person(alice), NEWEST, supersedes=first.id)
    assert [(v.key, v.version, v.state) for v in versions_of(third)] == [
        (first.key, 1, "superseded"),
        (second.key, 2, "superseded"),
        (third.key, 3, "live"),
    ]
    assert fresh(first).superseded_by_id == second.key
    assert fresh(second).superseded_by_id == third.key
    assert head_of(fresh(first)) == third


def test_history_is_still_knowable(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger", valid_from=day(-20))
    new = kept(person(alice), NEW, supersedes=old.id, valid_from=day(-5))

    def recalled(narrowing: Narrowing) -> list[Memory]:
        answer = recall(
            person(alice), RecallRequest("which deploy port", group="ledger", narrowing=narrowing)
        )
        return [item.memory for item in answer.items]

    assert recalled(Narrowing()) == [new]
    assert recalled(Narrowing(as_of=day(-10))) == [old]
    # Before anything was stored, Loci knew nothing of either.
    assert recalled(Narrowing(known_at=day(-10))) == []


def test_a_candidate_replaces_nothing_until_it_is_approved(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    Group.objects.filter(pk=ledger.pk).update(policy="all")
    stored = keep(person(alice), NEW, supersedes=old.id)
    assert stored.outcome == "queued"
    assert fresh(old).state == "live"
    link = Link.objects.get(kind=LinkKind.CONFLICT)
    assert (link.source, link.target) == (stored.memory, old)


def test_a_candidate_that_is_said_again_still_replaces_nothing(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    Group.objects.filter(pk=ledger.pk).update(policy="all")
    keep(person(alice), NEW, supersedes=old.id)
    again = keep(person(alice), NEW, supersedes=old.id)
    assert (again.outcome, again.superseded) == ("reinforced", None)
    assert fresh(old).state == "live"


def test_the_policy_holds_back_a_text_that_is_there_already(alice: User, ledger: Group) -> None:
    old, new = (kept(person(alice), text, group="ledger") for text in (OLD, NEW))
    Group.objects.filter(pk=ledger.pk).update(policy="all")
    again = keep(person(alice), NEW, supersedes=old.id)
    assert (again.outcome, again.memory, again.superseded) == ("reinforced", new, None)
    assert fresh(old).state == "live"
    assert Link.objects.get(kind=LinkKind.CONFLICT).target == old


def test_a_text_that_is_there_already_may_take_the_place(alice: User, ledger: Group) -> None:
    old, new = (kept(person(alice), text, group="ledger") for text in (OLD, NEW))
    again = keep(person(alice), NEW, supersedes=old.id)
    assert (again.outcome, again.memory, again.superseded) == ("reinforced", new, old.id)
    assert fresh(old).superseded_by_id == new.key


def test_a_superseded_text_that_comes_back_waits_with_the_reason(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    new = kept(person(alice), NEW, supersedes=old.id)
    stored = keep(person(alice), OLD, group="ledger")
    assert stored.outcome == "queued"
    assert stored.why == f"this text was superseded by {new.id}; pass supersedes to make it current again"
    assert fresh(new).state == "live"


def test_a_superseded_text_becomes_a_new_version_on_purpose(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    new = kept(person(alice), NEW, supersedes=old.id)
    third = kept(person(alice), OLD, supersedes=new.id)
    assert (third.version, third.root_id) == (3, old.key)
    assert [v.state for v in versions_of(third)] == ["superseded", "superseded", "live"]


def test_what_replaces_a_group_memory_stays_in_the_group(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger", scope="group")
    assert kept(person(alice), NEW, supersedes=old.id).scope == "group"


def test_a_memory_cannot_supersede_itself(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    with pytest.raises(InvalidInput) as error:
        keep(person(alice), OLD, supersedes=old.id)
    assert error.value.field == "supersedes"


def test_only_a_live_memory_can_be_superseded(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    forget(person(alice), old.id)
    with pytest.raises(Conflict, match="is forgotten"):
        keep(person(alice), NEW, supersedes=old.id)
    assert Memory.objects.count() == 1


def test_an_unknown_or_hidden_id_supersedes_nothing(alice: User, garden: Group, bob: User) -> None:
    hidden = kept(person(alice), OLD, group="garden", scope="group")
    for id_ in (new_id(), hidden.id):
        with pytest.raises(NotFound):
            keep(agent(bob), NEW, group="ledger", supersedes=id_)
    assert Memory.objects.count() == 1


def test_who_may_only_read_supersedes_nothing(alice: User, ledger: Group, garden: Group, bob: User) -> None:
    old = kept(person(alice), OLD, group="garden", scope="global")  # bob sees it
    with pytest.raises(NotPermitted):
        keep(agent(bob), NEW, group="ledger", supersedes=old.id)
    Membership.objects.filter(user=bob).update(role="viewer")
    with pytest.raises(NotPermitted):
        keep(agent(bob), NEW, group="ledger")
    assert Memory.objects.count() == 1


def test_an_event_keeps_its_valid_time(alice: User, ledger: Group) -> None:
    old = kept(
        person(alice), "The deploy failed at noon.", group="ledger", type="episodic", valid_from=day(-2)
    )
    kept(person(alice), "The deploy failed at one.", type="episodic", supersedes=old.id, valid_from=day(-2))
    assert (fresh(old).state, fresh(old).valid_to) == ("superseded", None)


def test_a_forgotten_head_does_not_come_back_beside_a_later_version(alice: User, ledger: Group) -> None:
    said = {"group": "ledger", "source": "wiki", "source_ref": "page-1"}
    first = kept(person(alice), OLD, **said)
    forget(person(alice), first.id)
    second = kept(person(alice), NEW, **said)
    assert (second.version, fresh(first).state) == (2, "forgotten")
    with pytest.raises(Conflict, match="is the current version"):
        restore(person(alice), first.id)


def test_recent_ends_are_known_from_when_they_were_said(alice: User, ledger: Group) -> None:
    """A question about what was known before the end became known still returns the old fact."""
    old = kept(person(alice), OLD, group="ledger", valid_from=day(-20))
    Memory.objects.filter(pk=old.pk).update(created_at=day(-20))
    kept(person(alice), NEW, supersedes=old.id, valid_from=day(-10))
    Memory.objects.filter(pk=old.pk).update(valid_to_known_at=day(-2))
    for asked, expected in ((day(-5), [old.key]), (day(-1), [])):
        answer = recall(
            person(alice), RecallRequest("deploy port", group="ledger", narrowing=Narrowing(known_at=asked))
        )
        assert [item.memory.key for item in answer.items] == expected, asked
