"""Memories that a caller may see: access decides the rows, the state × trust table decides what counts, and when.

A query for live memories is as of now. A fact whose valid time begins later does not count yet, and the memory that it
supersedes counts until then. An event dated ahead is a plan and counts at once.
"""

from dataclasses import replace
from datetime import datetime

from django.db.models import F, Q, QuerySet

from access.actor import Actor
from access.models import Group
from access.visibility import Narrowing, Visibility, visible_to
from memories.language.cleaning import check_moments
from memories.models import Memory
from memories.queries.expressions import HasTag
from memories.queries.known_then import states_known_at
from memories.types import HISTORY_STATES, NOT_WITHDRAWN, RELATION_SOURCE, VISIBLE_TRUSTS, State, Trust, Type


def is_visible(memory: Memory, v: Visibility) -> bool:
    """True if the row, as it was read, is inside the Visibility; no query."""
    return matches_scope(memory, v) and matches_kind(memory, v) and matches_time(memory, v)


def matches_scope(m: Memory, v: Visibility) -> bool:
    """True if scope and group match."""
    if v.scope and m.scope != v.scope:
        return False
    return v.groups is None or m.group_id in v.groups or (v.include_global and m.scope == "global")


def matches_kind(m: Memory, v: Visibility) -> bool:
    """True if state, trust, type, confidence, importance, source, thread and tags match."""
    return (
        (m.state in v.states or m.state in states_of(v) or m.key in v.shown_then)
        and m.trust in v.trusts
        and has_type(v, m.type, state=m.state)
        and m.confidence >= v.min_confidence
        and (not v.min_importance or m.importance >= v.min_importance)
        and (not v.source or m.source == v.source)
        and (not v.thread or (m.thread is not None and m.thread.name == v.thread))
        and v.tags.issubset(m.tags)
        and m.key not in v.orphans
    )


def matches_time(m: Memory, v: Visibility) -> bool:
    """True if the time bounds match; a query for live memories needs one that counts at `now`."""
    if (v.after and m.moment < v.after) or (v.before and m.moment > v.before):
        return False
    if v.is_history:
        return matches_history(m, v)
    return v.states != {State.LIVE} or counts_at(m, v.now)


def counts_at(m: Memory, moment: datetime) -> bool:
    """True if the memory is valid then: a live one, or one whose successor is dated ahead."""
    is_current = m.state == State.LIVE or is_outlasting(m, moment)
    return is_current and has_begun(m, moment) and _holds_at(m, moment) and not _has_expired(m, moment)


def is_outlasting(m: Memory, moment: datetime) -> bool:
    """True if the memory is superseded by one dated ahead, and counts until that day."""
    return (
        m.state == State.SUPERSEDED
        and m.type != Type.EPISODIC
        and m.retired_at is None
        and m.valid_to is not None
        and m.valid_to > moment
        and m.valid_to_known_at is not None
        and m.valid_to > m.valid_to_known_at
        and m.trust in RECALLED
    )


def has_begun(m: Memory, moment: datetime) -> bool:
    """True unless the memory is a fact whose valid time begins later; an event dated ahead is a plan."""
    return m.type == Type.EPISODIC or m.valid_from is None or m.valid_from <= moment


def is_as_of_now(v: Visibility) -> bool:
    """True for a query for live memories, which asks what counts at `now`."""
    return v.states == {State.LIVE} and not v.is_history


def states_of(v: Visibility) -> frozenset[str]:
    """The states that may be visible; a query as of now includes superseded memories that still count."""
    return v.states | {State.SUPERSEDED} if is_as_of_now(v) else v.states


def matches_history(m: Memory, v: Visibility) -> bool:
    """True if the row was true at `as_of`, as Loci knew it at `known_at`; the same condition as history_q()."""
    at = v.as_of or v.known_at or v.now
    if (m.valid_from and m.valid_from > at) or _has_expired(m, at) or m.key in v.hidden_then:
        return False
    was_open = bool(v.known_at and m.valid_to_known_at and m.valid_to_known_at > v.known_at)
    if not (_holds_at(m, at) or was_open):
        return False
    is_believed = m.retired_at is None or m.state in NOT_WITHDRAWN
    if v.known_at is None:
        return is_believed
    return m.created_at <= v.known_at and (
        is_believed or (m.retired_at is not None and m.retired_at > v.known_at)
    )


def _holds_at(m: Memory, moment: datetime) -> bool:
    return m.type == Type.EPISODIC or m.valid_to is None or m.valid_to > moment


def _has_expired(m: Memory, moment: datetime) -> bool:
    return m.expires_at is not None and m.expires_at <= moment


RECALLED = frozenset(VISIBLE_TRUSTS)
EVERY_TRUST = frozenset(Trust.values)
EVERY_STATE = frozenset(State.values)


def recallable_by(actor: Actor, group: Group | None, *, narrowing: Narrowing | None = None) -> Visibility:
    """What recall may return to `actor`: live memories, and history as well for a query about the past.

    Raises:
        NotPermitted: the actor may not read in the group.
        InvalidInput: a timestamp has no time zone, or `known_at` is in the future.
    """
    narrow = checked_narrowing(narrowing)
    is_history = narrow.as_of is not None or narrow.known_at is not None
    states = frozenset({State.LIVE}) | (HISTORY_STATES if is_history else frozenset())
    visibility = visible_to(actor, group, states=states, trusts=RECALLED, narrowing=narrow)
    return without_orphans(actor, as_known_then(visibility))


