"""Work that other packages register for the worker and for `loci guard scan`, so that maintenance need not import them.

It imports next to nothing itself: apps fill it at the start of each command.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from access.actor import Actor


@dataclass(frozen=True)
class RegisteredWork:
    """`is_waiting` is a cheap check for pending work; `do` does it and returns a summary, None if nothing was done."""

    is_waiting: Callable[[], bool]
    do: Callable[[Actor], str | None]


REGISTERED_WORK: dict[str, RegisteredWork] = {}

# Scans of what other packages store; each takes the actor and whether it only counts, and returns what it found, by kind.
# They hold it back themselves. For AppConfig.ready.
OTHER_SCANS: Final[dict[str, Callable[[Actor, bool], Counter[str]]]] = {}


def has_registered_work(name: str) -> bool:
    """True if work of this name is registered and pending."""
    return name in REGISTERED_WORK and REGISTERED_WORK[name].is_waiting()


def do_registered_work(name: str, actor: Actor) -> str | None:
    """Do the pending work of this name; None if none is registered."""
    return REGISTERED_WORK[name].do(actor) if name in REGISTERED_WORK else None
