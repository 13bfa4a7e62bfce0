"""Outcomes of a store: new, same text, nearly the same text, or another fact."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

import memories.store.bulk
import memories.store.prepare
from access import groups
from access.actor import Actor
from access.errors import Conflict, GroupNotFound, InvalidInput, NotPermitted
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.draft import Draft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.language.contradictions import ConflictKind, Contradiction
from memories.language.same_fact import Comparison, Sameness
from memories.models import Link, LinkKind, Memory, Piece
from memories.store import store
from memories.store.bulk import store_many
from memories.store.decide import WriteContext, is_current_again
from memories.store.neighbours import Neighbour
from memories.store.pieces import EmbeddedText
from memories.store.prepare import PreparedDraft
from tests.memories.builders import day, fresh, keep, kept, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

PORT = "The deploy port is 8081."


def test_a_new_fact_is_one_live_row_with_a_vector_and_a_log_row(alice: User, ledger: Group) -> None:
    stored = keep(
        person(alice), "  The ledger runs on PostgreSQL 16.\r\n", group="ledger", tags=("DB", "db ")
    )
    memory = Memory.objects.get()
    assert (stored.outcome, stored.memory, stored.group, stored.group_created) == (
        "created",
        memory,
        "ledger",
        False,
    )
    assert memory.content == "The ledger runs on PostgreSQL 16."
    assert (memory.state, memory.trust, memory.scope, memory.type) == ("live", "active", "group", "semantic")
    assert (memory.confidence, memory.importance, memory.version, memory.root) == (0.7, 5, 1, None)
    assert memory.tags == ["db"]
    assert (memory.author_name, memory.author_id) == ("alice", alice.pk)
    assert memory.filter == f"ingroup{ledger.key}"
    piece = Piece.objects.get()
    assert (piece.memory_id, piece.start, piece.end) == (memory.key, 0, 33)
    assert len(bytes(piece.embedding)) == 384 * 4
    logged = AuditEntry.objects.filter(operation="store").get()
    assert logged.memory_id == memory.id
    assert logged.payload_row.payload["after"]["content"] == memory.content


def test_a_quarantined_text_is_refused_and_not_reinforced(bob: User, ledger: Group) -> None:
    held = row(ledger, PORT, trust="quarantined")
    again = keep(agent(bob), PORT, group="ledger")
    assert (again.outcome, again.memory) == ("refused", held)
    assert "quarantined here" in again.why
    assert (fresh(held).trust, fresh(held).confidence) == ("quarantined", held.confidence)


def test_a_superseded_text_that_is_stored_twice_still_waits(alice: User, bob: User, ledger: Group) -> None:
    kept(person(alice), PORT, group="ledger")
    current = kept(
        person(alice), PORT.replace("8081", "9090"), group="ledger", supersedes=Memory.objects.get().id
    )
    waiting = keep(agent(bob), PORT, group="ledger")
    assert waiting.outcome == "queued"
    assert f"superseded by {current.id}" in waiting.why
    again = keep(agent(bob, name="other"), PORT, group="ledger")
    assert (again.outcome, again.memory) == ("reinforced", waiting.memory)
    assert waiting.memory is not None
    assert (fresh(waiting.memory).trust, fresh(current).state) == ("candidate", "live")


def test_a_text_is_not_current_again_before_it_is_compared_with_withdrawn_ones(
    alice: User, ledger: Group
) -> None:
    former, current = row(ledger, PORT, state="superseded"), row(ledger, "The deploy port is 9090.")
    prepared = PreparedDraft(Draft(PORT, group="ledger"), EmbeddedText((), np.zeros((0, 384), "f4"), ""))
    context = WriteContext(prepared, ledger, former=former, replaces=current)
    assert is_current_again(person(alice), context)
    assert not is_current_again(person(alice), replace(context, is_probed=False))


def test_what_contradicts_a_text_does_not_restate_it(ledger: Group) -> None:
    near = Neighbour(row(ledger, PORT), 0.99, Comparison(Sameness.SAME, "the same words"))
    denied = Contradiction(ConflictKind.POLARITY, "is", "is not")
    assert (near.restates, replace(near, contradiction=denied).restates) == (True, False)


def test_the_least_confidence_of_a_policy_counts_at_once(alice: User, ledger: Group) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy="below", policy_confidence=0.5)
    assert keep(person(alice), PORT, group="ledger", confidence=0.5).outcome == "created"
    below = keep(person(alice), "The office is in Berlin.", group="ledger", confidence=0.49)
    assert (below.outcome, below.why[:21]) == ("queued", "confidence 0.49 is be")


def test_a_contributor_replaces_a_memory_in_their_group_and_scope_alone(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    theirs = kept(person(alice), PORT, group="garden", scope="global")
    with pytest.raises(NotPermitted, match="may not write in the group 'garden'"):
        keep(person(bob), "The deploy port is 9090.", group="ledger", supersedes=theirs.id)
    own = kept(person(bob), "The office is in Berlin.", group="ledger", scope="group")
    with pytest.raises(NotPermitted, match="may not make a memory of the group 'ledger' global"):
        keep(person(bob), "The office is in Porto.", group="ledger", scope="global", supersedes=own.id)
    assert [fresh(memory).state for memory in (theirs, own)] == ["live", "live"]


def test_a_chain_may_return_to_a_place_that_one_of_its_versions_had(alice: User, ledger: Group) -> None:
    told = {"group": "ledger", "thread": "talk"}
    first = kept(person(alice), "The talk is in Berlin.", position=0, **told)
    second = kept(person(alice), "The talk is in Hamburg.", position=5, supersedes=first.id, **told)
    third = kept(person(alice), "The talk is in Lisbon.", position=6, supersedes=second.id, **told)
    last = kept(person(alice), "The talk is in Porto.", position=5, supersedes=third.id, **told)
    assert [fresh(memory).position for memory in (first, second, third, last)] == [0, 5, 6, 5]
    with pytest.raises(Conflict, match="another memory at position 0"):
        kept(person(alice), "The lunch is at noon.", position=0, **told)


def test_the_same_text_again_by_the_same_author_is_counted_once_a_day(alice: User, ledger: Group) -> None:
    first = kept(person(alice), PORT, group="ledger")
    again = keep(person(alice), f" {PORT} ", group="ledger")
    assert (again.outcome, again.memory) == ("reinforced", first)
    assert again.why == "you confirmed this today already: confidence unchanged"
    assert fresh(first).confidence == 0.7
    assert Memory.objects.count() == 1


def test_another_author_confirms_and_confidence_stops_at_one(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), PORT, group="ledger")
    seen = []
    for name in ("carol", "dave", "erin", "frank"):
        other = User.objects.create_superuser(name, password="a-long-password")
        stored = keep(agent(other), PORT, group="ledger")
        seen.append((stored.outcome, fresh(memory).confidence))
    assert seen == [("reinforced", 0.8), ("reinforced", 0.9), ("reinforced", 1.0), ("reinforced", 1.0)]
    assert AuditEntry.objects.filter(operation="reinforce", memory_id=memory.id).count() == 4


def test_another_wording_confirms_and_is_kept_as_a_merged_row(alice: User, ledger: Group, bob: User) -> None:
    memory = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger")
    stored = keep(agent(bob), "The nightly backups go to the NAS.", group="ledger")
    assert (stored.outcome, stored.memory) == ("reinforced", memory)
    wording = Memory.objects.exclude(key=memory.key).get()
    assert (wording.content, wording.state) == ("The nightly backups go to the NAS.", "merged")
    assert wording.superseded_by == memory
    assert fresh(memory).content == "The nightly backup goes to the NAS."
    assert fresh(memory).confidence == 0.8


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (PORT, "The deploy port is 8082."),
        ("The release is on the 12th of May.", "The release is on the 13th of May."),
        ("Anna owns the billing service.", "Bertha owns the billing service."),
        ("We run PostgreSQL 16.1 in production.", "We run PostgreSQL 16.2 in production."),
        ("The timeout is 30 seconds.", "The timeout is 30 minutes."),
        ("The API is rate limited.", "The API is not rate limited."),
        ("Alice reports to Bob.", "Bob reports to Alice."),
        ("The fault came in with commit a1b2c3d.", "The fault came in with commit a1b2c3e."),
        ("The licence costs $500 a year.", "The licence costs €500 a year."),
        ("The stand-up is at 9:30 UTC.", "The stand-up is at 9:30 CET."),
        ("Logs are written to /var/log/app/web.", "Logs are written to /var/log/app/worker."),
        ("John Smith leads the data team.", "Jane Smith leads the data team."),
        ("We copy the backups from Oslo to Bergen.", "We copy the backups to Oslo from Bergen."),
        ("A deploy needs a review and a ticket.", "A deploy needs a review or a ticket."),
        ("The latency must be < 5 ms.", "The latency must be > 5 ms."),
        ("The report was written by Anna.", "The report was written for Anna."),
        ("Configuration lives in /etc/Loci.", "Configuration lives in /etc/loci."),
    ],
)
def test_two_facts_that_differ_in_what_matters_both_stay(
    alice: User, ledger: Group, first: str, second: str
) -> None:
    kept(person(alice), first, group="ledger")
    kept(person(alice), second, group="ledger")
    assert list(Memory.objects.order_by("key").values_list("content", "state")) == [
        (first, "live"),
        (second, "live"),
    ]


def test_what_is_near_but_not_surely_the_same_is_stored_and_linked(alice: User, ledger: Group) -> None:
    first = kept(person(alice), "A deploy needs a review and a ticket.", group="ledger")
    second = kept(person(alice), "A deploy needs a review or a ticket.", group="ledger")
    link = Link.objects.get()
    assert (link.kind, link.source, link.target, link.status) == (LinkKind.DUPLICATE, second, first, "open")


def test_a_restatement_of_what_one_may_not_write_becomes_a_memory_of_its_own(
    alice: User, garden: Group, bob: User
) -> None:
    theirs = kept(person(alice), "The nightly backup goes to the NAS.", group="garden", scope="global")
    stored = keep(agent(bob), "The nightly backups go to the NAS.", group="ledger")
    assert stored.outcome == "created"
    assert fresh(theirs).confidence == 0.7
    assert Link.objects.get().target == theirs


def test_a_group_memory_is_not_swallowed_by_one_that_others_cannot_see(alice: User, ledger: Group) -> None:
    inner = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger", scope="group")
    outer = kept(person(alice), "The nightly backups go to the NAS.", group="ledger", scope="global")
    assert {fresh(inner).state, fresh(outer).state} == {"live"}


# Rights


def test_a_token_that_only_writes_is_shown_nothing_near(alice: User, ledger: Group, bob: User) -> None:
    kept(person(alice), "A deploy needs a review and a ticket.", group="ledger", scope="group")
    draft = {"group": "ledger", "scope": "group"}
    told = keep(agent(bob, scopes=["write"]), "A deploy needs a review or a ticket.", **draft)
    assert (told.outcome, told.neighbours) == ("created", ())
    told = keep(agent(bob, name="reader"), "A deploy needs a ticket or a review.", **draft)
    assert len(told.neighbours) > 0


def test_nothing_is_embedded_for_who_may_not_write(
    alice: User, ledger: Group, garden: Group, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[object] = []
    monkeypatch.setattr(
        memories.store.prepare, "embed_passage", lambda text, encoder: embedded.append(text) or text
    )
    monkeypatch.setattr(
        memories.store.bulk, "embed_or_owe", lambda texts, encoder: embedded.extend(texts) or []
    )
    with pytest.raises(NotPermitted):
        keep(agent(bob, scopes=["read"]), PORT, group="ledger")
    with pytest.raises(GroupNotFound):
        keep(agent(bob, scopes=["write", "create-group"]), PORT, group="garden")
    with pytest.raises(InvalidInput):
        keep(operator(), PORT, group="No Group")
    result = store_many(agent(bob), [Draft(PORT, group="garden")])
    assert [refusal.index for refusal in result.refused] == [0]
    with pytest.raises(NotPermitted):
        store_relation(agent(bob, scopes=["read"]), RelationDraft("Anna", "owns", "Ledger", group="ledger"))
    assert embedded == []


# Events


def test_equal_events_at_different_times_are_two(alice: User, ledger: Group) -> None:
    for offset in (1, 2):
        kept(person(alice), "The deploy failed.", group="ledger", type="episodic", valid_from=day(offset))
    assert Memory.objects.count() == 2


def test_equal_events_at_the_same_time_are_one(alice: User, ledger: Group) -> None:
    first = kept(person(alice), "The deploy failed.", group="ledger", type="episodic", valid_from=day(1))
    again = keep(person(alice), "The deploy failed.", group="ledger", type="episodic", valid_from=day(1))
    assert (again.outcome, again.memory) == ("reinforced", first)


def test_equal_events_in_a_thread_are_two_unless_they_share_the_place(alice: User, ledger: Group) -> None:
    event = {"group": "ledger", "type": "episodic", "thread": "chat"}
    first = kept(person(alice), "Yes.", **event)
    second = kept(person(alice), "Yes.", **event)
    assert (first.position, second.position) == (0, 1)
    again = keep(person(alice), "Yes.", position=1, **event)
    assert (again.outcome, again.memory) == ("reinforced", second)


def test_a_thread_that_was_filled_to_its_last_position_says_so(alice: User, ledger: Group) -> None:
    event = {"group": "ledger", "type": "episodic", "thread": "monday"}
    last = kept(person(alice), "Yes.", **event)
    Memory.objects.filter(pk=last.pk).update(position=2**31 - 1)  # older versions took it
    with pytest.raises(Conflict, match="last position"):
        keep(person(alice), "No.", **event)
    with pytest.raises(Conflict, match="last position"):
        store_many(person(alice), [Draft("No.", **event)])  # type: ignore[arg-type]


# Sources


def test_a_source_is_stored_once_and_its_changed_text_supersedes(alice: User, ledger: Group) -> None:
    said = {"group": "ledger", "source": "wiki", "source_ref": "page-1"}
    first = kept(person(alice), PORT, **said)
    assert keep(person(alice), PORT, **said).outcome == "unchanged"
    second = kept(person(alice), "The deploy port is 9000.", **said)
    assert (second.root_id, second.version, second.source_ref) == (first.key, 2, "")
    assert (fresh(first).state, fresh(first).superseded_by_id) == ("superseded", second.key)
    again = keep(person(alice), "The deploy port is 9000.", **said)
    assert (again.outcome, again.memory) == ("unchanged", second)
    back = kept(person(alice), PORT, **said)
    assert (back.root_id, back.version, fresh(second).superseded_by_id) == (first.key, 3, back.key)
    assert keep(person(alice), PORT, **said).outcome == "unchanged"


def test_a_changed_source_waits_as_a_candidate_where_the_group_says_so(alice: User, ledger: Group) -> None:
    said = {"group": "ledger", "source": "wiki", "source_ref": "page-1"}
    first = kept(person(alice), PORT, **said)
    Group.objects.filter(pk=ledger.pk).update(policy="all")
    assert keep(person(alice), "The deploy port is 9000.", **said).outcome == "queued"
    again = keep(person(alice), "The deploy port is 9000.", **said)
    assert fresh(first).state == "live"
    assert again.memory is not None
    assert again.memory.trust == "candidate"
    assert Memory.objects.count() == 2


# What lapsed


def test_a_text_whose_time_to_live_ran_out_can_be_stored_anew(alice: User, ledger: Group) -> None:
    old = kept(person(alice), PORT, group="ledger")
    Memory.objects.filter(pk=old.pk).update(expires_at=timezone.now() - timedelta(days=1))
    new = kept(person(alice), PORT, group="ledger")
    assert (fresh(old).state, fresh(old).superseded_by_id) == ("expired", new.key)
    assert (new.root_id, new.version) == (old.key, 2)


def test_a_text_that_was_true_until_lately_can_be_true_again(alice: User, ledger: Group) -> None:
    ended = timezone.now() - timedelta(days=1)
    old = kept(person(alice), PORT, group="ledger", valid_to=ended)
    new = kept(person(alice), PORT, group="ledger")
    assert (fresh(old).state, fresh(old).valid_to) == ("superseded", ended)
    assert (new.root_id, new.valid_to) == (old.key, None)


def test_a_group_that_another_makes_meanwhile_is_stored_into(
    monkeypatch: pytest.MonkeyPatch, alice: User
) -> None:
    found = groups.find_group
    asked = list[str | None]()

    def made_by_another_meanwhile(actor: Actor, slug: str | None, *, right: str = "read") -> Group:
        asked.append(slug)
        try:
            return found(actor, slug, right=right)
        except GroupNotFound:
            groups.create_group(operator(), "harbour")
            raise

    monkeypatch.setattr("access.groups.find_group", made_by_another_meanwhile)
    stored = store(operator(), Draft("The crane lifts 40 t.", group="harbour", scope="group"))
    assert (stored.outcome, stored.group_created, asked) == ("created", False, ["harbour", "harbour"])


def test_a_foreign_group_is_refused_to_one_who_may_make_groups(bob: User) -> None:
    groups.create_group(operator(), "harbour")
    with pytest.raises(GroupNotFound, match="There is no group 'harbour' that you may use"):
        store(person(bob), Draft("The crane lifts 40 t.", group="harbour", scope="group"))