def without_orphans(actor: Actor, visibility: Visibility) -> Visibility:
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
    narrow = checked_narrowing(narrowing)
    return as_known_then(visible_to(actor, group, states=states, trusts=trusts, narrowing=narrow))


def as_known_then(visibility: Visibility) -> Visibility:
    """The Visibility with the rows that were hidden, merged or restored since `known_at`, from the log."""
    if visibility.known_at is None:
        return visibility
    then = states_known_at(visibility.known_at)
    return replace(visibility, shown_then=then.shown, hidden_then=then.hidden)


def checked_narrowing(narrowing: Narrowing | None) -> Narrowing:
    """The narrowing, with valid timestamps; every interface's time bounds pass here."""
    narrow = narrowing or Narrowing()
    check_moments(as_of=narrow.as_of, known_at=narrow.known_at, after=narrow.after, before=narrow.before)
    return narrow


def as_q(visibility: Visibility) -> Q:
    """The Visibility as a condition on Memory; the engines' SQL is equivalent (a test compares them)."""
    return scope_q(visibility) & kind_q(visibility) & time_q(visibility)


def without_names(rows: QuerySet[Memory]) -> QuerySet[Memory]:
    """The rows without entities that only a relation names (Memory.is_name_alone)."""
    return rows.exclude(type=Type.ENTITY, source=RELATION_SOURCE)


def scope_q(v: Visibility) -> Q:
    """Condition on group and scope."""
    condition = Q() if v.groups is None else Q(group__in=v.groups)
    if v.include_global and v.groups is not None:
        condition |= Q(scope="global")
    return condition & Q(scope=v.scope) if v.scope else condition


def has_type(v: Visibility, type_: str, *, state: str) -> bool:
    """True if the Visibility includes this type in this state."""
    if not v.types or type_ in v.types:
        return True
    return state == State.RETRACTED and type_ in v.retracted_types


def kind_q(v: Visibility) -> Q:
    """Condition on state, trust, type, confidence, importance, source, thread and tags."""
    condition = Q(state__in=states_of(v), trust__in=v.trusts)
    if v.shown_then:
        condition = (Q(state__in=v.states) | Q(key__in=v.shown_then)) & Q(trust__in=v.trusts)
    if v.types:
        condition &= Q(type__in=v.types) | Q(state=State.RETRACTED, type__in=v.retracted_types)
    if v.min_confidence > 0:
        condition &= Q(confidence__gte=v.min_confidence)
    if v.min_importance > 0:
        condition &= Q(importance__gte=v.min_importance)
    if v.source:
        condition &= Q(source=v.source)
    if v.thread:
        condition &= Q(thread__name=v.thread)
    if v.tags:
        condition &= Q(HasTag(F("tags"), *sorted(v.tags)))
    if v.orphans:
        condition &= ~Q(key__in=v.orphans)
    return condition


def time_q(v: Visibility) -> Q:
    """Condition on the time bounds."""
    condition = Q()
    if v.is_history:
        condition &= history_q(v)
    elif v.states == {State.LIVE}:
        condition &= Q(expires_at=None) | Q(expires_at__gt=v.now)
        condition &= Q(type=Type.EPISODIC) | Q(valid_to=None) | Q(valid_to__gt=v.now)
        condition &= Q(type=Type.EPISODIC) | Q(valid_from=None) | Q(valid_from__lte=v.now)
        condition &= Q(state=State.LIVE) | outlasting_q(v.now)
    if v.after:
        condition &= Q(valid_from__gte=v.after) | Q(valid_from=None, created_at__gte=v.after)
    if v.before:
        condition &= Q(valid_from__lte=v.before) | Q(valid_from=None, created_at__lte=v.before)
    return condition


def outlasting_q(moment: datetime) -> Q:
    """Condition for superseded memories whose successor is dated ahead; the same as is_outlasting()."""
    return Q(
        ~Q(type=Type.EPISODIC),
        Q(valid_to__gt=F("valid_to_known_at")),  # dated ahead, not replaced while somebody asked
        state=State.SUPERSEDED,
        retired_at=None,
        valid_to__gt=moment,
        trust__in=VISIBLE_TRUSTS,
    )


def history_q(v: Visibility) -> Q:
    """Condition for what was true at `as_of`, as Loci knew it at `known_at` (default: now).

    A time to live limits how long a memory is reliable, so it is compared with the requested moment.
    """
    at = v.as_of or v.known_at
    is_true = Q(type=Type.EPISODIC) | Q(valid_to=None) | Q(valid_to__gt=at)
    if v.known_at:
        # An end that was not known yet did not count then.
        is_true |= Q(valid_to_known_at__gt=v.known_at)
    unexpired = Q(expires_at=None) | Q(expires_at__gt=at)
    condition = (Q(valid_from=None) | Q(valid_from__lte=at)) & is_true & unexpired
    is_believed = Q(retired_at=None) | Q(state__in=NOT_WITHDRAWN)
    if v.hidden_then:
        condition &= ~Q(key__in=v.hidden_then)
    if v.known_at:
        return condition & Q(created_at__lte=v.known_at) & (is_believed | Q(retired_at__gt=v.known_at))
    return condition & is_believed
