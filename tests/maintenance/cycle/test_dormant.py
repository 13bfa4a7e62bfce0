"""Memories that nobody uses for long sleep: no list has them, a question that nothing else answers finds and wakes them."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User

from access.errors import NotPermitted
from access.groups import GroupChange, update_group
from access.models import Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.cycle.expiry import Cleanup
from maintenance.cycle.undo import undo_run
from memories.browse.inspection import explain_for
from memories.draft import Draft
from memories.lifecycle.verbs import pin, restore, retract, verify
from memories.models import Link, LinkKind, Memory
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.store.bulk import store_many
from tests.maintenance.events import NOW, drive, turn_of
from tests.memories.builders import fresh, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
OLD = NOW - timedelta(days=200)
MOLLIE = "Our payment provider is Mollie."


def faded(text: str = MOLLIE, **fields: object) -> Memory:
    memory = kept(operator(), text, group="ledger", **fields)
    Memory.objects.filter(pk=memory.pk).update(confidence=0.04, created_at=OLD)
    return fresh(memory)


def sleep(group: Group, now: datetime = NOW) -> dict[str, int]:
    return dict(drive(Cleanup(), turn_of(group, now=now))[0])


def answer(question: str) -> list[str]:
    return [item.text for item in recall(operator(), RecallRequest(question, group="ledger")).items]


def test_an_unused_fact_sleeps_and_still_answers(ledger: Group) -> None:
    memory = faded()
    assert sleep(ledger) == {"put_to_sleep": 1}
    assert (fresh(memory).state, fresh(memory).retired_at) == ("dormant", None)
    found = recall(operator(), RecallRequest("Who is our payment provider?", group="ledger"))
    assert [item.memory for item in found.items] == [memory]
    assert "dormant since 2023-07-01" in found.items[0].label
    assert answer("Which colour does the roof have?") == []


def test_what_is_live_and_answers_comes_alone(ledger: Group) -> None:
    faded("Our payment provider is Stripe.")
    sleep(ledger)
    kept(operator(), MOLLIE, group="ledger")
    assert answer("Who is our payment provider?") == [MOLLIE]


def test_what_answers_clearly_better_than_all_that_is_live_comes_before_it(ledger: Group) -> None:
    texts = {
        "When does the oven's warranty end?": "The oven's warranty ends in March 2029.",
        "Who maintains the shop website?": "The shop website is maintained by Lena Vogt.",
    }
    for text in texts.values():
        faded(text)
    sleep(ledger)
    for text in ("The big oven failed at four in the morning.", "The website of the shop was slow in May."):
        kept(operator(), text, group="ledger")
    assert [answer(question)[:1] for question in texts] == [[text] for text in texts.values()]
    assert answer("When did the big oven fail?")[0].startswith("The big oven failed")


def test_why_a_question_finds_it_or_not_is_what_recall_does(ledger: Group) -> None:
    stripe, roof = faded("Our payment provider is Stripe."), faded("The roof of the barn is green.")
    sleep(ledger)
    kept(operator(), MOLLIE, group="ledger")
    asked = "Who is our payment provider?"
    assert explain_for(operator(), fresh(stripe), asked).reason == "it is dormant, and live memories answer"
    assert explain_for(operator(), fresh(roof), "Which colour has the barn's roof?").reason == "it ranks 1"
    assert not COUNTER.flush()  # to explain is not to recall


def test_a_recall_wakes_it(ledger: Group) -> None:
    memory = faded()
    sleep(ledger)
    with time_machine.travel(NOW + timedelta(days=1)):
        answer("Who is our payment provider?")
        COUNTER.flush()
    assert sleep(ledger, NOW + timedelta(days=2)) == {"woken": 1}
    assert (fresh(memory).state, fresh(memory).confidence) == ("live", 0.5)


def test_what_was_said_anew_or_withdrawn_meanwhile_does_not_wake(ledger: Group) -> None:
    twin, barred = faded(), faded("The vault's door code is 4711.")
    sleep(ledger)
    Memory.objects.update(last_accessed=NOW + timedelta(days=1))
    kept(operator(), MOLLIE, group="ledger")
    retract(operator(), kept(operator(), barred.content, group="ledger").id)
    assert sleep(ledger, NOW + timedelta(days=2))["woken"] == 0
    assert (fresh(twin).state, fresh(barred).state) == ("dormant", "dormant")


def test_it_is_restored_by_a_verb_and_read_by_its_id(ledger: Group) -> None:
    memory = faded()
    sleep(ledger)
    by_id = recall(operator(), RecallRequest(ids=(memory.id,)))
    assert [item.text for item in by_id.items] == [MOLLIE]
    restore(operator(), memory.id)
    assert fresh(memory).state == "live"


def test_what_matters_to_a_person_or_to_another_memory_stays_awake(ledger: Group, alice: User) -> None:
    important, pinned, verified, evidence, plain = (
        faded(f"{name} keeps the key of the {name} room.") for name in ("Ada", "Bob", "Cleo", "Dan", "Eva")
    )
    Memory.objects.filter(pk=important.pk).update(importance=8)
    pin(person(alice), pinned.id)
    verify(person(alice), verified.id)
    fact = kept(operator(), "Keys are kept by five people.", group="ledger")
    Link.objects.create(kind=LinkKind.EVIDENCE, source=fact, target=evidence)
    Memory.objects.filter(pk__in=[pinned.pk, verified.pk]).update(confidence=0.04, state_changed_at=None)
    assert sleep(ledger) == {"put_to_sleep": 1}
    assert fresh(plain).state == "dormant"


def test_used_recent_and_confident_memories_stay_awake(ledger: Group) -> None:
    store_many(operator(), [Draft(f"Room {n} is free.", group="ledger") for n in range(3)])
    used, young, sure = Memory.objects.order_by("key")
    Memory.objects.update(confidence=0.04, created_at=OLD)
    Memory.objects.filter(pk=used.pk).update(last_accessed=NOW - timedelta(days=89))
    Memory.objects.filter(pk=young.pk).update(created_at=NOW - timedelta(days=89))
    Memory.objects.filter(pk=sure.pk).update(confidence=0.05)
    assert sleep(ledger) == {}
    assert sleep(ledger, NOW + timedelta(days=1, seconds=1)) == {"put_to_sleep": 2}


def test_a_group_may_have_it_deleted_in_place_of_sleep(ledger: Group, garden: Group) -> None:
    kept_asleep = faded("The garden gate is green.")
    Memory.objects.filter(pk=kept_asleep.pk).update(group=garden)
    old = faded()
    sleep(ledger)
    update_group(operator(), "ledger", GroupChange(cleanup="delete"))
    young = faded("Our bank is Triodos.")
    run = run_cycle(operator(), RunPlan(kind="cleanup", now=NOW + timedelta(days=91), max_share=1))
    assert run.counts == {"forgotten": 2, "put_to_sleep": 1}
    assert {fresh(old).state, fresh(young).state} == {"forgotten"}
    assert fresh(kept_asleep).state == "dormant"
    undo_run(operator(), run.id)
    assert (fresh(old).state, fresh(young).state, fresh(kept_asleep).state) == ("dormant", "live", "live")


def test_a_caller_may_have_it_deleted_once_and_no_more_than_the_share(ledger: Group) -> None:
    rows = [faded(f"Room {n} has {n} chairs.") for n in range(4)]
    plan = RunPlan(kind="cleanup", now=NOW, deletes=True, max_share=0.5)
    run = run_cycle(operator(), plan)
    assert (run.status, {fresh(row).state for row in rows}) == ("stopped", {"live"})
    assert "More than 2 of the 4 memories of 'ledger'" in run.error
    assert run_cycle(operator(), replace(plan, max_share=1)).counts == {"forgotten": 4}


def test_no_token_makes_it_delete(ledger: Group, alice: User) -> None:
    with pytest.raises(NotPermitted, match="Only a person can make 'cleanup' milder"):
        update_group(agent(alice, scopes=["admin"]), "ledger", GroupChange(cleanup="delete"))
