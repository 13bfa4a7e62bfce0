"""The caller: set once per request, available to all code that the request runs."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from access.actor import CREATE_GROUP, Actor
from access.tokens.stored_answers import KeyedWrite

# How a transport finds the caller: over HTTP from the request, over stdio again for each call.
FindActor = Callable[[], Awaitable[Actor]]

_caller: ContextVar[Actor] = ContextVar("mcp_caller")
_write: ContextVar[KeyedWrite | None] = ContextVar("mcp_write", default=None)


def current_actor() -> Actor:
    """The Actor of the current call; LookupError outside of one."""
    return _caller.get()


def current_write() -> KeyedWrite | None:
    """The key of the current call, with what it stands for; None without one."""
    return _write.get()


@contextmanager
def acting_as(actor: Actor, write: KeyedWrite | None = None) -> Iterator[Actor]:
    """Run the block, including tasks that it starts, for `actor`."""
    token, write_token = _caller.set(actor), _write.set(write)
    try:
        yield actor
    finally:
        _caller.reset(token)
        _write.reset(write_token)


def can(actor: Actor, rights: frozenset[str]) -> bool:
    """True if the actor has one of these rights in any group, or may create a group and have it there."""
    wanted = rights & actor.scopes
    anywhere = actor.all_groups or CREATE_GROUP in actor.scopes or "read" in wanted
    return bool(wanted) and (anywhere or any(actor.may(r, key) for r in wanted for key in actor.roles))
