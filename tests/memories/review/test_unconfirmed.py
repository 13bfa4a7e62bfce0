"""The question "still true?": what is asked and when, in which order, and what an answer does."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from access.errors import NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditDraft, edit
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import changes_of, rows_of
from memories.models import Memory, MemoryFinding
from memories.recall import RecallRequest, recall
from memories.review.card import memory_card
from memories.review.decide import ReviewDecision, decide, take_back
from memories.review.queue import CardKind, review_deck
from memories.review.unconfirmed import AT_ONCE, UNCONFIRMED_SQL, find_unconfirmed
from tests.memories.builders import doubt, fresh, keep, kept, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
LATER = datetime(2999, 1, 1, tzinfo=UTC)


def aged(group: Group, content: str, /, days: float = 200, **fields: Any) -> Memory:
    """A memory that was stored so many days ago and not confirmed since."""
    return row(group, content, created_at=ago(days), confirmed_at=None, **fields)


def ago(days: float) -> Any:
    return timezone.now() - timedelta(days=days)


def replaced(group: Group, lives: list[float], **fields: Any) -> None:
    """Superseded memories that lived so many days."""
    for n, life in enumerate(lives):
        old = row(
            group,
            f"old {fields} {n}",
            state="superseded",
            created_at=ago(500),
            retired_at=ago(500 - life),
            **fields,
        )
        Memory.objects.filter(pk=old.pk).update(superseded_by=row(group, f"new {fields} {n}", **fields))


def asked(*groups: Group) -> list[str]:
    keys = find_unconfirmed([group.key for group in groups] or None)
    contents = dict(Memory.objects.values_list("key", "content"))
    return [contents[key] for key in keys]


@pytest.mark.parametrize(("type_", "limit"), [("semantic", 180), ("procedural", 365)])
@pytest.mark.parametrize("trust", ["active", "verified"])
def test_a_memory_is_asked_about_once_its_limit_has_passed(
    ledger: Group, type_: str, limit: int, trust: str
) -> None:
    aged(ledger, "younger", limit - 1, type=type_, trust=trust)
    aged(ledger, "older", limit + 1, type=type_, trust=trust)
    aged(ledger, "pinned", limit + 1, type=type_, trust=trust, pinned=True)
    assert asked(ledger) == ["older", "pinned"]


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "episodic"}, {"type": "entity"}, {"trust": "candidate"}, {"trust": "rejected"}, {"trust": "quarantined"},
        {"state": "dormant"}, {"state": "superseded"}, {"expires_at": LATER}, {"valid_to": LATER}, {"valid_from": LATER},
        {"source": "loci:compact"},
    ],
    ids=str,
)  # fmt: skip
def test_what_has_an_end_or_does_not_count_is_not_asked_about(ledger: Group, fields: dict[str, Any]) -> None:
    aged(ledger, "text", **fields)
    assert asked(ledger) == []


def test_what_another_card_decides_is_not_asked_about(ledger: Group) -> None:
    doubt(aged(ledger, "doubted"))
    leaking = aged(ledger, "leaking")
    MemoryFinding.objects.create(memory=leaking, kind="github-token", treatment="mask", status="open")
    assert asked(ledger) == []


def test_a_recall_and_decay_confirm_nothing(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), "The deploy port of the ledger is 8082.", group="ledger", scope="group")
    Memory.objects.filter(pk=memory.pk).update(created_at=ago(200))
    found = recall(
        person(alice), RecallRequest(query="What is the deploy port of the ledger?", group="ledger")
    )
    assert [item.memory.pk for item in found.items] == [memory.pk]
    run_cycle(operator(), RunPlan(group=ledger))
    assert fresh(memory).confidence < memory.confidence
    verbs.dispute(agent(alice), memory.id)
    verbs.approve(person(alice), memory.id)  # a person says that it is right
    assert asked(ledger) == []


def test_a_text_is_confirmed_when_it_is_stored_again_or_corrected(
    alice: User, bob: User, ledger: Group
) -> None:
    texts = ("The office is in Lisbon.", "The printer is on floor 3.", "The backup runs at night.")
    one, two, _ = (kept(person(alice), text, group="ledger", scope="group") for text in texts)
    Memory.objects.update(created_at=ago(200))
    AuditEntry.objects.update(at=ago(200))
    assert asked(ledger) == list(texts)
    assert keep(person(bob), texts[0], group="ledger", scope="group").outcome == "reinforced"
    edit(person(alice), two.id, EditDraft(content="The printer is on floor 4."))
    assert asked(ledger) == [texts[2]]
    assert fresh(one).confirmed_at is not None


@pytest.mark.parametrize("trust", ["active", "verified"])
def test_yes_renews_a_memory_and_an_undo_brings_the_question_back(
    alice: User, ledger: Group, trust: str
) -> None:
    memory = aged(ledger, "The office is in Lisbon.", trust=trust)
    before = Memory.objects.values().get(pk=memory.pk)
    done = decide(person(alice), ReviewDecision("verify", memory.id))
    assert (asked(ledger), fresh(memory).trust) == ([], "verified")
    assert AuditEntry.objects.filter(memory_id=memory.id, operation="verify").count() == 1
    take_back(person(alice), done.entries)
    assert asked(ledger) == [memory.content]
    after = Memory.objects.values().get(pk=memory.pk)
    assert {name for name in after if after[name] != before[name]} == {"updated_at"}


def test_an_undo_of_a_restatement_keeps_what_a_person_confirmed_since(
    alice: User, bob: User, ledger: Group
) -> None:
    memory = kept(person(alice), "The office is in Lisbon.", group="ledger", scope="group")
    restated = keep(person(bob), memory.content, group="ledger", scope="group")
    assert restated.outcome == "reinforced"
    verbs.verify(person(alice), memory.id)
    confirmed = fresh(memory).confirmed_at
    last = AuditEntry.objects.filter(memory_id=memory.id, operation="reinforce").get()
    reverse(person(bob), rows_of(changes_of([last])), Terms("taken back"))
    assert (fresh(memory).confidence, fresh(memory).confirmed_at) == (memory.confidence, confirmed)


def test_no_retracts_and_an_undo_brings_the_question_back(alice: User, ledger: Group) -> None:
    memory = aged(ledger, "The office is in Lisbon.")
    done = decide(person(alice), ReviewDecision("retract", memory.id))
    assert (asked(ledger), fresh(memory).state) == ([], "retracted")
    take_back(person(alice), done.entries)
    assert (asked(ledger), fresh(memory).state) == ([memory.content], "live")


def test_a_new_text_answers_and_an_undo_brings_the_question_back(alice: User, ledger: Group) -> None:
    memory = aged(ledger, "The office is in Lisbon.")
    done = decide(person(alice), ReviewDecision("edit", memory.id, content="The office is in Porto."))
    assert asked(ledger) == []
    take_back(person(alice), done.entries)
    assert asked(ledger) == [memory.content]


@pytest.mark.parametrize(
    ("lives", "limit"),
    [
        ([40] * 4 + [60] * 4, 100),  # twice the median of 50 days
        ([40] * 7, 180),  # too few to tell
        ([1] * 8, 60),
        ([450] * 8, 730),
    ],
)
def test_the_pace_of_a_group_sets_its_limit(
    ledger: Group, garden: Group, lives: list[float], limit: int
) -> None:
    replaced(ledger, lives)
    for group in (ledger, garden):
        for days in (59, 99, 179, 729):
            aged(group, f"{group.slug} {days + 2}", days + 2)
    assert set(asked(ledger)) == {f"ledger {days}" for days in (61, 101, 181, 731) if days > limit}
    # The ledger's pace says nothing of another group.
    assert set(asked(garden)) == {"garden 181", "garden 731"}


def test_the_pace_of_facts_says_nothing_of_procedures(ledger: Group) -> None:
    replaced(ledger, [30] * 8)
    aged(ledger, "procedure", 200, type="procedural")
    aged(ledger, "fact", 61)
    assert asked(ledger) == ["fact"]


def test_the_most_important_and_most_recalled_of_a_group_are_asked_about(
    ledger: Group, garden: Group
) -> None:
    for n in range(AT_ONCE):
        aged(ledger, f"ordinary {n}", access_count=3)
    aged(ledger, "seldom recalled")
    aged(ledger, "important", importance=9)
    aged(ledger, "recalled", access_count=7)
    aged(garden, "elsewhere", importance=1)
    expected = ["important", "recalled", *(f"ordinary {n}" for n in range(AT_ONCE - 2))]
    assert asked(ledger) == expected
    assert asked() == [*expected, "elsewhere"]


def test_only_a_person_who_curates_is_asked_and_may_answer(alice: User, bob: User, ledger: Group) -> None:
    memory = aged(ledger, "text")
    (card,) = review_deck(person(alice)).cards
    assert (card.kind, card.id) == (CardKind.UNCONFIRMED, memory.id)
    for role in ("viewer", "contributor"):
        set_member(operator(), ledger, user=bob, role=role)
        assert review_deck(person(bob)).cards == ()
        with pytest.raises(NotPermitted):
            memory_card(person(bob), memory.id)
    curating = agent(alice, scopes=("read", "write", "curate"))
    for actor, verb in ((person(bob), "verify"), (curating, "verify"), (curating, "retract")):
        with pytest.raises(NotPermitted):
            decide(actor, ReviewDecision(verb, memory.id))
    with pytest.raises(NotPermitted):
        verbs.verify(curating, memory.id)
    assert asked(ledger) == ["text"]


def test_the_card_says_since_when_and_offers_the_answers(alice: User, ledger: Group) -> None:
    memory = aged(ledger, "text")
    card = memory_card(person(alice), memory.id)
    assert card.reason == (
        f"still true? It was confirmed last on {memory.created_at:%Y-%m-%d}; this group asks after 180 days"
    )
    assert [(choice.verb, choice.key) for choice in card.choices] == [
        ("verify", "v"),
        ("retract", "n"),
        ("edit", "e"),
    ]
    assert card.previewed_verb == "retract"


@pytest.mark.sqlite(reason="plans of SQLite's planner")
def test_the_query_reads_only_the_memories_that_are_due(db: None) -> None:
    query = UNCONFIRMED_SQL.replace(":group", "1").replace(":limit", "9")
    for name in (":latest", ":semantic", ":procedural"):
        query = query.replace(name, "'2026'")
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + query)
        plan = " ".join(str(line) for line in cursor.fetchall())
    assert "memory_asked (group_id=? AND importance=? AND <expr><?)" in plan
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan
