"""The review deck: what waits for whom, in which order, at which cost; and what a card shows."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.errors import GroupNotFound, NotFound, NotPermitted
from access.groups.members import set_member
from access.models import Group
from access.tokens import operator
from memories.lifecycle.verbs import dispute, forget, reject, verify
from memories.models import Link, Memory, MemoryFinding
from memories.review.card import link_card, memory_card
from memories.review.queue import CAP, CardCount, CardKind, may_review, review_deck
from tests.memories.builders import add_piece, doubt, keep, kept, row, unit_vector
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def kinds(deck: Any) -> list[str]:
    return [card.kind.value for card in deck.cards]


@pytest.fixture
def curator(bob: User, ledger: Group) -> User:
    """Bob, who curates the ledger."""
    set_member(operator(), ledger, user=bob, role="curator")
    return bob


def tie(kind: str, source: Memory, target: Memory, **fields: Any) -> Link:
    return Link.objects.create(kind=kind, source=source, target=target, **fields)


def test_nothing_waits_in_an_empty_store(alice: User) -> None:
    deck = review_deck(person(alice))
    assert deck.cards == ()
    assert deck.total == CardCount(0)


def test_the_deck_has_every_kind_in_the_order_of_harm(alice: User, ledger: Group) -> None:
    held = row(ledger, "held back", trust="quarantined")
    waits = row(ledger, "waits", trust="candidate")
    doubted = doubt(row(ledger, "doubted"))
    promoted = row(ledger, "promoted", trust="candidate")
    event = row(ledger, "happened", type="episodic")
    tie("evidence", promoted, event)
    one, two, three = row(ledger, "one"), row(ledger, "two"), row(ledger, "three")
    same, against = tie("duplicate", one, two), tie("conflict", two, three)
    verify(person(alice), one.id)
    proposed = forget(agent(alice), one.id)
    leaking = row(ledger, "leaking")
    MemoryFinding.objects.create(memory=leaking, kind="github-token", treatment="mask", status="open")
    aged = row(ledger, "aged", confirmed_at=None, created_at=timezone.now() - timedelta(days=200))

    deck = review_deck(person(alice))

    assert kinds(deck) == [
        "conflict", "disputed", "proposal", "sensitive", "candidate", "promotion", "duplicate", "unconfirmed",
        "quarantined",
    ]  # fmt: skip
    assert [card.id for card in deck.cards] == [
        against.id, doubted.id, proposed.proposal, leaking.id, waits.id, promoted.id, same.id, aged.id, held.id,
    ]  # fmt: skip
    assert {kind.value: count.value for kind, count in deck.counts.items()} == dict.fromkeys(
        [kind.value for kind in CardKind], 1
    )
    assert str(deck.total) == "9"
    # Of a link the newer memory is the one to be decided.
    assert (deck.cards[0].memory.content, deck.cards[0].other.content) == ("three", "two")


def test_what_waits_longest_comes_first_and_a_kind_can_be_chosen(alice: User, ledger: Group) -> None:
    first, second = row(ledger, "first", trust="candidate"), row(ledger, "second", trust="candidate")
    doubt(row(ledger, "doubted"))
    deck = review_deck(person(alice), kinds=[CardKind.CANDIDATE])
    assert [card.id for card in deck.cards] == [first.id, second.id]
    assert deck.counts[CardKind.DISPUTED] == CardCount(1)  # counted all the same
    assert (deck.filtered, deck.total) == (CardCount(2), CardCount(3))


@pytest.mark.parametrize(
    "fields",
    [
        {"trust": "rejected"},
        {"trust": "candidate", "state": "forgotten"},
        {"trust": "active"},
        {"trust": "verified"},
    ],
)
def test_what_is_decided_or_gone_does_not_wait(alice: User, ledger: Group, fields: dict[str, str]) -> None:
    doubt(row(ledger, "gone", state="retracted"))
    row(ledger, "text", **fields)
    assert review_deck(person(alice)).total == CardCount(0)


@pytest.mark.parametrize(
    "end", [{"trust": "rejected"}, {"trust": "candidate"}, {"trust": "quarantined"}, {"state": "forgotten"}]
)
def test_a_link_waits_only_between_two_that_count(alice: User, ledger: Group, end: dict[str, str]) -> None:
    tie("conflict", row(ledger, "counts"), row(ledger, "does not", **end))
    assert review_deck(person(alice)).counts[CardKind.CONFLICT] == CardCount(0)


def test_a_link_is_between_the_versions_that_count_now(alice: User, ledger: Group) -> None:
    old = row(ledger, "old text", state="superseded")
    new = row(ledger, "new text", root=old, version=2)
    Memory.objects.filter(pk=old.pk).update(superseded_by=new)
    link = tie("duplicate", old, row(ledger, "another"))
    (card,) = review_deck(person(alice)).cards
    assert {card.memory.content, card.other.content if card.other else ""} == {"new text", "another"}
    assert card.id == link.id
    # Once both ends lead to one memory there is nothing left to decide.
    Memory.objects.filter(content="another").update(state="superseded", superseded_by=new)
    assert review_deck(person(alice)).cards == ()


@pytest.mark.parametrize("status", ["settled", "dismissed"])
def test_a_closed_link_does_not_wait(alice: User, ledger: Group, status: str) -> None:
    tie("conflict", row(ledger, "one"), row(ledger, "two"), status=status)
    assert review_deck(person(alice)).cards == ()


def test_a_curator_sees_only_the_cards_of_his_groups(
    curator: User, alice: User, charlie: User, ledger: Group, garden: Group
) -> None:
    mine, hers = row(ledger, "mine", trust="candidate"), row(garden, "hers", trust="candidate")
    worldly = row(garden, "global of the garden", trust="candidate", scope="global")
    within = tie("conflict", row(ledger, "one"), row(ledger, "two"))
    tie("conflict", row(garden, "three"), row(garden, "four"))
    tie("duplicate", row(ledger, "five"), row(garden, "six"))  # its other end is not his to see
    across = tie("duplicate", row(ledger, "seven"), row(garden, "eight", scope="global"))

    deck = review_deck(person(curator))

    assert {card.id for card in deck.cards} == {mine.id, within.id, across.id}
    assert deck.counts[CardKind.CONFLICT] == CardCount(1)
    assert {hers.id, worldly.id} < {card.id for card in review_deck(person(alice)).cards}
    assert review_deck(person(charlie)).cards == ()
    for card in (hers, worldly):
        with pytest.raises((NotFound, NotPermitted)):
            memory_card(person(curator), card.id)


def test_a_group_that_one_may_not_curate_gives_no_deck(bob: User, ledger: Group, garden: Group) -> None:
    row(ledger, "waits", trust="candidate")
    assert review_deck(person(bob)).cards == ()  # he contributes, and decides nothing
    with pytest.raises(NotPermitted):
        review_deck(person(bob), group="ledger")
    with pytest.raises(GroupNotFound):
        review_deck(person(bob), group="garden")


def test_a_group_narrows_the_deck(alice: User, ledger: Group, garden: Group) -> None:
    mine = row(ledger, "mine", trust="candidate")
    row(garden, "hers", trust="candidate")
    assert [card.id for card in review_deck(person(alice), group="ledger").cards] == [mine.id]


def test_only_a_person_who_curates_may_review(alice: User, curator: User, charlie: User) -> None:
    assert may_review(person(alice))
    assert may_review(person(curator))
    assert not may_review(person(charlie))
    assert not may_review(agent(alice, scopes=("read", "write", "curate")))
    assert person(alice).keys_where("curate") is None


def test_counting_ends_at_the_cap(alice: User, ledger: Group) -> None:
    Memory.objects.bulk_create(
        Memory(content=f"t{n}", content_hash=str(n), fold_hash=str(n), type="semantic", scope="group",
               group=ledger, trust="candidate")
        for n in range(CAP + 5)
    )  # fmt: skip
    deck = review_deck(person(alice), limit=3)
    assert len(deck.cards) == 3
    assert (deck.counts[CardKind.CANDIDATE], str(deck.total)) == (CardCount(CAP, is_capped=True), "500+")


def queries(work: Callable[[], object]) -> int:
    with CaptureQueriesContext(
        connection,
    ) as seen:
        work()
    return len(seen)


def test_the_number_of_queries_does_not_grow(curator: User, ledger: Group, garden: Group) -> None:
    def fill(start: int, count: int) -> None:
        for n in range(start, start + count):
            row(ledger, f"waits {n}", trust="candidate")
            doubt(row(ledger, f"doubted {n}"))
            first, second = row(ledger, f"a {n}"), row(ledger, f"b {n}")
            tie("conflict", first, second)
            tie("duplicate", second, row(garden, f"c {n}", scope="global"))
            tie("evidence", row(ledger, f"promoted {n}", trust="candidate"), row(ledger, f"e {n}"))

    actor = person(curator)
    fill(0, 1)
    few = queries(lambda: review_deck(actor))
    few_card = queries(lambda: memory_card(actor, Memory.objects.get(content="promoted 0").id))
    fill(1, 12)
    for event in Memory.objects.filter(content__startswith="e "):
        Link.objects.get_or_create(
            kind="evidence", source=Memory.objects.get(content="promoted 0"), target=event
        )
    assert queries(lambda: review_deck(actor)) == few <= 17
    assert queries(lambda: memory_card(actor, Memory.objects.get(content="promoted 0").id)) == few_card <= 12


@pytest.mark.sqlite(reason="plans of SQLite's planner")
def test_the_deck_reads_only_what_waits(alice: User) -> None:
    from memories.review.queue import WAITING_SQL  # the plan is the point of the file of its own

    query = WAITING_SQL.replace(":trust", "'candidate'").replace(":everywhere", "0")
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + query.replace(":groups", "1, 2").replace(":limit", "9"))
        plan = " ".join(str(line) for line in cursor.fetchall())
    assert "memory_waiting" in plan
    assert "SCAN" not in plan


def test_a_card_shows_what_is_near_with_what_differs(alice: User, ledger: Group) -> None:
    old = kept(person(alice), "The deploy port of the ledger is 8082.", group="ledger", scope="group")
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    bot = agent(alice, name="deployer")
    queued = keep(bot, "The deploy port of the ledger is 8443.", group="ledger", scope="group")
    assert queued.memory is not None

    card = memory_card(person(alice), queued.memory.id)

    assert (card.kind, card.memory.pk) == (CardKind.CANDIDATE, queued.memory.pk)
    assert (card.origin.via, card.origin.token) == ("mcp", "deployer")
    (beside,) = card.beside
    assert (beside.memory.pk, beside.link_kind, beside.counts) == (old.pk, "conflict", True)
    assert beside.cosine is not None
    assert beside.cosine > 0.8
    assert "".join(part.text for part in beside.parts if part.kind == "gone") == "8082"
    assert "".join(part.text for part in beside.parts if part.kind == "new") == "8443"
    assert beside.is_alike
    assert beside.link == Link.objects.get().id
    assert [choice.verb for choice in card.choices] == ["approve", "reject", "edit", "merge", "supersede"]


def test_a_card_without_links_shows_what_the_vectors_find(alice: User, ledger: Group) -> None:
    memory, near, far = row(ledger, "m", trust="candidate"), row(ledger, "n"), row(ledger, "f")
    vector = unit_vector(1)
    add_piece(memory, vector)
    add_piece(near, vector)
    add_piece(far, unit_vector(2))
    card = memory_card(person(alice), memory.id)
    assert [(one.memory.pk, one.link_kind, round(one.cosine or 0, 3)) for one in card.beside] == [
        (near.pk, "", 1.0)
    ]
    assert not card.beside[0].is_alike


def test_a_disputed_card_says_why_and_keeps_the_other_one(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), "The limit is 200.", group="ledger", scope="group")
    dispute(person(alice), memory.id, reason="it may be 300")
    card = memory_card(person(alice), memory.id)
    assert (card.kind, card.reason, card.is_swapped) == (CardKind.DISPUTED, "alice: it may be 300", True)
    assert [choice.label for choice in card.choices[:2]] == ["It is right", "It is wrong"]


def test_a_promoted_fact_shows_the_events_it_rests_on(alice: User, ledger: Group) -> None:
    fact, event = row(ledger, "fact", trust="candidate"), row(ledger, "event", type="episodic")
    tie("evidence", fact, event)
    card = memory_card(person(alice), fact.id)
    assert card.kind == CardKind.PROMOTION
    assert [one.pk for one in card.evidence] == [event.pk]


def test_quarantined_text_is_only_let_in_or_turned_down(alice: User, ledger: Group) -> None:
    card = memory_card(person(alice), row(ledger, "held", trust="quarantined").id)
    assert [choice.verb for choice in card.choices] == ["approve", "reject"]


def test_a_link_card_has_both_memories_and_the_reason(
    alice: User, curator: User, charlie: User, ledger: Group
) -> None:
    older, newer = row(ledger, "The port is 1."), row(ledger, "The port is 2.")
    link = tie(
        "conflict", older, newer, score=0.9, reason="another number", evidence={"old": "1", "new": "2"}
    )
    card = link_card(person(curator), link.id)
    assert (card.memory.pk, card.beside[0].memory.pk) == (newer.pk, older.pk)
    assert (card.beside[0].why, card.beside[0].spans) == ("another number", {"old": "1", "new": "2"})
    assert [choice.verb for choice in card.choices] == ["supersede", "dismiss", "merge", "reject", "edit"]
    with pytest.raises(NotFound):
        link_card(person(charlie), link.id)


def test_a_rejected_candidates_links_leave_the_deck_with_it(alice: User, ledger: Group) -> None:
    memory = row(ledger, "waits", trust="candidate")
    tie("duplicate", memory, row(ledger, "stands"))
    assert kinds(review_deck(person(alice))) == ["candidate"]
    reject(person(alice), memory.id)
    assert kinds(review_deck(person(alice))) == []
