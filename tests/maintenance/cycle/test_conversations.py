"""A conversation that rests gets a summary of its own sentences; undo and withdrawal take it away again."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import override_settings
from django.utils import timezone
from pytest_django import Settings

from access.models import Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.cycle.undo import undo_run
from memories.draft import Draft
from memories.lifecycle.verbs import retract
from memories.models import Link, Memory, Thread
from memories.store.bulk import store_many
from tests.people import alice, ledger

__all__ = ["alice", "ledger"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]
SAID = (
    "User: Which host should the mail server move to?",
    "Assistant: Brass has room for 40 GB of mail.",
    "User: Who looks after brass?",
    "Assistant: Marta Lind looks after brass since May.",
    "User: When is it quiet there?",
    "Assistant: Nobody uses brass before seven in the morning.",
)


@pytest.fixture
def talk(ledger: Group, alice: User) -> Thread:
    add(*SAID)
    thread = Thread.objects.get(name="claude.ai/c-1")
    thread.title, thread.platform = "Moving the mail server", "claude.ai"
    thread.save()
    return thread


def add(*texts: str) -> None:
    drafts = [
        Draft(text, type="episodic", group="ledger", scope="group", thread="claude.ai/c-1", outside=True)
        for text in texts
    ]
    store_many(operator(), drafts)


def summarise(group: Group, *, hours: int = 2) -> dict[str, int]:
    plan = RunPlan(group=group, now=timezone.now() + timedelta(hours=hours))
    return {name: n for name, n in run_cycle(operator(), plan).counts.items() if name == "conversations"}


def test_a_conversation_at_rest_is_summarised_once(talk: Thread, ledger: Group) -> None:
    assert summarise(ledger, hours=0) == {}  # somebody may still be talking
    assert summarise(ledger) == {"conversations": 1}
    talk.refresh_from_db()
    summary = talk.summary
    assert summary is not None
    assert summary.content.startswith("“Moving the mail server” (claude.ai), 6 turns")
    quoted = [
        row.content
        for row in Memory.objects.filter(thread=talk)
        if row.content.split(": ")[1] in summary.content
    ]
    assert len(quoted) == 5
    assert (summary.outside, summary.scope, summary.thread) == (True, "group", None)
    assert Memory.objects.filter(thread=talk, state="live").count() == 6
    assert Link.objects.filter(source=summary, kind="derived").count() == 5
    assert summarise(ledger, hours=4) == {}
    add("User: Then brass it is.")
    later = timezone.now() + timedelta(hours=5)
    Memory.objects.filter(content__endswith="brass it is.").update(created_at=later)
    assert summarise(ledger, hours=7) == {"conversations": 1}
    talk.refresh_from_db()
    summary.refresh_from_db()
    assert (summary.state, summary.superseded_by) == ("superseded", talk.summary)


def test_a_summary_that_the_guard_holds_is_not_made(talk: Thread, ledger: Group, settings: Settings) -> None:
    path = "tests.maintenance.cycle.compaction.test_compaction.Harmful"
    limits = replace(settings.LOCI.maintenance, summariser=path)
    with override_settings(LOCI=replace(settings.LOCI, maintenance=limits)):
        run = run_cycle(operator(), RunPlan(group=ledger, now=timezone.now() + timedelta(hours=2)))
    assert run.counts == {"held_back_by_the_guard": 1}
    assert not Memory.objects.filter(source="loci:conversation").exists()


def test_undo_takes_the_summary_away(talk: Thread, ledger: Group) -> None:
    run = run_cycle(operator(), RunPlan(group=ledger, now=timezone.now() + timedelta(hours=2)))
    undo_run(operator(), run.id)
    talk.refresh_from_db()
    assert talk.summary is None
    assert Memory.objects.get(source="loci:conversation").state == "forgotten"


def test_a_summary_goes_with_a_turn_that_it_quotes(talk: Thread, ledger: Group) -> None:
    summarise(ledger)
    talk.refresh_from_db()
    assert talk.summary is not None
    quoted = Link.objects.filter(source=talk.summary, kind="derived").first()
    assert quoted is not None
    retract(operator(), quoted.target.id, reason="it was copper")
    talk.summary.refresh_from_db()
    assert talk.summary.state != "live"
    assert summarise(ledger, hours=4) == {}


def test_short_and_nameless_threads_have_none(talk: Thread, ledger: Group) -> None:
    Thread.objects.update(title="")
    assert summarise(ledger) == {}
    Thread.objects.update(title="Short")
    Memory.objects.filter(content=SAID[0]).update(state="forgotten")
    assert summarise(ledger) == {}


def test_a_summary_is_seen_by_no_more_groups_than_each_of_its_turns(talk: Thread, ledger: Group) -> None:
    Memory.objects.exclude(content=SAID[3]).update(scope="global")
    summarise(ledger)
    assert Memory.objects.get(source="loci:conversation").scope == "group"
