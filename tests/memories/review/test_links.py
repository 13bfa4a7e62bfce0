"""Conflicts and possible duplicates on arrival, and among stored memories."""

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import CandidatePolicy, Group
from memories.browse.serializers import StoredOut
from memories.draft import Draft
from memories.lifecycle.verbs import retract
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.review.find_pairs import find_pairs
from memories.review.links import close_link
from memories.store.bulk import store_many
from memories.types import State
from tests.memories.builders import day, fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.model, pytest.mark.django_db]
OLD, NEW = "The API listens on port 8080.", "The API listens on port 9090."


def ends(kind: LinkKind) -> list[tuple[Memory, Memory]]:
    return [(link.source, link.target) for link in Link.objects.filter(kind=kind).order_by("key")]


def test_a_contradiction_is_linked_and_told_and_supersedes_nothing(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    told = keep(person(alice), NEW, group="ledger")
    assert (told.outcome, fresh(old).state) == ("created", State.LIVE)
    link = Link.objects.get()
    assert (link.kind, link.status, link.source, link.target) == ("conflict", "open", told.memory, old)
    assert link.evidence == {"conflict": "value", "old": "8080", "new": "9090"}
    assert link.score == pytest.approx(told.neighbours[0].cosine)
    shown = StoredOut.json(told)["near"][0]
    assert shown["why"] == "contradicts: value, “8080” against “9090”"
    assert (shown["id"], shown["sameness"], shown["next"]) == (str(old.id), "different", "supersede")


def test_a_contradiction_may_be_farther_than_a_duplicate(alice: User, ledger: Group) -> None:
    old = kept(person(alice), "Anna lives in Bern.", group="ledger")
    told = keep(person(alice), "Anna now resides in Lisbon.", group="ledger")
    assert 0.55 <= told.neighbours[0].cosine < 0.92
    assert ends(LinkKind.CONFLICT) == [(told.memory, old)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"type": "episodic"}, {"type": "episodic"}),
        ({"valid_to": day(5)}, {"valid_from": day(5)}),
        ({"valid_from": day(9)}, {"valid_from": day(1), "valid_to": day(9)}),
        ({"type": "semantic"}, {"type": "procedural"}),
    ],
    ids=["two events", "true until the other was", "true only later", "two types"],
)
def test_both_may_have_been_true(
    alice: User, ledger: Group, first: dict[str, Any], second: dict[str, Any]
) -> None:
    kept(person(alice), OLD, group="ledger", **first)
    kept(person(alice), NEW, group="ledger", **second)
    assert ends(LinkKind.CONFLICT) == []


