"""Memories that a caller may see: access decides the rows, the state × trust table decides what counts, and when.

A query for live memories is as of now. A fact whose valid time begins later does not count yet, and the memory that it
supersedes counts until then. An event dated ahead is a plan and counts at once. The predicates are in predicates.py.
"""

from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from django.db.models import Q, QuerySet

from access.actor import Actor
from access.models import Group
from access.visibility import Narrowing, Visibility, visible_to
from memories.language.cleaning import check_moments
from memories.models import Memory
from memories.queries.known_then import states_known_at
from memories.queries.predicates import (
    RowTest,
    begun_by,
    counting_at,
    outlasting,
    rules_of,
    to_q,
    to_test,
    where_rule,
)
from memories.types import HISTORY_STATES, RELATION_SOURCE, VISIBLE_TRUSTS, State, Trust, Type


@lru_cache(maxsize=64)
def sees(v: Visibility) -> RowTest:
    """Whether a row, as it was read, is inside the Visibility; no query."""
    return to_test(rules_of(v))


def is_visible(memory: Memory, v: Visibility) -> bool:
    """True if the row, as it was read, is inside the Visibility; no query."""
    return sees(v)(memory)


def matches_scope(m: Memory, v: Visibility) -> bool:
    """True if scope and group match."""
    return to_test(where_rule(v))(m)


def counts_at(m: Memory, moment: datetime) -> bool:
    """True if the memory is valid then: a live one, or one whose successor is dated ahead."""
    return to_test(counting_at(moment))(m)


def is_outlasting(m: Memory, moment: datetime) -> bool:
    """True if the memory is superseded by one dated ahead, and counts until that day."""
    return to_test(outlasting(moment))(m)


def has_begun(m: Memory, moment: datetime) -> bool:
    """True unless the memory is a fact whose valid time begins later; an event dated ahead is a plan."""
    return to_test(begun_by(moment))(m)


RECALLED = frozenset(VISIBLE_TRUSTS)
EVERY_TRUST = frozenset(Trust.values)
EVERY_STATE = frozenset(State.values)


def recallable_by(actor: Actor, group: Group | None, *, narrowing: Narrowing | None = None) -> Visibility:
    """What recall may return to `actor`: live memories, and history as well for a query about the past.

    Raises:
        NotPermitted: the actor may not read in the group.
        InvalidInput: a timestamp has no time zone, or `known_at` is in the future.
    """
    narrow = _checked_narrowing(narrowing)
    is_history = narrow.as_of is not None or narrow.known_at is not None
    states = frozenset({State.LIVE}) | (HISTORY_STATES if is_history else frozenset())
    visibility = visible_to(actor, group, states=states, trusts=RECALLED, narrowing=narrow)
    return _without_orphans(actor, _as_known_then(visibility))


def _without_orphans(actor: Actor, visibility: Visibility) -> Visibility:
    """The Visibility without memories of commits missing from the actor's checkout, unless it includes them."""
    missing = actor.checkout.unreachable if actor.checkout is not None else ()
    if not missing or visibility.include_orphans:
        return visibility
    rows = Memory.objects.filter(anchor_commit__in=missing).exclude(anchor_commit="")
    return replace(visibility, orphans=frozenset(rows.values_list("key", flat=True)))


def listed_by(
    actor: Actor,
    group: Group | None,
    *,
    narrowing: Narrowing | None = None,
    states: frozenset[str] = EVERY_STATE,
    trusts: frozenset[str] = EVERY_TRUST,
) -> Visibility:
    """What inspect, lists and exports may show to `actor`: every state and trust, unless narrowed.

    Raises the same errors as recallable_by().
    """
    narrow = _checked_narrowing(narrowing)
    return _as_known_then(visible_to(actor, group, states=states, trusts=trusts, narrowing=narrow))


def _as_known_then(visibility: Visibility) -> Visibility:
    """The Visibility with the rows that were hidden, merged or restored since `known_at`, from the log."""
    if visibility.known_at is None:
        return visibility
    then = states_known_at(visibility.known_at)
    return replace(visibility, shown_then=then.shown, hidden_then=then.hidden)


def _checked_narrowing(narrowing: Narrowing | None) -> Narrowing:
    """The narrowing, with valid timestamps; every interface's time bounds pass here."""
    narrow = narrowing or Narrowing()
    check_moments(as_of=narrow.as_of, known_at=narrow.known_at, after=narrow.after, before=narrow.before)
    return narrow


def as_q(visibility: Visibility) -> Q:
    """The Visibility as a condition on Memory."""
    return to_q(rules_of(visibility))


def outlasting_q(moment: datetime) -> Q:
    """Condition for superseded memories whose successor is dated ahead."""
    return to_q(outlasting(moment))


def without_names(rows: QuerySet[Memory]) -> QuerySet[Memory]:
    """The rows without entities that only a relation names (Memory.is_name_alone)."""
    return rows.exclude(type=Type.ENTITY, source=RELATION_SOURCE)
