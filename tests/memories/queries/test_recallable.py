"""What recall may return, row by row; the condition for databases and the one for rows in memory agree on each."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from access.actor import WRITE, Actor, Checkout
from access.errors import NotPermitted
from access.models import Group
from access.visibility import Narrowing, Visibility
from memories.models import Memory
from memories.queries.known_then import StatesThen, compare_states
from memories.queries.visibility import as_q, is_visible, listed_by, recallable_by
from memories.queries.where import parse_where
from tests.memories.builders import NOW, day, row
from tests.people import person

pytestmark = pytest.mark.django_db


def seen(visibility: Visibility) -> set[str]:
    """The contents inside a Visibility, by both conditions."""
    rows = set(Memory.objects.filter(as_q(visibility)).values_list("content", flat=True))
    assert rows == {memory.content for memory in Memory.objects.all() if is_visible(memory, visibility)}
    return rows


def test_recall_returns_what_counts_now(alice: User, ledger: Group) -> None:
    row(ledger, "counts")
    row(ledger, "waits", trust="candidate")
    row(ledger, "was rejected", trust="rejected")
    row(ledger, "sleeps", state="dormant")
    row(ledger, "was retracted", state="retracted", retired_at=NOW)
    row(ledger, "has expired", expires_at=NOW)
    row(ledger, "has ended", valid_to=NOW)
    row(ledger, "was an event", type="episodic", valid_to=NOW)
    assert seen(recallable_by(person(alice), ledger)) == {"counts", "was an event"}
    assert len(seen(listed_by(person(alice), ledger))) == 8


def test_without_a_group_one_recalls_from_ones_own_groups(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    row(ledger, "own")
    row(garden, "theirs")
    row(garden, "everybody's", scope="global")
    assert seen(recallable_by(person(bob), None)) == {"own", "everybody's"}
    assert seen(recallable_by(person(alice), None)) == {"own", "theirs", "everybody's"}
    for actor, group in ((person(bob), garden), (replace(person(bob), scopes=frozenset({WRITE})), None)):
        with pytest.raises(NotPermitted, match="may not read here"):
            recallable_by(actor, group)


def test_memories_of_missing_commits_are_left_out_unless_asked_for(alice: User, ledger: Group) -> None:
    row(ledger, "here", anchor_commit="a" * 40)
    row(ledger, "missing", anchor_commit="b" * 40)
    row(ledger, "of no commit")
    actor: Actor = replace(person(alice), checkout=Checkout(unreachable=frozenset({"b" * 40})))
    assert seen(recallable_by(actor, ledger)) == {"here", "of no commit"}
    every = recallable_by(actor, ledger, narrowing=Narrowing(include_orphans=True))
    assert seen(every) == {"here", "missing", "of no commit"}


def test_an_end_counts_from_the_day_on_which_it_was_known(alice: User, ledger: Group) -> None:
    row(ledger, "ended", state="superseded", valid_to=day(1), valid_to_known_at=day(5))
    for known_at, counted in ((day(-1), set()), (day(4), {"ended"}), (day(6), set())):
        past = Narrowing(as_of=day(3), known_at=known_at)
        assert seen(recallable_by(person(alice), ledger, narrowing=past)) == counted


def test_only_a_successor_dated_ahead_leaves_the_former_one_counting(alice: User, ledger: Group) -> None:
    row(ledger, "until its plan begins", state="superseded", valid_to=day(2), valid_to_known_at=day(0))
    row(ledger, "replaced at once", state="superseded", valid_to=day(2), valid_to_known_at=day(2))
    now = replace(recallable_by(person(alice), ledger), now=day(1))
    assert seen(now) == {"until its plan begins"}


def test_a_state_then_counts_only_if_it_is_another_one_now() -> None:
    rows = [(1, "live", "live", None), (2, "forgotten", "live", None), (3, "live", "forgotten", None)]
    assert compare_states(rows) == StatesThen(shown=frozenset({2}), hidden=frozenset({3}))


def test_one_moment_may_be_both_bounds() -> None:
    at = "2026-05-01T12:00:00Z"
    assert parse_where({"after": at, "before": at}) == Narrowing(after=NOW, before=NOW)
