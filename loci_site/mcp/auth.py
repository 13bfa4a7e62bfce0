"""The caller: set once per request, available to all code that the request runs."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from access.actor import CREATE_GROUP, Actor

# How a transport finds the caller: over HTTP from the request, over stdio again for each call.
FindActor = Callable[[], Awaitable[Actor]]

_caller: ContextVar[Actor] = ContextVar("mcp_caller")


def current_actor() -> Actor:
    """The Actor of the current call; LookupError outside of one."""
    return _caller.get()


@contextmanager
def acting_as(actor: Actor) -> Iterator[Actor]:
    """Run the block, including tasks that it starts, for `actor`."""
    token = _caller.set(actor)
    try:
        yield actor
    finally:
        _caller.reset(token)


def can(actor: Actor, rights: frozenset[str]) -> bool:
    """True if the actor has one of these rights in any group, or may create a group and have it there."""
    wanted = rights & actor.scopes
    anywhere = actor.all_groups or CREATE_GROUP in actor.scopes or "read" in wanted
    return bool(wanted) and (anywhere or any(actor.may(r, key) for r in wanted for key in actor.roles))
