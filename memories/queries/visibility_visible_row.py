"""The rendering of a Visibility for a row that is at hand: what was found is held against it again when it is read.

A search and the reading of what it found are two statements. A memory that is superseded, withdrawn, moved or expires
between them must not be given any more.
"""

from datetime import datetime

from access.visibility import Visibility
from memories.models import Memory
from memories.queries.visibility import has_type
from memories.types import NOT_WITHDRAWN, State, Type


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
