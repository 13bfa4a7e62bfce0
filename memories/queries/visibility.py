"""What of the memories a caller may see: access decides the rows, the state × trust table decides what counts."""

from datetime import datetime

from django.db.models import F, Q

from access.actor import Actor
from access.models import Group
from access.visibility import Narrowing, Visibility, visible_to
from memories.language.timestamps import check_moments
from memories.models import Memory
from memories.queries.expressions import HasTag
from memories.types import HISTORY_STATES, NOT_WITHDRAWN, VISIBLE_TRUSTS, State, Trust, Type


def is_visible(memory: Memory, v: Visibility) -> bool:
    """Say whether the row, as it was read, is inside the Visibility; asks nothing of the database."""
    return _is_in_room(memory, v) and _is_kind(memory, v) and _is_in_time(memory, v)


def _is_in_room(m: Memory, v: Visibility) -> bool:
    if v.scope and m.scope != v.scope:
        return False
    return v.groups is None or m.group_id in v.groups or (v.include_global and m.scope == "global")


def _is_kind(m: Memory, v: Visibility) -> bool:
    return (
        m.state in v.states
        and m.trust in v.trusts
        and has_type(v, m.type, state=m.state)
        and m.confidence >= v.min_confidence
        and v.tags.issubset(m.tags)
    )


def _is_in_time(m: Memory, v: Visibility) -> bool:
    began = m.valid_from or m.created_at
    if (v.after and began < v.after) or (v.before and began > v.before):
        return False
    if v.is_history:
        return _is_in_history(m, v)
    return v.states != {State.LIVE} or (_holds_at(m, v.now) and not _has_expired(m, v.now))


def _is_in_history(m: Memory, v: Visibility) -> bool:
    """As visibility.as_q() has it: what was true at `as_of`, as Loci knew it at `known_at`."""
    at = v.as_of or v.known_at or v.now
    if (m.valid_from and m.valid_from > at) or _has_expired(m, at):
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
    """Give what recall may return to `actor`: live memories, and for a question about the past also history.

    Raises:
        NotPermitted: the actor may not read there.
        InvalidInput: a moment has no time zone, or `known_at` lies in the future.
    """
    narrow = _checked(narrowing)
    is_history = narrow.as_of is not None or narrow.known_at is not None
    states = frozenset({State.LIVE}) | (HISTORY_STATES if is_history else frozenset())
    return visible_to(actor, group, states=states, trusts=RECALLED, narrowing=narrow)


def listed_by(
    actor: Actor,
    group: Group | None,
    *,
    narrowing: Narrowing | None = None,
    states: frozenset[str] = EVERY_STATE,
    trusts: frozenset[str] = EVERY_TRUST,
) -> Visibility:
    """Give what inspect, lists and exports may show to `actor`: every state and trust, unless narrowed.

    Raises as recallable_by() does.
    """
    return visible_to(actor, group, states=states, trusts=trusts, narrowing=_checked(narrowing))


def _checked(narrowing: Narrowing | None) -> Narrowing:
    """Every face's question about time passes here."""
    narrow = narrowing or Narrowing()
    check_moments(as_of=narrow.as_of, known_at=narrow.known_at, after=narrow.after, before=narrow.before)
    return narrow


def as_q(visibility: Visibility) -> Q:
    """Render a Visibility as a condition on Memory; the engines' SQL renderings say the same (a test compares them)."""
    return _rooms(visibility) & _kinds(visibility) & _times(visibility)


def _rooms(v: Visibility) -> Q:
    condition = Q() if v.groups is None else Q(group__in=v.groups)
    if v.include_global and v.groups is not None:
        condition |= Q(scope="global")
    return condition & Q(scope=v.scope) if v.scope else condition


def has_type(v: Visibility, type_: str, *, state: str) -> bool:
    """Say whether a memory's type is asked for, in this state."""
    if not v.types or type_ in v.types:
        return True
    return state == State.RETRACTED and type_ in v.retracted_types


def _kinds(v: Visibility) -> Q:
    condition = Q(state__in=v.states, trust__in=v.trusts)
    if v.types:
        condition &= Q(type__in=v.types) | Q(state=State.RETRACTED, type__in=v.retracted_types)
    if v.min_confidence > 0:
        condition &= Q(confidence__gte=v.min_confidence)
    for tag in sorted(v.tags):
        condition &= Q(HasTag(F("tags"), tag))
    return condition


def _times(v: Visibility) -> Q:
    condition = Q()
    if v.is_history:
        condition &= _history(v)
    elif v.states == {State.LIVE}:
        condition &= Q(expires_at=None) | Q(expires_at__gt=v.now)
        condition &= Q(type=Type.EPISODIC) | Q(valid_to=None) | Q(valid_to__gt=v.now)
    if v.after:
        condition &= Q(valid_from__gte=v.after) | Q(valid_from=None, created_at__gte=v.after)
    if v.before:
        condition &= Q(valid_from__lte=v.before) | Q(valid_from=None, created_at__lte=v.before)
    return condition


def _history(v: Visibility) -> Q:
    """What was true at `as_of`, as Loci knew it at `known_at` (now, where that is not given).

    A time to live bounds what may be counted on, so it is held against the moment that is asked about.
    """
    at = v.as_of or v.known_at
    is_true = Q(type=Type.EPISODIC) | Q(valid_to=None) | Q(valid_to__gt=at)
    if v.known_at:
        # An end that was not known yet did not end it.
        is_true |= Q(valid_to_known_at__gt=v.known_at)
    unexpired = Q(expires_at=None) | Q(expires_at__gt=at)
    condition = (Q(valid_from=None) | Q(valid_from__lte=at)) & is_true & unexpired
    is_believed = Q(retired_at=None) | Q(state__in=NOT_WITHDRAWN)
    if v.known_at:
        return condition & Q(created_at__lte=v.known_at) & (is_believed | Q(retired_at__gt=v.known_at))
    return condition & is_believed
