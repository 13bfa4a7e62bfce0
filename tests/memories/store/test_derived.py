"""Withdrawing a source reaches what was derived from it: summaries, their other events, and promoted facts."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import AuditEntry, Group
from memories.lifecycle import verbs
from memories.lifecycle.verbs import ChangeResult, forget, move, purge, quarantine, reject, restore, retract
from memories.models import Link, LinkKind, Memory, Tombstone
from memories.recall import RecallRequest, recall
from memories.store.derived import find_reach
from storage.dialect import dialect
from tests.memories.builders import doubters, fresh, kept, row
from tests.memories.indexes import texts_with
from tests.memories.tables import all_rows
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
Verb = Callable[..., ChangeResult]

EVENTS = (
    "Anna moved the ledger to Hamburg.",
    "The ledger's disk filled up on Monday.",
    "Otto swapped the ledger's power supply.",
)


@dataclass
class Week:
    """Three events and their summary."""

    events: list[Memory]
    summary: Memory

    def states(self) -> list[str]:
        """Current states of the events and the summary; "behind": of a live event behind a summary."""
        rows = [fresh(memory) for memory in (*self.events, self.summary)]
        return ["behind" if row.state == "live" and row.summary else row.state for row in rows]


@pytest.fixture
def week(alice: User, ledger: Group) -> Week:
    """Rows as compaction leaves them."""
    said = {"group": "ledger", "type": "episodic", "thread": "monday"}
    events = [kept(person(alice), text, **said) for text in EVENTS]
    summary = kept(person(alice), " ".join(EVENTS), group="ledger", type="episodic")
    for event in events:
        Link.objects.create(kind=LinkKind.DERIVED, source=summary, target=event)
    Memory.objects.filter(pk__in=[event.pk for event in events]).update(summary=summary)
    return Week([fresh(event) for event in events], summary)


def promoted(
    alice: User, sources: list[Memory], text: str = "The ledger stands in Hamburg.", trust: str = "candidate"
) -> Memory:
    """Write a fact that rests on events, as promotion does."""
    fact = kept(person(alice), text, group="ledger", scope="group")
    Memory.objects.filter(pk=fact.pk).update(trust=trust)
    for source in sources:
        Link.objects.create(kind=LinkKind.EVIDENCE, source=fact, target=source)
    return fresh(fact)


@pytest.mark.parametrize(
    ("verb", "state"),
    [(retract, "retracted"), (forget, "forgotten"), (quarantine, "live"), (reject, "live")],
)
def test_a_withdrawn_source_takes_the_summary_along(alice: User, week: Week, verb: Verb, state: str) -> None:
    done = verb(person(alice), week.events[0].id, reason="wrong")
    assert (done.id, done.changed) == (week.events[0].id, 2)
    assert week.states() == [state, "live", "live", "retracted"]
    assert fresh(week.events[0]).summary is None
    assert f"the summary {week.summary.id}, which was made from it, is withdrawn" in done.consequences
    assert "2 memories that it also stood for are listed by themselves again" in done.consequences
    found = recall(person(alice), RecallRequest("What happened to the ledger?", group="ledger")).items
    assert {item.memory.id for item in found} <= {week.events[1].id, week.events[2].id}
    assert found


def test_what_moves_away_leaves_its_summary_behind_and_a_summary_its_events(
    alice: User, week: Week, garden: Group
) -> None:
    two = row(garden, "Herbs.", type="episodic", summary=row(garden, "Herbs and beds.", type="episodic"))
    move(person(alice), week.events[0].id, to="garden")
    assert week.states() == ["live", "live", "live", "retracted"]
    assert fresh(week.events[0]).summary is None
    assert two.summary is not None
    move(person(alice), two.summary.id, to="ledger")
    assert (fresh(two.summary).state, fresh(two).summary) == ("live", None)


def test_only_the_sources_own_text_is_barred(alice: User, week: Week) -> None:
    retract(person(alice), week.events[0].id)
    assert [t.memory_id for t in Tombstone.objects.all()] == [week.events[0].id]
    logged = {e.memory_id: e for e in AuditEntry.objects.filter(operation="retract")}
    assert logged[week.summary.id].payload_row.payload["reason"] == "a source was withdrawn"


def test_a_purge_destroys_the_summary_and_bars_nothing_but_the_source(alice: User, week: Week) -> None:
    done = purge(person(alice), week.events[0].id)
    assert done.certificate is not None
    assert (done.certificate.memories, done.certificate.remains) == (2, dialect().purge_leaves)
    assert week.events[1].pk in set(Memory.objects.values_list("pk", flat=True))
    assert not Memory.objects.filter(pk__in=[week.summary.pk, week.events[0].pk]).exists()
    assert [fresh(e).state for e in week.events[1:]] == ["live", "live"]
    assert [t.memory_id for t in Tombstone.objects.all()] == [week.events[0].id]
    assert texts_with("Hamburg") == 0


@pytest.mark.parametrize("verb", [retract, forget, purge])
def test_a_dry_run_says_the_same_and_changes_nothing(alice: User, week: Week, verb: Verb) -> None:
    fact = promoted(alice, week.events)
    before = all_rows()
    would = verb(person(alice), week.events[0].id, dry_run=True)
    assert (would.changed, all_rows()) == (0, before)
    done = verb(person(alice), week.events[0].id)
    assert would.consequences[: len(done.consequences)] == done.consequences  # a purge's names places, too
    assert any(str(fact.id) in said for said in done.consequences)


def test_a_summary_of_summaries_goes_too(alice: User, week: Week, ledger: Group) -> None:
    other = row(ledger, "Another week.", type="episodic")
    month = row(ledger, "The month, in short.", type="episodic")
    for source in (week.summary, other):
        Link.objects.create(kind=LinkKind.DERIVED, source=month, target=source)
    Memory.objects.filter(pk__in=[week.summary.pk, other.pk]).update(summary=month)
    retract(person(alice), week.events[0].id)
    assert [fresh(m).state for m in (month, week.summary, other)] == ["retracted", "retracted", "live"]
    assert fresh(other).summary is None


def test_every_version_of_an_edited_summary_is_withdrawn(alice: User, week: Week, ledger: Group) -> None:
    newer = row(ledger, "A shorter summary.", type="episodic", root=week.summary, version=2)
    Memory.objects.filter(pk=week.summary.pk).update(state="superseded", superseded_by=newer)
    retract(person(alice), week.events[0].id)
    assert [fresh(m).state for m in (week.summary, newer)] == ["retracted", "retracted"]


def test_a_source_without_a_link_is_known_by_what_stands_for_it(alice: User, week: Week) -> None:
    Link.objects.all().delete()
    retract(person(alice), week.events[0].id)
    assert week.states() == ["retracted", "live", "live", "retracted"]


def test_a_source_that_was_restored_still_takes_its_summary_along(alice: User, week: Week) -> None:
    restore(person(alice), week.events[0].id)
    assert week.states() == ["live", "behind", "behind", "live"]
    retract(person(alice), week.events[0].id)
    assert week.states() == ["retracted", "live", "live", "retracted"]


def test_restoring_the_source_brings_the_summary_back(alice: User, week: Week) -> None:
    forget(person(alice), week.events[0].id)
    restore(person(alice), week.events[0].id)
    assert week.states() == ["behind", "behind", "behind", "live"]


def test_what_was_made_from_nothing_withdrawn_is_left_alone(alice: User, week: Week) -> None:
    other = kept(person(alice), "The garden has a pond.", group="ledger")
    fact = promoted(alice, week.events)
    before = week.states()
    done = retract(person(alice), other.id)
    assert done.changed == 1
    assert (week.states(), fresh(fact).trust) == (before, "candidate")


# Promoted facts: maintenance.promote_at_least is 3


@pytest.mark.parametrize("verb", [retract, forget, purge])
@pytest.mark.parametrize(
    ("trust", "after"), [("candidate", "rejected"), ("active", "active"), ("verified", "verified")]
)
def test_a_fact_that_rests_on_too_little_is_withdrawn(
    alice: User, ledger: Group, verb: Verb, trust: str, after: str
) -> None:
    events = [kept(person(alice), text, group="ledger", type="episodic") for text in EVENTS]
    fact = promoted(alice, events, trust=trust)
    done = verb(person(alice), events[0].id)
    assert (fresh(fact).state, fresh(fact).trust) == ("live", after)
    assert doubters(fact) == (["alice"] if trust == "active" else [])
    assert any(said.startswith(f"the fact {fact.id} rested on it") for said in done.consequences)
    asks = Link.objects.filter(kind=LinkKind.CONFLICT, source=fact, target=events[0].pk, status="open")
    assert asks.exists() == (trust == "verified" and verb is not purge)
    assert (
        AuditEntry.objects.filter(memory_id=fact.id).latest("seq").payload_row.payload["evidence_left"] == 2
    )


def test_a_fact_with_enough_left_only_loses_the_evidence(alice: User, ledger: Group) -> None:
    events = [
        kept(person(alice), text, group="ledger", type="episodic") for text in (*EVENTS, "A fourth event.")
    ]
    fact = promoted(alice, events, trust="active")
    done = retract(person(alice), events[0].id)
    assert fresh(fact).trust == "active"
    assert f"the fact {fact.id} loses evidence; it rests on 3 memories now" in done.consequences
    assert sorted(Link.objects.values_list("target", "status")) == [
        (events[0].pk, "dismissed"), *((event.pk, "open") for event in events[1:]),
    ]  # fmt: skip
    # One more, and too little is left.
    retract(person(alice), events[1].id)
    assert (fresh(fact).trust, doubters(fact)) == ("active", ["alice"])


@pytest.mark.parametrize(
    ("trust", "after"), [("candidate", "rejected"), ("active", "active"), ("verified", "verified")]
)
def test_a_fact_that_says_the_withdrawn_text_falls_whatever_is_left(
    alice: User, ledger: Group, trust: str, after: str
) -> None:
    texts = (*EVENTS, "A fourth event.", "A fifth event.")
    events = [kept(person(alice), text, group="ledger", type="episodic") for text in texts]
    fact = promoted(alice, events, text=EVENTS[0].upper(), trust=trust)
    retract(person(alice), events[0].id)
    assert (fresh(fact).trust, len(doubters(fact))) == (after, int(trust == "active"))


@pytest.mark.parametrize("trust", ["candidate", "active", "verified"])
def test_a_purge_destroys_a_fact_of_the_same_text_unless_a_person_verified_it(
    alice: User, ledger: Group, trust: str
) -> None:
    events = [
        kept(person(alice), text, group="ledger", type="episodic")
        for text in (*EVENTS, "A fourth.", "A fifth.")
    ]
    fact = promoted(alice, events, text=EVENTS[0], trust=trust)
    done = purge(person(alice), events[0].id)
    assert Memory.objects.filter(pk=fact.pk).exists() == (trust == "verified")
    assert done.certificate is not None
    is_quoted = any(line.startswith("1 other memories quote it") for line in done.certificate.remains)
    assert is_quoted == (trust == "verified")


def test_a_fact_that_rests_on_the_summary_falls_with_it(alice: User, week: Week) -> None:
    fact = promoted(alice, [week.summary], trust="active")
    retract(person(alice), week.events[0].id)
    assert (fresh(fact).trust, doubters(fact)) == ("active", ["alice"])


def test_a_fact_that_was_rejected_or_hidden_already_is_not_touched(alice: User, ledger: Group) -> None:
    events = [kept(person(alice), text, group="ledger", type="episodic") for text in EVENTS]
    gone = promoted(alice, events, trust="active")
    Memory.objects.filter(pk=gone.pk).update(state="forgotten")
    turned_down = promoted(alice, events, text="The ledger likes Hamburg.", trust="rejected")
    retract(person(alice), events[0].id)
    assert [(fresh(m).state, fresh(m).trust) for m in (gone, turned_down)] == [
        ("forgotten", "active"), ("live", "rejected"),
    ]  # fmt: skip


def test_a_large_reach_is_found_in_few_queries(ledger: Group) -> None:
    summary = row(ledger, "Everything.", type="episodic")
    events = [row(ledger, f"Event {n}.", type="episodic", summary=summary) for n in range(80)]
    with CaptureQueriesContext(connection) as asked:
        reach = find_reach(events[0], [events[0]])
    assert (reach.others, len(reach.summaries)) == (79, 1)
    assert len(asked) <= 10


def test_a_failed_verb_leaves_what_was_derived(
    alice: User, week: Week, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = all_rows()

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("access.audit.append", fails)
    with pytest.raises(RuntimeError):
        verbs.retract(person(alice), week.events[0].id)
    assert all_rows() == before
