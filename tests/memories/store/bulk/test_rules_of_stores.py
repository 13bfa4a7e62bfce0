"""An import follows the rules of stores: withdrawn texts, equal events, policies."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from access.actor import Actor
from access.models import Group
from memories.draft import Draft
from memories.lifecycle.verbs import retract
from memories.models import Link, Memory
from memories.store.bulk import store_many
from tests.memories.builders import day, kept
from tests.memories.store.bulk.drafts import counts, fact
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(alice: User) -> Actor:
    return replace(person(alice), default_group="ledger")


@pytest.mark.model
def test_a_restatement_of_a_withdrawn_text_waits_for_a_person(actor: Actor, ledger: Group) -> None:
    wrong = kept(actor, "The nightly backup goes to the NAS.", scope="group", group="ledger")
    retract(actor, wrong.id, reason="it goes to tape")
    result = store_many(actor, [fact("The nightly backups go to the NAS.", "a"), fact("Tea is served.", "b")])
    assert counts(result) == (1, 0, 0, 1, 0)
    waiting = Memory.objects.get(content="The nightly backups go to the NAS.")
    link = Link.objects.get(source=waiting)
    assert (waiting.trust, link.kind, link.target) == ("candidate", "conflict", wrong)


@pytest.mark.model
def test_what_was_withdrawn_between_two_batches_counts_in_the_second(
    actor: Actor, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.store.bulk.BATCH_DRAFTS", 1)
    wrong = kept(actor, "The nightly backup goes to the NAS.", scope="group", group="ledger")

    def withdraw(done: int) -> None:
        if done == 1:
            retract(actor, wrong.id)

    drafts = [fact("Tea is served.", "a"), fact("The nightly backups go to the NAS.", "b")]
    assert counts(store_many(actor, drafts, on_progress=withdraw)) == (1, 0, 0, 1, 0)


@pytest.mark.model
def test_live_neighbours_are_not_searched_for(actor: Actor, ledger: Group) -> None:
    kept(actor, "The nightly backup goes to the NAS.", scope="group", group="ledger")
    assert counts(store_many(actor, [fact("The nightly backups go to the NAS.", "a")])) == (1, 0, 0, 0, 0)
    assert not Link.objects.exists()


def test_an_event_at_the_same_time_is_one_unless_its_source_tells_it_twice(
    actor: Actor, ledger: Group
) -> None:
    moment = day(1)
    yes = Draft("Yes.", type="episodic", valid_from=moment)
    assert counts(store_many(actor, [yes, yes])) == (1, 1, 0, 0, 0)
    lines = [replace(yes, content="No.", source="chat", source_ref=ref) for ref in ("1", "2")]
    assert counts(store_many(actor, lines)) == (2, 0, 0, 0, 0)


def test_equal_turns_of_two_threads_are_two_events(actor: Actor, ledger: Group) -> None:
    turns = [Draft("Yes.", type="episodic", valid_from=day(1), thread=name) for name in ("monday", "tuesday")]
    assert counts(store_many(actor, turns)) == (2, 0, 0, 0, 0)
    assert counts(store_many(actor, turns)) == (0, 2, 0, 0, 0)
