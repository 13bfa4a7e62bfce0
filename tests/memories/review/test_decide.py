"""Review decisions and their undo: each one both ways, and with changes in between."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from access.audit.verify import is_log_whole
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.admin.review import parse_entries
from memories.lifecycle.verbs import dispute, forget, verify
from memories.models import Link, Memory, RecallLog
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.review.decide import CHOICES, MAX_AT_ONCE, ReviewDecision, decide, decide_many, take_back
from memories.review.preview import preview_effect
from memories.review.queue import review_deck
from memories.store import pieces
from tests.memories.builders import fresh, keep, kept, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
OLD, NEW = "The deploy port of the ledger is 8082.", "The deploy port of the ledger is 8443."


def standing(memory: Memory) -> tuple[str, str]:
    now = fresh(memory)
    return now.state, now.trust


def fields(memory: Memory) -> dict[str, Any]:
    """Everything that a decision may change."""
    now = fresh(memory)
    names = ("content", "state", "trust", "tags", "confidence", "importance", "pinned", "superseded_by_id",
             "valid_to", "valid_to_known_at", "retired_at", "root_id", "version")  # fmt: skip
    return {name: getattr(now, name) for name in names}


@pytest.fixture
def waits(ledger: Group) -> Memory:
    return row(ledger, "It waits.", trust="candidate")


@pytest.fixture
def pair(alice: User, ledger: Group) -> tuple[Memory, Memory, Link]:
    """An older and a newer memory that contradict each other, and the link that says so."""
    old = kept(person(alice), OLD, group="ledger", scope="group")
    new = keep(person(alice), NEW, group="ledger", scope="group").memory
    assert new is not None
    return old, new, Link.objects.get(kind="conflict")


@pytest.mark.parametrize(("verb", "trust"), [("approve", "active"), ("reject", "rejected")])
@pytest.mark.parametrize("before", ["candidate", "quarantined"])
def test_a_trust_is_decided_and_taken_back(
    alice: User, ledger: Group, verb: str, trust: str, before: str
) -> None:
    memory = row(ledger, "It waits.", trust=before)
    was = fields(memory)
    done = decide(person(alice), ReviewDecision(verb, memory.id, reason="seen"))
    assert standing(memory) == ("live", trust)
    assert len(done.entries) == 1
    assert take_back(person(alice), done.entries) == (f"its trust is “{before}” again",)
    assert fields(memory) == was
    assert is_log_whole()
    last = AuditEntry.objects.order_by("-key")[0]
    assert (last.operation, last.actor) == ("trust", "alice")
    assert last.payload_row.payload["reason"] == f"audit row {done.entries[0]} was undone"


def test_what_was_changed_since_is_not_taken_back(alice: User, waits: Memory) -> None:
    done = decide(person(alice), ReviewDecision("approve", waits.id))
    verify(person(alice), waits.id)
    with pytest.raises(Conflict, match="has changed since: it is live and verified"):
        take_back(person(alice), done.entries)
    forgotten = decide(person(alice), ReviewDecision("reject", waits.id))
    forget(person(alice), waits.id)
    with pytest.raises(Conflict):
        take_back(person(alice), forgotten.entries)


def test_a_decision_is_taken_back_once(alice: User, waits: Memory) -> None:
    done = decide(person(alice), ReviewDecision("approve", waits.id))
    take_back(person(alice), done.entries)
    with pytest.raises(Conflict):
        take_back(person(alice), done.entries)


def test_a_dismissed_link_is_open_again(alice: User, pair: tuple[Memory, Memory, Link]) -> None:
    link = pair[2]
    done = decide(person(alice), ReviewDecision("dismiss", link=link.id))
    link.refresh_from_db()
    assert (link.status, link.settled_by) == ("dismissed", "alice")
    take_back(person(alice), done.entries)
    link.refresh_from_db()
    assert (link.status, link.settled_by, link.settled_at) == ("open", "", None)
    with pytest.raises(Conflict, match="undone already"):
        take_back(person(alice), done.entries)


def test_a_conflict_is_resolved_by_the_newer_and_comes_back(
    alice: User, pair: tuple[Memory, Memory, Link]
) -> None:
    old, new, link = pair
    was = fields(old), fields(new)
    done = decide(person(alice), ReviewDecision("supersede", new.id, other=old.id, link=link.id))
    assert (fresh(old).state, fresh(old).superseded_by_id) == ("superseded", new.pk)
    link.refresh_from_db()
    assert link.status == "settled"
    assert len(done.entries) == 2
    assert done.id == old.id
    said = take_back(person(alice), done.entries)
    assert said == (f"{old.id} is current again", "the link is open again")
    assert (fields(old), fields(new)) == was
    link.refresh_from_db()
    assert link.status == "open"
    assert is_log_whole()


def test_an_entitys_relations_move_and_move_back(alice: User, ledger: Group) -> None:
    from memories.entities.store_relation import RelationDraft, store_relation
    from relations.models import Relation

    store_relation(person(alice), RelationDraft("Vault", "runs on", "server seven", group="ledger"))
    vault = Memory.objects.get(content="Vault")
    newer = kept(person(alice), "Vault, the secret store", type="entity", group="ledger", scope=vault.scope)
    done = decide(person(alice), ReviewDecision("supersede", newer.id, other=vault.id))
    assert Relation.objects.get().subject_id == newer.pk
    take_back(person(alice), done.entries)
    assert (Relation.objects.get().subject_id, standing(vault)) == (vault.pk, ("live", "active"))


def test_a_replacement_is_not_taken_back_where_its_text_is_live_again(
    alice: User, pair: tuple[Memory, Memory, Link]
) -> None:
    old, new, _ = pair
    done = decide(person(alice), ReviewDecision("supersede", new.id, other=old.id))
    row(old.group, OLD, scope="group")
    with pytest.raises(Conflict, match="same text is live"):
        take_back(person(alice), done.entries)
    assert fresh(old).state == "superseded"


def test_a_candidate_that_replaces_is_approved_first(alice: User, ledger: Group, waits: Memory) -> None:
    other = row(ledger, "It stands.")
    done = decide(person(alice), ReviewDecision("supersede", waits.id, other=other.id))
    assert (standing(waits), standing(other)) == (("live", "active"), ("superseded", "active"))
    take_back(person(alice), done.entries)
    assert (standing(waits), standing(other)) == (("live", "candidate"), ("live", "active"))


def test_what_was_replaced_already_is_a_conflict(alice: User, pair: tuple[Memory, Memory, Link]) -> None:
    old, new, link = pair
    decision = ReviewDecision("supersede", new.id, other=old.id, link=link.id)
    decide(person(alice), decision)
    with pytest.raises(Conflict, match="is stale"):
        decide(person(alice), decision)


def test_approving_a_correction_replaces_and_brings_the_former_text_back(alice: User, ledger: Group) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    old = kept(person(alice), OLD, group="ledger", scope="group")
    queued = keep(agent(alice), NEW, group="ledger", scope="group", supersedes=old.id).memory
    assert queued is not None
    standing_before = standing(old)
    done = decide(person(alice), ReviewDecision("approve", queued.id))
    assert (standing(queued), fresh(old).state) == (("live", "active"), "superseded")
    take_back(person(alice), done.entries)
    assert standing(old) == standing_before
    assert standing(queued) == ("live", "candidate")
    assert Link.objects.get().status == "open"


def test_replacing_what_the_candidate_was_written_to_replace_is_one_decision(
    alice: User, ledger: Group
) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    old = kept(person(alice), OLD, group="ledger", scope="group")
    queued = keep(agent(alice), NEW, group="ledger", scope="group", supersedes=old.id).memory
    assert queued is not None
    decide(person(alice), ReviewDecision("supersede", queued.id, other=old.id, link=Link.objects.get().id))
    assert (standing(queued), fresh(old).superseded_by_id) == (("live", "active"), queued.pk)


@pytest.mark.parametrize("content", ["", "Production of the ledger is in a rack in Hamburg."])
def test_a_merge_is_taken_apart(alice: User, ledger: Group, content: str) -> None:
    one = kept(person(alice), "The ledger is served from Hamburg.", group="ledger", tags=("a",))
    two = kept(
        person(alice), "Production of the ledger stands in a rack in Hamburg.", group="ledger", confidence=0.9
    )
    link, _ = Link.objects.get_or_create(kind="duplicate", source=two, target=one)
    done = decide(person(alice), ReviewDecision("merge", one.id, other=two.id, link=link.id, content=content))
    link.refresh_from_db()
    assert (fresh(one).state, link.status) == ("merged", "settled")
    take_back(person(alice), done.entries)
    link.refresh_from_db()
    assert (standing(one), link.status) == (("live", "active"), "open")
    live = Memory.objects.filter(state="live").exclude(pk=one.pk).get()
    assert (live.content, live.tags, live.confidence) == (two.content, [], 0.9)


def test_an_edit_is_taken_back_by_the_former_version(alice: User, waits: Memory) -> None:
    done = decide(person(alice), ReviewDecision("edit", waits.id, content="It waits no more."))
    assert Memory.objects.get(state="live").trust == "candidate"
    take_back(person(alice), done.entries)
    live = Memory.objects.get(state="live")
    assert (live.content, live.version, live.trust) == ("It waits.", 1, "candidate")


def test_a_text_whose_vectors_are_owed_does_not_wait_for_a_person(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = kept(person(alice), "The port is 8081.", group="ledger")
    monkeypatch.setattr(pieces, "MAX_WINDOWS", 0)
    done = decide(person(alice), ReviewDecision("edit", memory.id, content="The port is 8082."))
    assert done.consequences == ("a new version has this text",)


def test_an_edit_and_its_approval_are_one_decision(alice: User, waits: Memory) -> None:
    done = decide(person(alice), ReviewDecision("edit-approve", waits.id, content="It waits no more."))
    live = Memory.objects.get(state="live")
    assert (live.content, live.trust) == ("It waits no more.", "active")
    take_back(person(alice), done.entries)
    live = Memory.objects.get(state="live")
    assert (live.content, live.trust) == ("It waits.", "candidate")


@pytest.mark.parametrize(
    ("decision", "field"),
    [
        (ReviewDecision("purge"), "verb"),
        (ReviewDecision("merge"), "other"),
        (ReviewDecision("edit", content=" "), "content"),
        (ReviewDecision("dismiss"), "link"),
    ],
)
def test_what_a_decision_lacks_is_said(
    alice: User, waits: Memory, decision: ReviewDecision, field: str
) -> None:
    asked = ReviewDecision(decision.verb, waits.id, content=decision.content)
    with pytest.raises(InvalidInput) as refused:
        decide(person(alice), asked)
    assert refused.value.field == field


def test_a_dry_run_says_what_follows_and_changes_nothing(
    alice: User, pair: tuple[Memory, Memory, Link]
) -> None:
    old, new, link = pair
    rows, was = AuditEntry.objects.count(), (fields(old), fields(new))
    decision = ReviewDecision("supersede", new.id, other=old.id, link=link.id)
    would = decide(person(alice), decision, dry_run=True)
    assert would.consequences == (f"{new.id} takes its place, and its id leads there", "the link is settled")
    assert would.entries == ()
    assert (AuditEntry.objects.count(), (fields(old), fields(new))) == (rows, was)
    link.refresh_from_db()
    assert link.status == "open"


def test_many_are_decided_and_what_fails_is_named(alice: User, ledger: Group, garden: Group) -> None:
    rows = [row(ledger, f"waits {n}", trust="candidate") for n in range(4)]
    Memory.objects.filter(pk=rows[2].pk).update(state="forgotten")
    decisions = [ReviewDecision("approve", one.id) for one in rows]
    would = decide_many(person(alice), decisions, dry_run=True)
    assert (len(would.done), [id_ for id_, _ in would.failed]) == (3, [rows[2].id])
    assert standing(rows[0]) == ("live", "candidate")
    found = decide_many(person(alice), decisions)
    assert [standing(one)[1] for one in rows] == ["active", "active", "candidate", "active"]
    assert "is forgotten" in found.failed[0][1]
    for done in reversed(found.done):
        take_back(person(alice), done.entries)
    assert {standing(one)[1] for one in rows} == {"candidate"}


def test_a_pair_among_many_is_refused_in_words_one_understands(
    alice: User, waits: Memory, pair: tuple[Memory, Memory, Link]
) -> None:
    link = pair[2]
    chosen = [ReviewDecision("approve", waits.id), ReviewDecision("approve", link=link.id)]
    failed = decide_many(person(alice), chosen, dry_run=True).failed
    assert [(id_, why.split(" Open the card")[0]) for id_, why in failed] == [
        (link.id, "This card is about two memories, and 'approve' takes one.")
    ]
    ((id_, why),) = decide_many(person(alice), [ReviewDecision("dismiss", waits.id)]).failed
    assert (id_, why.split(" Approve")[0]) == (
        waits.id,
        "Only a possible duplicate or a conflict can be dismissed.",
    )


def test_many_have_a_limit_and_only_verbs_that_need_no_other(alice: User, waits: Memory) -> None:
    with pytest.raises(InvalidInput, match="too many"):
        decide_many(person(alice), [ReviewDecision("approve", waits.id)] * (MAX_AT_ONCE + 1))
    with pytest.raises(InvalidInput) as refused:
        decide_many(person(alice), [ReviewDecision("merge", waits.id)])
    assert refused.value.field == "verb"


def test_only_a_person_who_curates_decides_and_takes_back(
    alice: User, bob: User, charlie: User, ledger: Group, garden: Group, waits: Memory
) -> None:
    hidden = row(garden, "hers", trust="candidate")
    done = decide(person(alice), ReviewDecision("approve", waits.id))
    theirs = decide(person(alice), ReviewDecision("approve", hidden.id))
    robot = agent(alice, scopes=("read", "write", "curate"))
    with pytest.raises(NotPermitted):
        decide(robot, ReviewDecision("reject", waits.id))
    with pytest.raises(NotPermitted):
        take_back(robot, done.entries)
    for actor, refusal in ((person(bob), NotPermitted), (person(charlie), NotFound)):
        with pytest.raises(refusal):
            decide(actor, ReviewDecision("reject", waits.id))
        with pytest.raises(refusal):
            take_back(actor, done.entries)
    set_member(operator(), ledger, user=bob, role="curator")
    take_back(person(bob), done.entries)  # another curator may, in his own group
    assert standing(waits) == ("live", "candidate")
    with pytest.raises(NotFound):
        take_back(person(bob), theirs.entries)
    with pytest.raises(NotFound):
        decide(person(bob), ReviewDecision("reject", hidden.id))


def test_a_link_is_closed_once_by_a_person_who_curates_and_sees_both_ends(
    alice: User, bob: User, ledger: Group, garden: Group, pair: tuple[Memory, Memory, Link]
) -> None:
    dismissal = ReviewDecision("dismiss", link=pair[2].id)
    for actor in (agent(alice, scopes=("read", "write", "curate")), person(bob)):
        with pytest.raises(NotPermitted):
            decide(actor, dismissal)
    done = decide(person(alice), dismissal)
    with pytest.raises(Conflict, match="already closed"):
        decide(person(alice), dismissal)
    with pytest.raises(NotPermitted):
        take_back(person(bob), done.entries)
    assert Link.objects.get(pk=pair[2].pk).status == "dismissed"
    set_member(operator(), ledger, user=bob, role="curator")
    half_seen = Link.objects.create(kind="conflict", source=pair[0], target=row(garden, "hers"))
    with pytest.raises(NotFound):
        decide(person(bob), ReviewDecision("dismiss", link=half_seen.id))
    take_back(person(bob), done.entries)


@pytest.mark.parametrize("entries", [("instance.1",) * 7, ("instance.999999",), ("1",), ("instance.x",)])
def test_rows_that_are_none_are_refused(alice: User, waits: Memory, entries: tuple[str, ...]) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        take_back(person(alice), entries)


def test_a_decision_without_an_undo_says_so(alice: User, waits: Memory) -> None:
    with pytest.raises(Conflict, match="This decision has no undo"):
        take_back(person(alice), ())


def test_what_is_no_decision_is_not_taken_back(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), "A text.", group="ledger")
    dispute(person(alice), memory.id)
    name = AuditEntry.objects.order_by("-key")[0].name
    with pytest.raises(Conflict, match="'dispute' cannot be undone from here"):
        take_back(person(alice), (name,))


def test_all_of_a_decision_is_taken_back_or_nothing(alice: User, pair: tuple[Memory, Memory, Link]) -> None:
    old, new, link = pair
    done = decide(person(alice), ReviewDecision("supersede", new.id, other=old.id, link=link.id))
    forget(person(alice), new.id)
    Memory.objects.filter(pk=old.pk).update(state="forgotten")
    with pytest.raises(Conflict):
        take_back(person(alice), done.entries)
    link.refresh_from_db()
    assert link.status == "settled"


def test_recall_before_and_after_is_asked_for_real_and_leaves_nothing(
    alice: User, pair: tuple[Memory, Memory, Link]
) -> None:
    old, new, link = pair
    rows = AuditEntry.objects.count()
    effect = preview_effect(
        person(alice),
        ReviewDecision("supersede", new.id, other=old.id, link=link.id),
        question="which deploy port",
    )
    assert {line.memory.pk: line.change for line in effect.lines}[old.pk] == "gone"
    assert {line.memory.pk: line.after for line in effect.lines}[new.pk] == 1
    assert (effect.is_answered_before, effect.is_answered_after, effect.is_unchanged) == (True, True, False)
    assert AuditEntry.objects.count() == rows
    assert standing(old) == ("live", "active")
    COUNTER.flush()
    assert RecallLog.objects.count() == 0
    recall(person(alice), RecallRequest(query="which deploy port", group="ledger"))  # this one is counted
    COUNTER.flush()
    assert RecallLog.objects.count() == 1


def test_what_is_approved_comes_into_the_answer(alice: User, ledger: Group) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    queued = keep(agent(alice), NEW, group="ledger", scope="group").memory
    assert queued is not None
    effect = preview_effect(person(alice), ReviewDecision("approve", queued.id))
    assert [(line.before, line.after, line.change) for line in effect.lines] == [(None, 1, "new")]
    assert not effect.is_answered_before
    assert effect.question == NEW
    assert [card.id for card in review_deck(person(alice)).cards] == [queued.id]
    assert preview_effect(person(alice), ReviewDecision("reject", queued.id)).is_unchanged


def test_every_button_of_a_card_has_a_key_of_its_own_and_can_be_undone() -> None:
    buttons = [choice for choice in CHOICES.values() if choice.key]
    assert len({choice.key for choice in buttons}) == len(buttons) == 11
    assert all(choice.help and choice.past for choice in buttons)
    # What the guard masked does not come back.
    assert [choice.verb for choice in buttons if not choice.undo] == ["mask"]


def test_entries_nested_too_deep_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not a list of lists"):
        parse_entries("[" * 100_000)
