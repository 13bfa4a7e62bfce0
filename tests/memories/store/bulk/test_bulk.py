"""Bulk stores follow the rules of the write path, and merge no events."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.actor import Actor
from access.audit.verify import is_log_whole
from access.models import AuditEntry, CandidatePolicy, Group
from access.tokens import operator
from memories.draft import Draft
from memories.lifecycle.verbs import purge, reject, retract
from memories.models import Link, LinkKind, Memory, Thread
from memories.queries.snapshot import RELATED_ROWS, snapshot
from memories.search.base import search_index
from memories.store import bulk as batch
from memories.store.bulk import BatchResult, store_many
from memories.types import State, Trust
from tests.memories.builders import day, fresh, keep, kept
from tests.memories.store.bulk.drafts import counts, fact
from tests.people import agent, person

pytestmark = pytest.mark.django_db


def turn(text: str, ref: str = "", /, **fields: Any) -> Draft:
    """A turn of the chat "monday"."""
    return Draft(
        text, **{"type": "episodic", "thread": "monday", "source": "chat", "source_ref": ref} | fields
    )


@pytest.fixture
def actor(alice: User) -> Actor:
    return replace(person(alice), default_group="ledger")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BATCH_DRAFTS", 3)


def test_turns_are_kept_in_order_and_never_merged(actor: Actor, ledger: Group) -> None:
    said = ["Yes.", "Yes.", "Shall we ship?", "Yes."]
    result = store_many(actor, [turn(text, f"t{n}", valid_from=day(0)) for n, text in enumerate(said)])
    assert counts(result) == (4, 0, 0, 0, 0)
    rows = Memory.objects.filter(thread__name="monday").order_by("position")
    assert [(row.content, row.position, row.source_ref) for row in rows] == [
        ("Yes.", 0, "t0"),
        ("Yes.", 1, "t1"),
        ("Shall we ship?", 2, "t2"),
        ("Yes.", 3, "t3"),
    ]
    assert list(result.ids) == [row.id for row in rows]
    assert {row.scope for row in rows} == {"group"}


def test_a_second_time_nothing_changes(actor: Actor, ledger: Group) -> None:
    drafts = [
        turn("One.", "a"),
        turn("Two.", "b"),
        fact("The port is 8081.", "c"),
        fact("The port is 8081.", "d"),
    ]
    first = store_many(actor, drafts)
    rows = AuditEntry.objects.count()
    again = store_many(actor, drafts)
    assert counts(first) == (3, 1, 0, 0, 0)
    assert counts(again) == (0, 0, 4, 0, 0)
    assert again.ids == first.ids
    assert AuditEntry.objects.count() == rows


def test_what_is_stored_already_is_not_embedded_again(
    actor: Actor, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_many(actor, [turn("One.", "a"), turn("Two.", "b")])
    embedded: list[str] = []
    real = batch.embed_or_owe
    monkeypatch.setattr(
        batch,
        "embed_or_owe",
        lambda p, encoder: embedded.extend(x.content for x in p) or real(p, encoder=encoder),
    )
    store_many(actor, [turn("One.", "a"), turn("Two.", "b"), turn("Three.", "c")])
    assert embedded == ["Three."]


def test_exact_duplicates_are_kept_as_wordings_that_lead_to_the_memory(actor: Actor, ledger: Group) -> None:
    port = kept(actor, "The port is 8081.", scope="group", group="ledger")
    result = store_many(
        actor, [fact("The port is 8081.", "w1"), fact("Ann leads.", "w2"), fact("Ann leads.", "w3")]
    )
    assert counts(result) == (1, 2, 0, 0, 0)
    merged = {m.source_ref: m for m in Memory.objects.filter(state=State.MERGED)}
    assert merged["w1"].superseded_by == port
    assert merged["w3"].superseded_by is not None
    assert merged["w3"].superseded_by.source_ref == "w2"
    assert result.ids == (port.id, merged["w3"].superseded_by.id, merged["w3"].superseded_by.id)
    # alice stored it herself today, so her file confirms nothing
    assert fresh(port).confidence == 0.7


def test_a_restatement_by_somebody_else_raises_confidence_once(
    actor: Actor, bob: User, ledger: Group
) -> None:
    port = kept(actor, "The port is 8081.", scope="group", group="ledger")
    bobs = agent(bob, default_group=ledger)
    store_many(bobs, [fact("The port is 8081.", "w1"), fact("The port is 8081.", "w2")])
    assert fresh(port).confidence == pytest.approx(0.8)


def test_a_duplicate_without_a_source_leaves_no_row(actor: Actor, ledger: Group) -> None:
    result = store_many(actor, [fact("Ann leads."), fact("Ann leads.")])
    assert counts(result) == (1, 1, 0, 0, 0)
    assert Memory.objects.count() == 1


def test_a_changed_source_is_a_new_version_in_the_same_place(actor: Actor, ledger: Group) -> None:
    store_many(actor, [turn("One.", "a"), turn("Tow.", "b"), turn("Three.", "c")])
    result = store_many(actor, [turn("One.", "a"), turn("Two.", "b"), turn("Three.", "c")])
    assert counts(result) == (1, 0, 2, 0, 0)
    old, new = Memory.objects.get(content="Tow."), Memory.objects.get(content="Two.")
    assert (old.state, old.superseded_by, new.root, new.version) == (State.SUPERSEDED, new, old, 2)
    assert (new.thread, new.position) == (old.thread, 1)
    assert new.context == "One.\nThree."
    assert Memory.objects.get(content="One.").context == "Two."
    assert counts(store_many(actor, [turn("Two.", "b")])) == (0, 0, 1, 0, 0)
    assert search_index().find_errors() == []


def test_a_source_named_twice_in_one_file_is_read_in_order(actor: Actor, ledger: Group) -> None:
    result = store_many(actor, [fact("Draft.", "a"), fact("Final.", "a"), fact("Final.", "a")])
    assert counts(result) == (2, 0, 1, 0, 0)
    assert list(Memory.objects.filter(state=State.LIVE).values_list("content", flat=True)) == ["Final."]


def test_a_source_that_now_says_what_another_says_leads_to_that_one(actor: Actor, ledger: Group) -> None:
    store_many(actor, [fact("Ann leads.", "a"), fact("Bea leads.", "b")])
    changed = [fact("Ann leads.", "a"), fact("Ann leads.", "b")]
    assert counts(store_many(actor, changed)) == (0, 1, 1, 0, 0)
    ann, bea = Memory.objects.get(content="Ann leads."), Memory.objects.get(content="Bea leads.")
    assert (bea.state, bea.superseded_by) == (State.SUPERSEDED, ann)
    assert counts(store_many(actor, changed)) == (0, 0, 2, 0, 0)
    # b moves on: what a says still stands
    assert counts(store_many(actor, [fact("Cleo leads.", "b")])) == (1, 0, 0, 0, 0)
    assert fresh(ann).state == State.LIVE
    assert counts(store_many(actor, [fact("Cleo leads.", "b")])) == (0, 0, 1, 0, 0)


def test_a_correction_by_a_person_stays_when_the_file_comes_again(actor: Actor, ledger: Group) -> None:
    store_many(actor, [fact("The port is 8081.", "a")])
    old = Memory.objects.get()
    new = keep(actor, "The port is 9000.", scope="group", supersedes=old.id).memory
    assert new is not None
    result = store_many(actor, [fact("The port is 8081.", "a")])
    assert (counts(result), result.ids) == ((0, 0, 1, 0, 0), (new.id,))


def test_withdrawn_and_purged_texts_are_refused(actor: Actor, ledger: Group) -> None:
    retract(actor, kept(actor, "The moon is cheese.", scope="group", group="ledger").id, reason="no")
    purge(actor, kept(actor, "Ann's code is 1234.", scope="group", group="ledger").id)
    result = store_many(
        actor, [fact("the moon is CHEESE.", "a"), fact("Ann's code is 1234.", "b"), fact("Fine.", "c")]
    )
    assert counts(result) == (1, 0, 0, 0, 2)
    assert [(r.index, r.why) for r in result.refused] == [
        (0, "this text was retracted here before: no. A curator can lift the tombstone."),
        (1, "this text was purged here before: no reason was given. A curator can lift the tombstone."),
    ]
    assert AuditEntry.objects.filter(operation="refuse").count() == 2
    assert result.ids[0] is result.ids[1] is None


def test_a_text_that_a_person_turned_down_is_refused(actor: Actor, ledger: Group) -> None:
    reject(actor, kept(actor, "Buy now!", scope="group", group="ledger").id)
    result = store_many(actor, [fact("Buy now!", "a")])
    assert [r.why for r in result.refused] == [
        "this text was rejected here before: no reason was given. A curator can lift the tombstone."
    ]


def test_the_groups_policy_holds_for_imports(actor: Actor, ledger: Group) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy=CandidatePolicy.ALL)
    result = store_many(actor, [fact("Ann leads.", "a")])
    assert counts(result) == (0, 0, 0, 1, 0)
    assert Memory.objects.get().trust == Trust.CANDIDATE
    assert counts(store_many(actor, [fact("Ann leads.", "a")])) == (0, 0, 1, 0, 0)


def test_a_change_that_must_wait_leaves_the_old_text_and_is_tied_to_it(actor: Actor, ledger: Group) -> None:
    store_many(actor, [fact("Ann leads.", "a")])
    Group.objects.filter(pk=ledger.pk).update(policy=CandidatePolicy.ALL)
    assert counts(store_many(actor, [fact("Bea leads.", "a")])) == (0, 0, 0, 1, 0)
    ann, bea = Memory.objects.get(content="Ann leads."), Memory.objects.get(content="Bea leads.")
    assert (ann.state, bea.trust) == (State.LIVE, Trust.CANDIDATE)
    assert list(Link.objects.values_list("kind", "source", "target")) == [
        (LinkKind.CONFLICT, bea.key, ann.key)
    ]
    assert counts(store_many(actor, [fact("Bea leads.", "a")])) == (0, 0, 1, 0, 0)


def test_a_text_that_was_superseded_waits_for_a_person(actor: Actor, ledger: Group) -> None:
    old = kept(actor, "The port is 8081.", scope="group", group="ledger")
    keep(actor, "The port is 9000.", scope="group", supersedes=old.id)
    result = store_many(actor, [fact("The port is 8081.", "a")])
    assert counts(result) == (0, 0, 0, 1, 0)


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (Draft("  "), "'content' is empty."),
        (Draft("x", confidence=7), "confidence is 7"),
        (Draft("x", type="dream"), "'dream' is not a valid type."),
        (Draft("x", position=4), "neither supersedes nor position"),
        (Draft("x", group="No Group"), "'No Group' is not a valid group name."),
    ],
)
def test_a_draft_at_fault_is_refused_alone(actor: Actor, ledger: Group, draft: Draft, why: str) -> None:
    result = store_many(actor, [fact("Before.", "a"), draft, fact("After.", "b")])
    assert counts(result) == (2, 0, 0, 0, 1)
    assert result.refused[0].index == 1
    assert why in result.refused[0].why
    assert Memory.objects.count() == 2


def test_nothing_global_comes_into_a_private_group(actor: Actor, ledger: Group) -> None:
    Group.objects.filter(pk=ledger.pk).update(private=True)
    result = store_many(actor, [fact("Ann leads.", "a", scope="global"), fact("Bea writes.", "b")])
    assert counts(result) == (1, 0, 0, 0, 1)
    assert "private" in result.refused[0].why


def test_a_member_writes_only_where_the_role_reaches(bob: User, ledger: Group, garden: Group) -> None:
    result = store_many(
        agent(bob),
        [fact("Mine.", "a", group="ledger"), fact("Not mine.", "b", group="garden"), fact("x", "c")],
    )
    assert counts(result) == (1, 0, 0, 0, 2)
    assert [refusal.why.split(".")[0] for refusal in result.refused] == [
        "There is no group 'garden' that you may use",
        "No group is named and there is no default",
    ]


def test_groups_are_made_once_where_the_actor_may(alice: User) -> None:
    drafts = [fact(f"Fact {n}.", f"f{n}", group=f"new-{n % 2}") for n in range(6)]
    assert counts(store_many(operator(), drafts)) == (6, 0, 0, 0, 0)
    assert Counter(Memory.objects.values_list("group__slug", flat=True)) == {"new-0": 3, "new-1": 3}
    assert AuditEntry.objects.filter(operation="group").count() == 2


@pytest.mark.usefixtures("small_batches")
def test_contexts_across_batches_are_those_of_single_stores(
    actor: Actor, ledger: Group, garden: Group
) -> None:
    """Two chats take turns, with a wide memory between: seven drafts in batches of three."""
    chats = ["one", "two", "one", "one", "two", "two", "one"]
    scopes = ["group", "group", "global", "group", "group", "global", "group"]
    texts = ["apple", "brick", "cloud", "delta", "eagle", "flint", "grape"]
    drafts = [
        turn(text, thread=chat, scope=scope, tags=(f"tag-{text}",))
        for text, chat, scope in zip(texts, chats, scopes, strict=True)
    ]
    for draft in drafts:
        keep(actor, draft.content, **{**_fields(draft), "group": "garden"})
    store_many(actor, [replace(draft, group="ledger") for draft in drafts])
    single, together = _standing(garden), _standing(ledger)
    assert together == single
    # worked out by hand: in "one", group scope, apple – delta – grape; cloud is alone in its scope
    assert together["delta"] == ("one", 2, "tag-delta\napple\ngrape")
    assert together["cloud"] == ("one", 1, "tag-cloud")


def _fields(draft: Draft) -> dict[str, Any]:
    return {"type": draft.type, "thread": draft.thread, "scope": draft.scope, "tags": draft.tags}


def _standing(group: Group) -> dict[str, tuple[str, int | None, str]]:
    rows = Memory.objects.filter(group=group).select_related("thread")
    return {row.content: (row.thread.name if row.thread else "", row.position, row.context) for row in rows}


@pytest.mark.usefixtures("small_batches")
def test_a_thread_goes_on_after_what_is_there(actor: Actor, ledger: Group) -> None:
    keep(actor, "zero", type="episodic", thread="monday", group="ledger")
    store_many(actor, [turn("one"), turn("two"), turn("three"), turn("four")])
    assert list(Memory.objects.order_by("position").values_list("content", "position")) == [
        ("zero", 0),
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
    ]
    assert Memory.objects.get(content="zero").context == "one"
    assert Thread.objects.count() == 1


def test_each_memory_has_its_row_in_the_log_and_the_chain_holds(actor: Actor, ledger: Group) -> None:
    result = store_many(actor, [fact(f"Fact {n}.", f"f{n}") for n in range(5)])
    stored = AuditEntry.objects.filter(operation="store").order_by("seq")
    assert [entry.memory_id for entry in stored] == list(result.ids)
    assert stored[0].payload_row.payload["after"]["content"] == "Fact 0."
    assert is_log_whole()
    assert search_index().find_errors() == []


def test_the_number_of_queries_does_not_grow_with_the_batch(actor: Actor, ledger: Group) -> None:
    store_many(actor, [fact("Warm.", "warm")])

    def questions(size: int, name: str) -> int:
        drafts = [fact(f"{name} {n}.", f"{name}{n}") for n in range(size)]
        drafts += [turn(f"{name} turn {n}.", f"{name}t{n}", thread=f"{name}-{n % 3}") for n in range(size)]
        drafts += [fact(f"{name} 0.", f"{name}d{n}") for n in range(size)]
        with CaptureQueriesContext(
            connection,
        ) as captured:
            store_many(actor, drafts)
        # Many rows need several INSERTs and UPDATEs: a statement takes so many parameters at most.
        return sum(not q["sql"].startswith(("INSERT", "UPDATE")) for q in captured.captured_queries)

    assert questions(4, "small") == questions(40, "large")


@pytest.mark.usefixtures("small_batches")
def test_a_trial_writes_nothing_and_counts(actor: Actor, ledger: Group) -> None:
    store_many(actor, [fact("Fact 0.", "f0")])
    before = AuditEntry.objects.count()
    drafts = [fact(f"Fact {n}.", f"f{n}") for n in range(5)]
    assert counts(store_many(actor, drafts, dry_run=True)) == (4, 0, 1, 0, 0)
    assert Memory.objects.count() == 1
    assert AuditEntry.objects.count() == before


@pytest.mark.usefixtures("small_batches")
def test_progress_is_told_after_each_committed_batch(actor: Actor, ledger: Group) -> None:
    done: list[tuple[int, int]] = []
    drafts = [fact(f"Fact {n}.", f"f{n}") for n in range(7)]
    store_many(actor, drafts, on_progress=lambda n: done.append((n, Memory.objects.count())))
    assert done == [(3, 3), (6, 6), (7, 7)]


def test_the_log_says_of_each_row_what_a_snapshot_does(alice: User, ledger: Group) -> None:
    actor = replace(agent(alice, name="bot"), default_group="ledger")
    texts = ["Plain.", "Größe 100 %s", 'He said "no".', "Yes.\nNo.", "Owls 🦉"]
    drafts = [turn(text, f"t{n}", valid_from=day(n), confidence=n / 4) for n, text in enumerate(texts)]
    drafts += [
        fact(f"Fact {n}.", f"f{n}", tags=("a", "é") * (n % 2), metadata={"n": [n, None]} if n else {})
        for n in range(3)
    ]
    store_many(actor, drafts)
    rows = {row.id: row for row in Memory.objects.select_related(*RELATED_ROWS)}
    said = {row.memory_id: row.payload_row.payload for row in AuditEntry.objects.filter(operation="store")}
    assert len(rows) == 8
    assert said == {id_: {"after": snapshot(row)} for id_, row in rows.items()}
    assert is_log_whole()


def test_nothing_at_all_is_no_error(actor: Actor, ledger: Group) -> None:
    assert store_many(actor, []) == BatchResult()
