"""The rows that a caller may see, resolved once and then applied inside every search."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from access.actor import READ, Actor
from access.errors import NotPermitted
from access.models import Group


@dataclass(frozen=True, kw_only=True)
class Narrowing:
    """Filters that a caller sets; every field narrows, and an empty one does not. `thread` is a name."""

    types: frozenset[str] = frozenset()
    scope: str = ""
    tags: frozenset[str] = frozenset()
    min_confidence: float = 0.0
    min_importance: int = 0
    thread: str = ""
    source: str = ""
    as_of: datetime | None = None
    known_at: datetime | None = None
    after: datetime | None = None
    before: datetime | None = None
    include_orphans: bool = False


@dataclass(frozen=True)
class Visibility(Narrowing):
    """The rows that a call may read. A caller can narrow them, never widen them.

    `groups` holds group keys; None means every group (a superuser's list). `include_global` adds the global memories of
    all groups. `now` is the time of the query: memories that have expired by then are never visible. For a query about
    the past, `shown_then` are the keys of rows that counted at
    `known_at` though their state hides them now, and `hidden_then` those that were hidden at that time. `orphans` are the
    keys of rows that depend on commits which the caller's checkout does not contain; `include_orphans` leaves it empty.
    What comes from `without_sources` is left out. `tells_ahead`: facts that begin to count later are visible too.
    """

    groups: frozenset[int] | None
    include_global: bool
    states: frozenset[str]
    trusts: frozenset[str]
    now: datetime
    shown_then: frozenset[int] = frozenset()
    hidden_then: frozenset[int] = frozenset()
    orphans: frozenset[int] = frozenset()
    without_sources: frozenset[str] = frozenset()
    tells_ahead: bool = False

    @property
    def is_history(self) -> bool:
        """True for a query about the past."""
        return self.as_of is not None or self.known_at is not None


def check_may_read(actor: Actor, group: Group | None = None) -> None:
    """Raise NotPermitted unless the actor may read in the group, or without one, at all."""
    if not actor.may(READ, group.key if group else None):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")


def visible_to(
    actor: Actor,
    group: Group | None,
    *,
    states: frozenset[str],
    trusts: frozenset[str],
    narrowing: Narrowing | None = None,
) -> Visibility:
    """What `actor` may see in `group` (global memories included, unless its token hides them), or in all its groups if None.

    Raises:
        NotPermitted: the actor may not read in the group, or at all.
    """
    check_may_read(actor, group)
    if group is not None:
        groups: frozenset[int] | None = frozenset({group.key})
    else:
        groups = None if actor.all_groups else frozenset(actor.roles)
    return Visibility(
        groups=groups,
        include_global=actor.include_global,
        states=states,
        trusts=trusts,
        now=timezone.now(),
        **vars(narrowing or Narrowing()),
    )
