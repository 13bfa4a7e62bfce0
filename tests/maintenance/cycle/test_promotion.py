"""Promotion: a statement repeated on several occasions is proposed as a fact, once, with its evidence."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.tokens import operator
from maintenance.cycle.compaction import Compact
from maintenance.cycle.promotion import Promote
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.undo import undo_run
from memories.draft import Draft
from memories.lifecycle.verbs import approve, forget, purge, reject, retract
from memories.models import Doubt, Link, LinkKind, LinkStatus, Memory, Piece
from memories.recall import RecallRequest, recall
from memories.store import store
from memories.types import State, Trust
from tests.maintenance.events import NOW, UNRELATED, drive, happen, turn_of
from tests.maintenance.state import index_faults, whole_state
from tests.memories.builders import doubt, fresh
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
SAYS = "The staging server needs a restart after each deploy"
ALIKE = (
    SAYS,
    "After each deploy the staging server needs a restart",
    "The staging server needs to be restarted after each deploy",
)


def facts() -> list[Memory]:
    return list(Memory.objects.filter(type="semantic").order_by("key"))


def proofs(fact: Memory) -> set[int]:
    links = Link.objects.filter(kind=LinkKind.EVIDENCE, source=fact)
    return set(links.values_list("target_id", flat=True))


def promoted(group: Group, **more: Any) -> dict[str, int]:
    return dict(drive(Promote(), turn_of(group, **more))[0])


def test_three_like_events_of_three_days_are_proposed_as_a_fact(ledger: Group) -> None:
    events = happen(ALIKE, step=DAY, confidence=0.6, tags=("ops",))
    happen(UNRELATED)
    Memory.objects.filter(pk=events[1].pk).update(access_count=3, importance=9)
    counts, mark, run = drive(Promote(), turn_of(ledger))
    assert counts == {"promoted": 1, "evidence": 3}
    assert mark == Memory.objects.filter(type="episodic").latest("key").key
    (fact,) = facts()
    assert fact.content == ALIKE[1]
    assert (fact.state, fact.trust, fact.scope, fact.source) == ("live", "active", "group", "loci:promote")
    assert (fact.confidence, fact.importance, fact.tags, fact.run) == (0.711, 9, ["ops"], run.id)
    assert proofs(fact) == {event.key for event in events}
    assert {fresh(event).state for event in events} == {"live"}
    assert index_faults() == []


def test_without_a_policy_recall_returns_it_at_once_labelled_as_derived(ledger: Group) -> None:
    happen(ALIKE, step=DAY)
    promoted(ledger)
    (fact,) = facts()
    asked = RecallRequest("restart of the staging server", group="ledger")
    found = {item.memory.id: item.label for item in recall(operator(), asked).items}
    assert found[fact.id] == "derived: events repeat it"


@pytest.mark.parametrize(
    ("policy", "confidence", "trust"),
    [
        ("agents", 0.9, "candidate"),
        ("all", 0.9, "candidate"),
        ("below", 0.3, "candidate"),
        ("below", 0.6, "active"),
    ],
)
def test_the_policy_of_the_group_decides_about_its_trust(
    ledger: Group, policy: str, confidence: float, trust: str
) -> None:
    happen(ALIKE, step=DAY, confidence=confidence)
    Group.objects.filter(pk=ledger.pk).update(policy=policy, policy_confidence=0.5)
    ledger.refresh_from_db()
    promoted(ledger)
    assert [fact.trust for fact in facts()] == [trust]


def test_recall_returns_it_only_after_approval_where_agents_wait(ledger: Group, alice: User) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    ledger.refresh_from_db()
    happen(ALIKE, step=DAY)
    promoted(ledger)
    (fact,) = facts()
    asked = RecallRequest("restart of the staging server", group="ledger")
    assert fact.id not in [item.memory.id for item in recall(operator(), asked).items]
    approve(person(alice), fact.id)
    assert fact.id in [item.memory.id for item in recall(operator(), asked).items]


def test_the_most_confident_then_the_newest_is_the_representative(ledger: Group) -> None:
    events = happen(ALIKE, step=DAY)
    Memory.objects.filter(pk=events[0].pk).update(confidence=0.9)
    promoted(ledger)
    assert [fact.content for fact in facts()] == [ALIKE[0]]
    facts()[0].delete()
    Memory.objects.filter(pk=events[0].pk).update(confidence=0.7)
    promoted(ledger)
    assert [fact.content for fact in facts()] == [ALIKE[2]]


@pytest.mark.parametrize(
    "texts",
    [
        ("The backup works", "The backup works", "The backup does not work"),
        ("Port 8081 is open", "Port 8082 is open", "Port 8083 is open"),
        ("Anna likes tea", "Tom likes tea", "Eva likes tea"),
        (SAYS, SAYS, UNRELATED[0]),
    ],
)
def test_what_differs_in_a_number_a_name_or_a_not_is_no_cluster(
    ledger: Group, texts: tuple[str, ...]
) -> None:
    happen(texts, step=DAY)
    assert promoted(ledger) == {}


def test_three_repetitions_on_one_day_are_no_evidence(ledger: Group) -> None:
    happen([SAYS] * 4, step=MINUTE)
    assert promoted(ledger) == {}
    happen([SAYS], start=NOW - 2 * DAY)
    assert promoted(ledger) == {}
    happen([SAYS], start=NOW - DAY)
    assert promoted(ledger) == {"promoted": 1, "evidence": 6}


def test_three_threads_of_one_day_are_three_occasions(ledger: Group) -> None:
    for thread in ("one", "two", "three"):
        happen([SAYS], thread=thread)
    assert promoted(ledger) == {"promoted": 1, "evidence": 3}


def test_groups_and_scopes_are_never_mixed(ledger: Group, garden: Group) -> None:
    happen(ALIKE[:2], step=DAY)
    happen(ALIKE[:2], step=DAY, group="garden")
    happen(ALIKE[2:], scope="global")
    assert promoted(ledger) == promoted(garden) == {}
    happen(ALIKE[:2], step=DAY, start=NOW - 5 * DAY, scope="global")
    assert promoted(ledger) == {"promoted": 1, "evidence": 3}
    assert [(fact.scope, fact.group_id) for fact in facts()] == [("global", ledger.key)]


def test_in_a_private_group_the_fact_is_the_groups_own(ledger: Group) -> None:
    happen(ALIKE, step=DAY, scope="global")
    Group.objects.filter(pk=ledger.pk).update(private=True)
    ledger.refresh_from_db()
    promoted(ledger)
    assert [fact.scope for fact in facts()] == ["group"]


def test_a_second_pass_changes_nothing(ledger: Group) -> None:
    happen([*ALIKE, *UNRELATED], step=DAY)
    _, mark, _ = drive(Promote(), turn_of(ledger))
    state = whole_state()
    assert Promote().next_batch(turn_of(ledger, mark=mark), None) is None
    assert promoted(ledger) == {}  # nor if all are compared again
    assert whole_state() == state


def test_later_events_find_the_earlier_ones(ledger: Group) -> None:
    happen(ALIKE[:2], step=DAY)
    counts, mark, _ = drive(Promote(), turn_of(ledger))
    assert counts == {}
    happen(ALIKE[2:], start=NOW - DAY)
    assert promoted(ledger, mark=mark) == {"promoted": 1, "evidence": 3}


def test_a_rejected_fact_is_not_proposed_again(ledger: Group, alice: User) -> None:
    happen(ALIKE, step=DAY)
    promoted(ledger)
    reject(person(alice), facts()[0].id)
    assert promoted(ledger) == {}
    happen([SAYS], start=NOW - DAY)
    assert promoted(ledger) == {}
    assert len(facts()) == 1


def test_half_of_the_evidence_makes_it_the_same_proposal(ledger: Group) -> None:
    events = happen(ALIKE, step=DAY)
    promoted(ledger)
    Link.objects.filter(kind=LinkKind.EVIDENCE, target=events[0]).delete()
    assert promoted(ledger) == {}  # 2 of 3
    Link.objects.filter(kind=LinkKind.EVIDENCE, target=events[1]).delete()
    facts()[0].delete()
    assert promoted(ledger) == {"promoted": 1, "evidence": 3}


def test_a_withdrawn_text_is_not_promoted(ledger: Group) -> None:
    stored = store(operator(), Draft(SAYS, group="ledger"))
    assert stored.memory is not None
    happen([SAYS] * 3, step=DAY)
    retract(operator(), stored.memory.id)
    assert promoted(ledger) == {}
    assert [fact.state for fact in facts()] == ["retracted"]


def test_a_restatement_of_a_withdrawn_fact_is_not_promoted(ledger: Group) -> None:
    stored = store(operator(), Draft("the staging server needs a restart after each deploy.", group="ledger"))
    assert stored.memory is not None
    happen([ALIKE[2]] * 3, step=DAY)
    retract(operator(), stored.memory.id)
    assert promoted(ledger) == {}


def test_a_purged_text_is_not_promoted(ledger: Group) -> None:
    stored = store(operator(), Draft("Unrelated so far", group="ledger"))
    assert stored.memory is not None
    events = happen([SAYS] * 4, step=DAY)
    purge(operator(), events[3].id)
    assert promoted(ledger) == {}


@pytest.mark.parametrize("state", [State.FORGOTTEN, State.SUPERSEDED])
def test_a_retired_fact_is_not_proposed_again(ledger: Group, state: str) -> None:
    stored = store(operator(), Draft(SAYS, group="ledger"))
    assert stored.memory is not None
    happen([SAYS] * 3, step=DAY)
    if state == State.FORGOTTEN:
        forget(operator(), stored.memory.id)
    else:
        Memory.objects.filter(pk=stored.memory.pk).update(state=state)
    assert promoted(ledger) == {}
    assert len(facts()) == 1


def test_an_equal_fact_gets_the_evidence(ledger: Group) -> None:
    stored = store(operator(), Draft(SAYS, group="ledger", scope="group"))
    assert stored.memory is not None
    events = happen([SAYS] * 3, step=DAY)
    assert promoted(ledger) == {"evidence": 3}
    assert [fact.id for fact in facts()] == [stored.memory.id]
    assert proofs(stored.memory) == {event.key for event in events}
    assert fresh(stored.memory).trust == Trust.ACTIVE
    assert promoted(ledger) == {}


def test_a_similar_fact_is_linked_for_review(ledger: Group) -> None:
    stored = store(operator(), Draft(ALIKE[1], group="ledger", scope="group"))
    assert stored.memory is not None
    happen([ALIKE[2]] * 3, step=DAY)
    assert promoted(ledger) == {"promoted": 1, "evidence": 3}
    tie = Link.objects.exclude(kind=LinkKind.EVIDENCE).get()
    assert (tie.kind, tie.source_id, tie.target_id) == ("duplicate", facts()[1].key, stored.memory.key)
    assert tie.status == LinkStatus.OPEN


def test_compacted_events_still_count_and_summaries_do_not(ledger: Group) -> None:
    events = happen(
        [*ALIKE, "The staging server needs a restart", "A deploy restarts the staging server"], step=DAY
    )
    later = turn_of(ledger, now=NOW + timedelta(days=60))
    assert drive(Compact(), later)[0] == {"summaries": 1, "compacted": 5}
    assert promoted(ledger)["promoted"] == 1
    assert proofs(facts()[0]) <= {event.key for event in events}
    assert None not in [fresh(event).summary_id for event in events]


def test_events_without_vectors_are_compared_later(ledger: Group) -> None:
    happen(ALIKE, step=DAY)
    vectors = {piece.pk: piece.embedding for piece in Piece.objects.all()}
    Piece.objects.update(embedding=None)
    counts, mark, _ = drive(Promote(), turn_of(ledger))
    assert (counts, mark) == ({}, None)
    for key, vector in vectors.items():
        Piece.objects.filter(pk=key).update(embedding=vector)
    assert promoted(ledger, mark=mark) == {"promoted": 1, "evidence": 3}


def test_disputed_and_retracted_events_are_no_evidence(ledger: Group) -> None:
    events = happen(ALIKE, step=DAY)
    doubt(events[0])
    assert promoted(ledger) == {}
    Doubt.objects.all().delete()
    Memory.objects.filter(pk=events[0].pk).update(state=State.FORGOTTEN)
    assert promoted(ledger) == {}


def test_what_people_say_to_each_other_in_conversations_is_not_a_fact(ledger: Group) -> None:
    for thread in ("one", "two", "three"):
        happen(["Ines: See you tomorrow, Bob!"], thread=thread)
    assert promoted(ledger) == {}
    happen(["Ines: See you tomorrow, Bob!"] * 3, step=DAY)
    assert promoted(ledger)["promoted"] == 1


def test_undoing_the_run_restores_the_exact_state(ledger: Group) -> None:
    happen(ALIKE, step=DAY)
    _, _, run = drive(Promote(), turn_of(ledger))
    undone = undo_run(operator(), run.id)
    assert (undone.deleted, undone.kept) == (4, ())
    assert Memory.objects.get(type="semantic").state == State.FORGOTTEN
    assert (Link.objects.count(), index_faults()) == (0, [])


def test_a_batch_written_twice_changes_nothing_the_second_time(ledger: Group) -> None:
    happen(ALIKE, step=DAY)
    batch = Promote().next_batch(turn_of(ledger), None)
    assert batch is not None
    _, _, run = drive(Promote(), turn_of(ledger))
    from_now = whole_state()
    assert dict(batch.write(Recorder(operator(), run, "promote"))) == {}
    assert whole_state() == from_now


def test_a_fact_that_the_guard_holds_today_is_not_proposed(ledger: Group) -> None:
    happen([f"{text}, says ines@heronry.example" for text in ALIKE], step=DAY)
    Group.objects.update(guard="personal=quarantine")
    ledger.refresh_from_db()
    assert promoted(ledger) == {"held_back_by_the_guard": 1}
    assert facts() == []


def test_decay_takes_nothing_from_the_fact_and_more_authors_add_to_it(ledger: Group) -> None:
    events = happen(ALIKE, step=DAY, confidence=0.6)
    Memory.objects.filter(pk__in=[event.pk for event in events]).update(confidence=0.02)
    Memory.objects.filter(pk=events[0].pk).update(author_name="bob")
    promoted(ledger)
    assert facts()[0].confidence == pytest.approx(1 - 0.4 * 0.85**2 * 0.7)


def test_workers_named_by_one_letter_are_not_one_worker(ledger: Group) -> None:
    happen([f"Worker {letter} was restarted after the deploy" for letter in "abcde"], step=DAY)
    assert promoted(ledger) == {}
