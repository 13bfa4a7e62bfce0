"""Chains of any depth lead to what counts now, in a fixed number of queries; their middle can be brought back by a person."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.errors import Conflict, InvalidInput, NotPermitted, TooLarge
from access.models import AuditEntry, Group
from access.tokens import operator
from access.visibility import Visibility
from memories.entities.statements import statements_around
from memories.lifecycle.verbs import forget, merge, restore, retract, supersede, verify
from memories.models import Memory
from memories.queries.versions import has_lapsed, head_keys, head_of, heads_of, path_to_head
from memories.queries.visibility import RECALLED, is_visible
from memories.recall import RecallRequest, recall
from memories.review.decide import ReviewDecision, decide
from relations.models import Relation
from tests.memories.builders import day, fresh, kept, row
from tests.memories.tables import all_rows
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

A, B, C = "The office is in Berlin.", "The office is in Hamburg.", "The office is in Lisbon."
DEPTH = 200


def chain_of(group: Group, *, one_root: bool) -> list[Memory]:
    """Write DEPTH memories, each superseded by the next; each a root of its own unless `one_root`."""
    rows: list[Memory] = []
    for at in range(DEPTH):
        root = rows[0] if one_root and rows else None
        rows.append(row(group, f"Step {at}.", version=at + 1, root=root))
    for old, new in pairwise(rows):
        Memory.objects.filter(pk=old.pk).update(state="superseded", superseded_by=new)
    return [fresh(each) for each in rows]


@pytest.mark.parametrize("one_root", [True, False])
def test_a_long_chain_resolves_in_three_queries(ledger: Group, one_root: bool) -> None:
    rows = chain_of(ledger, one_root=one_root)
    for start in (0, 1, DEPTH // 2):
        with CaptureQueriesContext(connection) as asked:
            assert head_of(rows[start]).key == rows[-1].key
        assert len(asked) <= 3
    assert path_to_head(rows[-3]) == [each.key for each in rows[-3:]]
    with CaptureQueriesContext(connection) as asked:
        heads = heads_of(rows)
    assert {head.key for head in heads.values()} == {rows[-1].key}
    assert len(asked) <= 2


def test_the_common_cases_take_one_query_or_none(ledger: Group) -> None:
    rows = chain_of(ledger, one_root=True)
    with CaptureQueriesContext(connection) as asked:
        assert head_of(rows[-1]).key == rows[-1].key
        assert head_of(rows[-2]).key == rows[-1].key
    assert len(asked) == 1


@pytest.mark.parametrize("end", ["valid_to", "expires_at"])
def test_a_memory_counts_until_its_end_and_has_lapsed_from_then_on(ledger: Group, end: str) -> None:
    memory = row(ledger, A, **{end: day(1)})
    just_before = day(1) - timedelta(microseconds=1)
    for moment, is_over in ((just_before, False), (day(1), True)):
        seen = Visibility(frozenset({ledger.key}), False, frozenset({"live"}), RECALLED, moment)
        assert (has_lapsed(memory, moment), is_visible(memory, seen)) == (is_over, not is_over)
    event = row(ledger, B, type="episodic", valid_to=day(1))
    assert not has_lapsed(event, day(2))


def test_a_circle_which_no_verb_makes_ends(ledger: Group) -> None:
    one, two, three = (row(ledger, text) for text in (A, B, C))
    for old, new in ((one, two), (two, three), (three, one)):
        Memory.objects.filter(pk=old.pk).update(superseded_by=new)
    assert path_to_head(fresh(one)) == [one.key, two.key, three.key]
    assert head_keys([two.key]) == {two.key: one.key}


def test_recall_by_a_former_id_gives_what_counts(alice: User, ledger: Group) -> None:
    rows = chain_of(ledger, one_root=False)
    found = recall(person(alice), RecallRequest(ids=(str(rows[0].id),)))
    assert [item.memory.key for item in found.items] == [rows[-1].key]


# supersede


def test_an_existing_memory_takes_anothers_place(alice: User, ledger: Group) -> None:
    old = kept(person(alice), A, group="ledger", valid_from=day(-30))
    by = kept(person(alice), B, group="ledger", valid_from=day(-3))
    done = supersede(person(alice), old.id, by.id, reason="they moved")
    now = fresh(old)
    assert (done.verb, done.state, done.successor, done.changed) == ("supersede", "superseded", by.id, 1)
    assert (now.superseded_by_id, now.valid_to, now.retired_at) == (by.pk, day(-3), None)
    assert (fresh(by).root_id, fresh(by).state) == (None, "live")
    logged = AuditEntry.objects.filter(memory_id=old.id).latest("seq")
    assert (logged.operation, logged.payload_row.payload["reason"]) == ("supersede", "they moved")
    past = recall(person(alice), RecallRequest("Where is the office?", group="ledger"))
    assert old.id not in [item.memory.id for item in past.items]


def test_a_dry_run_of_supersede_changes_nothing(alice: User, ledger: Group) -> None:
    old, by = kept(person(alice), A, group="ledger"), kept(person(alice), B, group="ledger")
    before = all_rows()
    done = supersede(person(alice), old.id, by.id, dry_run=True)
    assert (done.dry_run, done.changed) == (True, 0)
    assert all_rows() == before


def test_no_circle_can_be_made(alice: User, ledger: Group) -> None:
    one, two, three = (kept(person(alice), text, group="ledger") for text in (A, B, C))
    supersede(person(alice), one.id, two.id)
    supersede(person(alice), two.id, three.id)
    for old, by in ((three, one), (three, two), (three, three), (one, three)):
        with pytest.raises(Conflict, match=r"lead to the same memory|is stale"):
            supersede(person(alice), old.id, by.id)
    assert head_of(fresh(one)).key == three.key


def test_what_may_not_take_anothers_place(alice: User, bob: User, ledger: Group, garden: Group) -> None:
    old = kept(person(alice), A, group="ledger", scope="global")
    inner = kept(person(alice), B, group="ledger", scope="group")
    waits = kept(person(alice), C, group="ledger")
    other = kept(person(alice), "The garden is in Bonn.", group="garden", scope="group")
    Memory.objects.filter(pk=waits.pk).update(trust="candidate")
    for by, said in (
        (inner, "only in the group 'ledger'"),
        (waits, "is candidate"),
        (other, "what is to replace it to 'garden'"),
    ):
        with pytest.raises(Conflict, match=said):
            supersede(person(alice), old.id, by.id)
    forget(person(alice), inner.id)
    with pytest.raises(Conflict, match="is forgotten"):
        supersede(person(alice), old.id, inner.id)
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    good = kept(person(alice), "The office is in Porto.", group="ledger", scope="global")
    done = supersede(agent(bob), old.id, good.id)
    assert "wait for a curator" in done.queued
    assert fresh(old).state == "live"


def test_an_entitys_relations_follow_what_takes_its_place(alice: User, ledger: Group) -> None:
    old, by, shop = (
        kept(person(alice), text, group="ledger", type="entity")
        for text in ("Otto: mends bicycles", "Otto Berg: owns the bicycle shop", "Bicycle shop")
    )
    Relation.objects.create(group=ledger, subject=old, predicate="owns", object=shop)
    supersede(person(alice), old.id, by.id)
    assert [s.subject.key for s in statements_around(person(alice), fresh(by))] == [by.key]


# The middle of a chain


@pytest.fixture
def three(alice: User, ledger: Group) -> list[Memory]:
    """A, superseded by B, superseded by C, for all groups."""
    one = kept(person(alice), A, group="ledger", scope="global")
    two = kept(person(alice), B, supersedes=one.id)
    return [one, two, kept(person(alice), C, supersedes=two.id)]


def test_retracting_the_newest_brings_nothing_back_by_itself(alice: User, three: list[Memory]) -> None:
    retract(person(alice), three[2].id)
    assert [fresh(m).state for m in three] == ["superseded", "superseded", "retracted"]
    assert recall(person(alice), RecallRequest("Where is the office?", group="ledger")).items == ()


@pytest.mark.parametrize("retracted", [False, True])
def test_a_person_brings_a_former_version_back_as_the_newest(
    alice: User, three: list[Memory], retracted: bool
) -> None:
    if retracted:
        retract(person(alice), three[2].id)
    done = restore(person(alice), three[1].id, reason="it was right")
    new = Memory.objects.get(id=done.id)
    assert (new.pk, new.content, new.state, new.version) == (three[1].pk, B, "live", 4)
    assert fresh(three[2]).superseded_by_id == new.pk
    assert fresh(three[2]).state == ("retracted" if retracted else "superseded")
    assert {head_of(fresh(m)).key for m in three} == {new.key}
    found = recall(person(alice), RecallRequest("Where is the office?", group="ledger")).items
    assert [item.memory.id for item in found] == [new.id]
    row_ = AuditEntry.objects.filter(memory_id=new.id, operation="restore").get()
    assert row_.payload_row.payload["reason"] == "it was right"


@pytest.mark.parametrize("retracted", [False, True])
def test_bringing_a_version_back_can_be_tried_dry(alice: User, three: list[Memory], retracted: bool) -> None:
    if retracted:
        retract(person(alice), three[2].id)
    before = all_rows()
    done = restore(person(alice), three[1].id, dry_run=True)
    assert (done.dry_run, done.changed, done.changes["content"]) == (True, 0, [C, B])
    assert all_rows() == before


def test_whoever_may_write_brings_a_former_version_back_unless_a_person_stands_behind_the_newest(
    alice: User, bob: User, three: list[Memory]
) -> None:
    with pytest.raises(NotPermitted):
        restore(agent(alice, scopes=["read"]), three[1].id)
    restore(agent(bob, name="bobs"), three[1].id)
    restore(person(bob), three[2].id)
    head = Memory.objects.get(state="live")
    assert head.content == C
    verify(person(alice), head.id)
    assert "a person verified it" in restore(agent(alice, name="hers"), three[1].id).queued
    assert fresh(head).state == "live"


def test_a_retracted_middle_does_not_come_back(alice: User, three: list[Memory]) -> None:
    # The middle's own text was retracted under another memory.
    twin = row(three[1].group, B, type="procedural", scope="global")
    retract(person(alice), twin.id)
    with pytest.raises(Conflict, match="was retracted here before"):
        restore(person(alice), three[1].id)


def test_a_forgotten_newest_is_restored_first(alice: User, three: list[Memory]) -> None:
    forget(person(alice), three[2].id)
    with pytest.raises(Conflict, match=f"{three[2].id}, the current version, is forgotten"):
        restore(person(alice), three[1].id)
    assert restore(person(alice), three[2].id).state == "live"
    assert fresh(three[2]).decayed_at is not None


def test_forgetting_by_a_middles_id_hides_the_newest_and_restores_it(
    alice: User, three: list[Memory]
) -> None:
    assert forget(person(alice), three[1].id).id == three[2].id
    assert fresh(three[1]).state == "superseded"


def test_a_version_whose_text_is_live_elsewhere_stays_history(alice: User, three: list[Memory]) -> None:
    retract(person(alice), three[2].id)
    twin = row(three[1].group, B, scope="global")
    with pytest.raises(Conflict, match=str(twin.id)):
        restore(person(alice), three[1].id)


# Retracting with a successor


def test_the_right_text_stands_in_the_wrong_ones_place(alice: User, ledger: Group) -> None:
    wrong = kept(person(alice), A, group="ledger", valid_from=day(-9))
    done = retract(person(alice), wrong.id, successor=B, reason="never was there")
    now, right = fresh(wrong), Memory.objects.get(id=done.successor)
    assert (now.state, now.superseded_by_id, now.valid_to) == ("retracted", right.pk, None)
    assert (right.content, right.state, right.root_id, right.valid_from) == (B, "live", wrong.pk, day(-9))
    found = recall(person(alice), RecallRequest(ids=(str(wrong.id),))).items
    assert [item.memory.id for item in found] == [right.id]


def test_a_successor_may_be_there_already(alice: User, ledger: Group) -> None:
    wrong, right = kept(person(alice), A, group="ledger"), kept(person(alice), B, group="ledger")
    for successor in (str(right.id), B):  # the text of a live memory means that memory
        done = retract(person(alice), wrong.id, successor=successor, dry_run=True)
        assert done.successor == right.id
    retract(person(alice), wrong.id, successor=right.id)
    assert (fresh(wrong).superseded_by_id, fresh(right).root_id) == (right.pk, None)


def test_a_successor_that_says_the_same_is_refused(alice: User, ledger: Group) -> None:
    wrong = kept(person(alice), A, group="ledger")
    before = all_rows()
    for text in (A, A.upper(), "The  office is in\u200b Berlin."):
        with pytest.raises(InvalidInput) as error:
            retract(person(alice), wrong.id, successor=text)
        assert error.value.field == "successor"
    with pytest.raises(Conflict, match="lead to the same memory"):
        retract(person(alice), wrong.id, successor=wrong.id)
    assert all_rows() == before


@pytest.mark.parametrize(
    "text", ["half \ud800", "a\x00b", "\u200b", "x" * 2_000_000], ids=["half", "nul", "empty", "long"]
)
def test_a_successor_that_is_no_text_is_refused(alice: User, ledger: Group, text: str) -> None:
    wrong = kept(person(alice), A, group="ledger")
    with pytest.raises((InvalidInput, TooLarge)) as error:
        retract(person(alice), wrong.id, successor=text)
    assert (error.value.field, fresh(wrong).state) == ("successor", "live")


def test_a_successor_by_an_agent_waits_where_agents_wait(alice: User, ledger: Group) -> None:
    wrong = kept(person(alice), A, group="ledger")
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    done = retract(agent(alice), wrong.id, successor=B)
    assert "wait for a curator" in done.queued
    assert fresh(wrong).state == "live"
    assert not Memory.objects.filter(content=B).exists()
    decide(person(alice), ReviewDecision("approve", proposal=done.proposal))
    assert fresh(wrong).state == "retracted"
    assert (fresh(wrong).superseded_by.content, fresh(wrong).superseded_by.trust) == (B, "active")
    assert fresh(wrong).superseded_by.root_id == wrong.pk


def test_a_dry_run_with_a_successor_changes_nothing(alice: User, ledger: Group) -> None:
    wrong = kept(person(alice), A, group="ledger")
    before = all_rows()
    done = retract(person(alice), wrong.id, successor=B, dry_run=True)
    assert (done.state, done.changed, done.successor) == ("retracted", 0, None)
    assert all_rows() == before


@pytest.mark.parametrize("state", ["dormant", "merged", "expired", "forgotten"])
def test_what_is_hidden_can_be_retracted_itself(alice: User, ledger: Group, state: str) -> None:
    hidden, other = kept(person(alice), A, group="ledger"), kept(person(alice), B, group="ledger")
    pointer = other if state == "merged" else None
    Memory.objects.filter(pk=hidden.pk).update(state=state, superseded_by=pointer)
    done = retract(person(alice), hidden.id, successor=C)
    assert (done.id, fresh(hidden).state) == (hidden.id, "retracted")
    assert head_of(fresh(hidden)).content == C
    assert fresh(other).state == "live"


def test_a_successor_must_be_seen_wherever_the_wrong_one_was(
    alice: User, ledger: Group, garden: Group
) -> None:
    wrong = kept(person(alice), A, group="ledger", scope="global")
    inner = kept(person(alice), B, group="ledger", scope="group")
    with pytest.raises(Conflict, match="visible only in the group 'ledger'"):
        retract(person(alice), wrong.id, successor=inner.id)
    assert fresh(wrong).state == "live"


def test_merges_and_replacements_lead_on_together(alice: User, ledger: Group) -> None:
    one, two, three = (kept(person(alice), text, group="ledger") for text in (A, B, C))
    merge(operator(), one.id, two.id)
    supersede(person(alice), two.id, three.id)
    assert head_of(fresh(one)).key == three.key
