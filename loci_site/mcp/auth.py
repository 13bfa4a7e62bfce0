"""Who calls: set once for each request, read by whatever the request runs."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from access.actor import CREATE_GROUP, Actor

# How a transport learns who calls: over HTTP from the request, over stdio anew for each call.
FindActor = Callable[[], Awaitable[Actor]]

_caller: ContextVar[Actor] = ContextVar("mcp_caller")


def current_actor() -> Actor:
    """Give the Actor of the call that runs; LookupError outside of one."""
    return _caller.get()


@contextmanager
def acting_as(actor: Actor) -> Iterator[Actor]:
    """Let everything inside, tasks that it starts included, run for `actor`."""
    token = _caller.set(actor)
    try:
        yield actor
    finally:
        _caller.reset(token)


def can(actor: Actor, rights: frozenset[str]) -> bool:
    """Say whether the actor has one of these rights in any group, or may make a group to have it in."""
    wanted = rights & actor.scopes
    anywhere = actor.all_groups or CREATE_GROUP in actor.scopes or "read" in wanted
    return bool(wanted) and (anywhere or any(actor.may(r, key) for r in wanted for key in actor.roles))
