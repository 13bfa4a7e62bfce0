"""Work that other rooms bring for the worker: each registers what to do and how to know that something waits."""

from collections.abc import Callable
from dataclasses import dataclass

from access.actor import Actor


@dataclass(frozen=True)
class RegisteredWork:
    """`is_waiting` says cheaply whether there is something to do; `do` does it and says what, None for nothing."""

    is_waiting: Callable[[], bool]
    do: Callable[[Actor], str | None]


BROUGHT: dict[str, RegisteredWork] = {}


def is_waiting(name: str) -> bool:
    """Say whether there is something to do of this name; never where nobody brought any."""
    return name in BROUGHT and BROUGHT[name].is_waiting()


def do_waiting(name: str, actor: Actor) -> str | None:
    """Do what waits."""
    return BROUGHT[name].do(actor) if name in BROUGHT else None
