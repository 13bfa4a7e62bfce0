"""What a caller may see, worked out once and then rendered inside every search."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from access.actor import READ, Actor
from access.errors import NotPermitted
from access.models import Group


@dataclass(frozen=True)
class Visibility:
    """The rows a call may touch. A caller can narrow it, never widen it.

    `groups` holds group keys; None means every group (a superuser's list). With `include_global`, global memories of
    any group are seen as well. Empty `types`, `tags` and `scope` do not narrow. Where `types` do, what was retracted is
    seen of the `retracted_types` as well, as far as `states` hold it. `now` is when the question is asked: what has
    expired by then is never seen.
    """

    groups: frozenset[int] | None
    include_global: bool
    states: frozenset[str]
    trusts: frozenset[str]
    now: datetime
    types: frozenset[str] = frozenset()
    retracted_types: frozenset[str] = frozenset()
    scope: str = ""
    tags: frozenset[str] = frozenset()
    min_confidence: float = 0.0
    as_of: datetime | None = None
    known_at: datetime | None = None
    after: datetime | None = None
    before: datetime | None = None

    @property
    def is_history(self) -> bool:
        """True for a question about the past."""
        return self.as_of is not None or self.known_at is not None


@dataclass(frozen=True)
class Narrowing:
    """What a caller asks to leave out; every field narrows."""

    types: frozenset[str] = frozenset()
    scope: str = ""
    tags: frozenset[str] = frozenset()
    min_confidence: float = 0.0
    as_of: datetime | None = None
    known_at: datetime | None = None
    after: datetime | None = None
    before: datetime | None = None


def visible_to(
    actor: Actor,
    group: Group | None,
    *,
    states: frozenset[str],
    trusts: frozenset[str],
    narrowing: Narrowing | None = None,
) -> Visibility:
    """Give what `actor` may see in `group` (with the global memories), or in all its groups where that is None.

    Raises:
        NotPermitted: the actor may not read, there or at all.
    """
    if not actor.may(READ, group.key if group else None):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")
    return Visibility(
        groups=_groups(actor, group),
        include_global=True,
        states=states,
        trusts=trusts,
        now=timezone.now(),
        # The names are the same in both: a narrowing that Visibility does not know fails here, and is never ignored.
        **vars(narrowing or Narrowing()),
    )


def _groups(actor: Actor, group: Group | None) -> frozenset[int] | None:
    if group is not None:
        return frozenset({group.key})
    return None if actor.all_groups else frozenset(actor.roles)
