"""Each verb does what it says, refuses what it cannot do, and changes nothing on a dry run."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.draft import EditDraft
from memories.lifecycle import target, verbs
from memories.lifecycle.edit import carry_out_edit, edit, prepare_edit
from memories.models import Memory, Tombstone
from memories.recall import RecallRequest, recall
from tests.memories.builders import fresh, keep, kept
from tests.memories.tables import all_rows
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

Verb = Callable[..., verbs.ChangeResult]
TEXT = "The deploy port is 8081."
# verb → (what must hold before, state and trust after, its row in the log, is it recalled)
EFFECTS: list[tuple[Verb, dict[str, Any], str, str, str, bool]] = [
    (verbs.forget, {}, "forgotten", "active", "forget", False),
    (verbs.restore, {"state": "forgotten"}, "live", "active", "restore", True),
    (verbs.restore, {"state": "expired"}, "live", "active", "restore", True),
    (verbs.restore, {"state": "dormant"}, "live", "active", "restore", True),
    (verbs.retract, {}, "retracted", "active", "retract", False),
    (verbs.dispute, {}, "live", "active", "dispute", True),
    (verbs.verify, {}, "live", "verified", "verify", True),
    (verbs.approve, {"trust": "candidate"}, "live", "active", "trust", True),
    (verbs.reject, {}, "live", "rejected", "trust", False),
]


@pytest.fixture
def memory(alice: User, ledger: Group) -> Memory:
    return kept(person(alice), TEXT, group="ledger")


def is_recalled(alice: User) -> bool:
    return bool(recall(person(alice), RecallRequest("deploy port", group="ledger")).items)


@pytest.mark.parametrize(("verb", "before", "state", "trust", "operation", "recalled"), EFFECTS)
def test_a_verb_has_its_effect(
    alice: User,
    memory: Memory,
    verb: Verb,
    before: dict[str, Any],
    state: str,
    trust: str,
    operation: str,
    recalled: bool,
) -> None:
    Memory.objects.filter(pk=memory.pk).update(**before)
    done = verb(person(alice), memory.id, reason="because")
    now = fresh(memory)
    assert (done.state, done.trust, done.changed, done.dry_run) == (state, trust, 1, False)
    assert (now.state, now.trust) == (state, trust)
    assert (now.retired_at is not None) == (state in ("forgotten", "retracted"))
    assert is_recalled(alice) == recalled
    row = AuditEntry.objects.filter(memory_id=memory.id).latest("seq")
    assert (row.operation, row.actor, row.payload_row.payload["reason"]) == (operation, "alice", "because")
    assert Tombstone.objects.count() == (1 if verb in (verbs.retract, verbs.reject) else 0)


@pytest.mark.parametrize("verb", [verbs.quarantine, verbs.verify, verbs.dispute, verbs.reject])
def test_a_verb_on_a_compacted_event_lands_on_it_and_not_on_the_summary(
    alice: User, memory: Memory, verb: Verb
) -> None:
    summary = kept(person(alice), "Ports: 8081 and others.", group="ledger", scope=memory.scope)
    Memory.objects.filter(pk=memory.pk).update(summary=summary)
    assert verb(person(alice), memory.id, reason="wrong").id == memory.id
    assert fresh(summary).trust == "active"


@pytest.mark.parametrize(
    "verb", [e[0] for e in EFFECTS[:1] + EFFECTS[4:7] + EFFECTS[8:]] + [verbs.pin, verbs.purge]
)
def test_a_dry_run_says_what_would_be_and_changes_no_table(alice: User, memory: Memory, verb: Verb) -> None:
    before = all_rows()
    done = verb(person(alice), memory.id, dry_run=True)
    assert (done.dry_run, done.changed) == (True, 0)
    assert all_rows() == before


@pytest.mark.parametrize(
    ("verb", "before"),
    [
        (verbs.forget, {"state": "forgotten"}),
        (verbs.restore, {}),
        (verbs.restore, {"state": "retracted"}),
        (verbs.restore, {"state": "superseded"}),
        (verbs.retract, {"state": "retracted"}),
        (verbs.dispute, {"trust": "candidate"}),
        (verbs.dispute, {"state": "forgotten"}),
        (verbs.approve, {}),
        (verbs.reject, {"trust": "rejected"}),
        (verbs.unpin, {}),
        (verbs.pin, {"pinned": True}),
    ],
)
def test_what_cannot_be_done_is_a_conflict(
    alice: User, memory: Memory, verb: Verb, before: dict[str, Any]
) -> None:
    Memory.objects.filter(pk=memory.pk).update(**before)
    rows = all_rows()
    with pytest.raises(Conflict):
        verb(person(alice), memory.id)
    assert all_rows() == rows


@pytest.mark.parametrize("verb", [verbs.verify, verbs.approve, verbs.reject, verbs.unpin, verbs.purge])
def test_a_contributor_does_not_curate(memory: Memory, bob: User, verb: Verb) -> None:
    with pytest.raises(NotPermitted):
        verb(agent(bob, scopes=["read", "write", "curate"]), memory.id)


def test_a_contributor_does_not_pin_and_its_agent_only_asks(memory: Memory, bob: User) -> None:
    with pytest.raises(NotPermitted):
        verbs.pin(person(bob), memory.id)
    assert verbs.pin(agent(bob), memory.id, reason="all need it").queued
    memory.refresh_from_db()
    assert not memory.pinned


@pytest.mark.parametrize("verb", [verbs.verify, verbs.approve, verbs.reject])
def test_an_agent_cannot_claim_a_persons_authority(alice: User, memory: Memory, verb: Verb) -> None:
    with pytest.raises(NotPermitted, match="Only a person"):
        verb(agent(alice, scopes=["read", "write", "curate", "admin"]), memory.id)


@pytest.mark.parametrize("verb", [verbs.forget, verbs.retract, verbs.dispute])
def test_a_stranger_does_not_learn_that_it_is_there(
    alice: User, garden: Group, charlie: User, verb: Verb
) -> None:
    hidden = kept(person(alice), TEXT, group="garden", scope="group")
    with pytest.raises(NotFound):
        verb(person(charlie), hidden.id)


def test_restore_refuses_a_twin_of_a_live_text(alice: User, memory: Memory) -> None:
    verbs.forget(person(alice), memory.id)
    twin = kept(person(alice), TEXT, group="ledger")
    with pytest.raises(Conflict, match=str(twin.id)):
        verbs.restore(person(alice), memory.id)


def test_what_is_restored_after_its_end_counts_again_with_a_new_end(alice: User, memory: Memory) -> None:
    Memory.objects.filter(pk=memory.pk).update(
        state="forgotten", expires_at=timezone.now() - timedelta(days=1)
    )
    verbs.restore(person(alice), memory.id)
    assert not is_recalled(alice)
    edit(person(alice), memory.id, EditDraft(expires_at=timezone.now() + timedelta(days=1)))
    assert is_recalled(alice)


def test_restoring_a_rejected_memory_does_not_promise_recall(alice: User, memory: Memory) -> None:
    Memory.objects.filter(pk=memory.pk).update(state="forgotten", trust="rejected")
    done = verbs.restore(person(alice), memory.id)
    assert done.consequences == ("it is rejected: recall does not return it yet",)


def test_an_older_id_means_the_memory_that_counts(alice: User, memory: Memory) -> None:
    second = kept(person(alice), "The deploy port is 8082.", supersedes=memory.id)
    assert verbs.forget(person(alice), memory.id).id == second.id
    assert fresh(memory).state == "superseded"


@pytest.mark.parametrize("verb", [verbs.forget, verbs.retract, verbs.purge])
def test_a_reason_has_an_end(alice: User, memory: Memory, verb: Verb) -> None:
    with pytest.raises(InvalidInput) as error:
        verb(person(alice), memory.id, reason="x" * 1001)
    assert error.value.field == "reason"
    assert fresh(memory).state == "live"


@pytest.mark.parametrize(
    "reason", ["a\x00b", "half \ud800", "x" * 1001, "x" * 5_000_000], ids=["nul", "half", "long", "5 MB"]
)
@pytest.mark.parametrize("verb", [verbs.forget, verbs.retract, verbs.dispute, verbs.reject, verbs.purge])
def test_a_reason_that_is_no_text_is_refused_and_nothing_is_done(
    alice: User, memory: Memory, verb: Verb, reason: str
) -> None:
    before = all_rows()
    with pytest.raises(InvalidInput) as error:
        verb(person(alice), memory.id, reason=reason)
    assert error.value.field == "reason"
    assert all_rows() == before


def test_what_is_global_does_not_come_back_into_a_private_group(alice: User, memory: Memory) -> None:
    Memory.objects.update(scope="global")
    verbs.forget(person(alice), memory.id)
    Group.objects.update(private=True)
    with pytest.raises(Conflict, match="the group 'ledger' is private"):
        verbs.restore(person(alice), memory.id)
    assert fresh(memory).state == "forgotten"


def test_all_tokens_of_a_user_confirm_once_a_day(alice: User, bob: User, memory: Memory) -> None:
    said = [
        keep(actor, TEXT, group="ledger").memory
        for actor in (agent(bob, name="one"), agent(bob, name="two"), person(bob), agent(alice, name="hers"))
    ]
    # 0.7 when stored by alice; once more by bob, through whatever; and not again by alice.
    assert [round(m.confidence, 2) for m in said if m] == [0.8, 0.8, 0.8, 0.8]


def test_what_is_brought_back_begins_to_decay_anew(alice: User, memory: Memory) -> None:
    Memory.objects.filter(pk=memory.pk).update(decayed_at=timezone.now() - timedelta(days=400))
    verbs.forget(person(alice), memory.id)
    verbs.restore(person(alice), memory.id)
    since = fresh(memory).decayed_at
    assert since is not None
    assert timezone.now() - since < timedelta(minutes=1)


@pytest.mark.parametrize(("confidence", "anew"), [(0.02, True), (0.01, True), (0.03, False)])
def test_a_confirmation_of_what_had_decayed_to_the_floor_starts_decay_anew(
    alice: User, bob: User, memory: Memory, confidence: float, anew: bool
) -> None:
    long_ago = timezone.now() - timedelta(days=400)
    Memory.objects.filter(pk=memory.pk).update(confidence=confidence, decayed_at=long_ago)
    keep(person(bob), TEXT, group="ledger")
    assert (fresh(memory).decayed_at != long_ago) == anew
    assert round(fresh(memory).confidence, 2) == round(confidence + 0.1, 2)


@pytest.mark.parametrize("verb", [verbs.merge, verbs.supersede])
def test_a_verb_of_two_needs_to_see_both(
    alice: User, bob: User, ledger: Group, garden: Group, memory: Memory, verb: Verb
) -> None:
    hidden = kept(person(alice), "The garden is in Bonn.", group="garden", scope="group")
    set_member(operator(), ledger, user=bob, role="curator")
    for ids in ((memory.id, hidden.id), (hidden.id, memory.id)):
        with pytest.raises(NotFound):
            verb(person(bob), *ids)
    assert {fresh(memory).state, fresh(hidden).state} == {"live"}


@pytest.mark.parametrize("verb", [verbs.merge, verbs.supersede])
def test_a_verb_that_finds_its_memory_changed_does_nothing(
    alice: User, memory: Memory, verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = kept(person(alice), "Deployments listen on the port 8081.", group="ledger")
    seen = target.find_shown

    def find_then_change(*args: Any, **kwargs: Any) -> Memory:
        found = seen(*args, **kwargs)
        Memory.objects.filter(pk=memory.pk).update(trust="verified")
        return found

    monkeypatch.setattr(f"{verb.__module__}.find_shown", find_then_change)
    with pytest.raises(Conflict, match="changed by another actor"):
        verb(person(alice), memory.id, other.id)
    assert (fresh(memory).state, fresh(other).confidence) == ("live", 0.7)


@pytest.mark.parametrize("name", ["supersede", "retract"])
def test_a_successor_that_went_meanwhile_takes_no_place(
    alice: User, memory: Memory, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verb, other = (
        verbs.VERBS[name],
        kept(person(alice), "Deployments listen on the port 8081.", group="ledger"),
    )
    check = target.check_successor

    def check_then_change(*args: Any, **kwargs: Any) -> None:
        check(*args, **kwargs)
        Memory.objects.filter(pk=other.pk).update(state="forgotten")

    monkeypatch.setattr(f"{verb.run.__module__}.check_successor", check_then_change)
    with pytest.raises(Conflict, match="is forgotten"):
        verb.apply(person(alice), memory.id, other=str(other.id), text=str(other.id))
    assert fresh(memory).state == "live"


def test_a_new_text_is_verified_only_if_a_curator_wrote_it(alice: User, bob: User, memory: Memory) -> None:
    for author, trust in ((alice, "verified"), (bob, "active")):
        if fresh(memory).trust != "verified":
            verbs.verify(person(alice), memory.id)
        edited = edit(person(author), memory.id, EditDraft(content=f"{TEXT} {author} says so.")).memory
        assert edited.trust == trust


@pytest.mark.parametrize("change", [{"tags": ("ports",)}, {"content": "The deploy port is 8082."}])
def test_an_edit_does_not_overwrite_one_made_meanwhile(
    alice: User, memory: Memory, change: dict[str, Any]
) -> None:
    ready = prepare_edit(person(alice), memory.id, EditDraft(**change))
    edit(person(alice), memory.id, EditDraft(importance=9))
    with pytest.raises(Conflict, match="changed by another actor"), transaction.atomic():
        carry_out_edit(person(alice), ready, reason="")
    assert (fresh(memory).state, fresh(memory).tags, fresh(memory).importance) == ("live", [], 9)


def test_an_agent_asks_to_restore_what_a_person_forgot(alice: User, bob: User, memory: Memory) -> None:
    verbs.forget(person(alice), memory.id)
    assert verbs.restore(agent(bob), memory.id).queued == "a person forgot it, so a curator decides"
    assert fresh(memory).state == "forgotten"
    verbs.restore(person(bob), memory.id)
    verbs.forget(agent(bob), memory.id)
    assert not verbs.restore(agent(bob), memory.id).queued