def test_what_replaces_another_does_not_contradict_it(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    told = keep(person(alice), NEW, group="ledger", supersedes=str(old.id))
    assert (told.superseded, Link.objects.count()) == (old.id, 0)


def test_a_candidate_that_replaces_and_contradicts_still_replaces(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    ledger.policy = CandidatePolicy.ALL
    ledger.save()
    told = keep(person(alice), NEW, group="ledger", supersedes=str(old.id))
    assert told.outcome == "queued"
    assert [link.evidence for link in Link.objects.all()] == [{"on_approval": "supersede"}]


def test_a_known_contradiction_that_is_to_replace_is_opened_again(alice: User, ledger: Group) -> None:
    old, new = kept(person(alice), OLD, group="ledger"), kept(person(alice), NEW, group="ledger")
    close_link(person(alice), Link.objects.get().id, status=LinkStatus.DISMISSED)
    ledger.policy = CandidatePolicy.ALL
    ledger.save()
    told = keep(person(alice), NEW, group="ledger", supersedes=str(old.id))
    assert (told.outcome, told.memory) == ("reinforced", new)
    link = Link.objects.get()
    assert (link.status, link.settled_by) == ("open", "")
    assert link.evidence == {"conflict": "value", "old": "8080", "new": "9090", "on_approval": "supersede"}


def test_a_retracted_text_contradicts_nobody(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    retract(person(alice), old.id, reason="wrong")
    told = keep(person(alice), NEW, group="ledger")
    assert (told.outcome, Link.objects.count()) == ("created", 0)


def test_a_paraphrase_is_linked_below_the_threshold_of_near_ones(alice: User, ledger: Group) -> None:
    old = kept(person(alice), "We store all times in UTC.", group="ledger")
    told = keep(person(alice), "All times are stored in UTC.", group="ledger")
    assert 0.84 <= told.neighbours[0].cosine < 0.92
    assert ends(LinkKind.DUPLICATE) == [(told.memory, old)]


def test_texts_on_one_topic_are_not_linked(alice: User, ledger: Group) -> None:
    for text in ("The backup runs at night.", "The backup is encrypted.", "Anna checks the backup."):
        kept(person(alice), text, group="ledger")
    assert Link.objects.count() == 0


def test_the_answer_costs_one_vector_search(alice: User, ledger: Group) -> None:
    kept(person(alice), OLD, group="ledger")
    with CaptureQueriesContext(connection) as captured:
        kept(person(alice), NEW, group="ledger")
    assert sum("MATCH" in query["sql"] or "<=>" in query["sql"] for query in captured.captured_queries) <= 1


def imported(alice: User, *texts: str) -> list[Memory]:
    store_many(person(alice), [Draft(text, group="ledger") for text in texts])
    return list(Memory.objects.order_by("key"))


def test_what_an_import_brought_is_compared_on_demand(alice: User, ledger: Group) -> None:
    old, new, again = imported(alice, OLD, NEW, "Port 9090 is what the API listens on.")
    assert Link.objects.count() == 0
    found = find_pairs([old, new, again])
    assert [(t.kind, t.memory, t.other) for t in found] == [("conflict", old, new), ("duplicate", new, again)]
    assert found[0].evidence == {"conflict": "value", "old": "8080", "new": "9090"}
    assert (found[0].reason, found[0].score > 0.55) == ("contradicts: value, “9090” against “8080”", True)
    assert Link.objects.count() == 0


@pytest.mark.parametrize("status", LinkStatus.values)
def test_what_was_linked_is_not_proposed_again(alice: User, ledger: Group, status: str) -> None:
    old, new = imported(alice, OLD, NEW)
    assert len(find_pairs([new])) == len(find_pairs([old])) == 1
    Link.objects.create(kind=LinkKind.CONFLICT, source=new, target=old, status=status)
    assert find_pairs([new]) == find_pairs([old]) == []


def test_another_kind_of_link_is_still_proposed(alice: User, ledger: Group) -> None:
    old, new = imported(alice, OLD, NEW)
    Link.objects.create(kind=LinkKind.DUPLICATE, source=new, target=old)
    assert [tie.kind for tie in find_pairs([new])] == ["conflict"]


def test_other_groups_and_what_no_longer_counts_are_left_alone(
    alice: User, ledger: Group, garden: Group
) -> None:
    drafts = [Draft(OLD, group="garden", scope="group"), Draft(NEW, group="ledger", scope="group")]
    store_many(person(alice), drafts)
    assert find_pairs(list(Memory.objects.all())) == []
    Memory.objects.filter(content=OLD).update(scope="global")
    assert [tie.other.content for tie in find_pairs([Memory.objects.get(content=NEW)])] == [OLD]
    Memory.objects.filter(content=OLD).update(state=State.FORGOTTEN)
    assert find_pairs(list(Memory.objects.all())) == []


def overwriting(settings: Any) -> None:
    settings.LOCI = replace(settings.LOCI, storage=replace(settings.LOCI.storage, dedup="overwrite"))


def test_overwrite_updates_the_old_memory(alice: User, ledger: Group, settings: Any) -> None:
    overwriting(settings)
    old = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger")
    for confidence, count in ((0.8, 1), (0.9, 2), (1.0, 3), (1.0, 4)):
        told = keep(person(alice), "The backup goes to the NAS every night.", group="ledger")
        assert (told.outcome, told.memory) == ("reinforced", old)
        now = fresh(old)
        assert (now.confidence, now.access_count) == (pytest.approx(confidence), count)
        assert now.updated_at > old.updated_at
    assert fresh(old).content == "The nightly backup goes to the NAS."
    wordings = Memory.objects.filter(content="The backup goes to the NAS every night.", superseded_by=old)
    assert {row.state for row in wordings} == {"merged"}
    assert keep(person(alice), old.content, group="ledger").memory == old
    assert fresh(old).access_count == 5


def test_guarded_links_what_overwrite_would_have_updated(alice: User, ledger: Group) -> None:
    old = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger")
    new = kept(person(alice), "Every night the backup goes to the NAS.", group="ledger")
    assert ends(LinkKind.DUPLICATE) == [(new, old)]
    assert fresh(old).access_count == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OLD, NEW),
        ("The API is rate limited.", "The API is not rate limited."),
        ("The keys are with John Smith.", "The keys are with Jane Smith."),
        ("The tests pass ✅", "The tests pass ❌"),
        ("The flag was set by the installer.", "The flag was removed by the installer."),
    ],
)
def test_overwrite_keeps_the_guards(
    alice: User, ledger: Group, settings: Any, first: str, second: str
) -> None:
    overwriting(settings)
    kept(person(alice), first, group="ledger")
    kept(person(alice), second, group="ledger")


def test_overwrite_keeps_to_one_group_scope_and_type(
    alice: User, ledger: Group, garden: Group, settings: Any
) -> None:
    overwriting(settings)
    text, again = "The nightly backup goes to the NAS.", "Every night the backup goes to the NAS."
    kept(person(alice), text, group="garden", scope="global")
    kept(agent(alice), again, group="ledger", scope="global")
    kept(person(alice), again, group="garden", scope="group")
    kept(person(alice), again, group="garden", type="episodic")


def test_what_contradicts_a_sources_text_is_no_version_of_it(alice: User, ledger: Group) -> None:
    store_many(person(alice), [Draft(OLD, group="ledger", source="wiki", source_ref="ports")])
    kept(person(alice), NEW, group="ledger")
    assert Link.objects.get().kind == "conflict"
    again = store_many(person(alice), [Draft(NEW, group="ledger", source="wiki", source_ref="ports")])
    assert (again.unchanged, again.reinforced) == (0, 1)
    assert Memory.objects.get(content=OLD, source_ref="ports").state == State.SUPERSEDED
