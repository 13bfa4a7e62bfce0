"""Values that a block holds for the code that it calls, in its thread and in those that get a copy of its context."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class HeldValue(Generic[T]):
    """The value of one block, None when it is over, and that of the block around it."""

    value: T | None
    outer: "HeldValue[T] | None"


class CallState(Generic[T]):
    """A context variable whose value ends with its block, in every copy of the context.

    asgiref copies the context of a call into its caller's, also of a call that was cancelled while its thread went on in
    the block. The reset of a plain context variable reaches only the thread's own context, so the caller's would have the
    value for ever.
    """

    def __init__(self, name: str) -> None:
        self._held: ContextVar[HeldValue[T] | None] = ContextVar(name, default=None)

    def get(self) -> T | None:
        """The value of the innermost block that is not over; None outside of all."""
        held = self._held.get()
        while held is not None:
            value = held.value  # read once: the block may end in another thread
            if value is not None:
                return value
            held = held.outer
        return None

    @contextmanager
    def holding(self, value: T) -> Iterator[T]:
        """Hold a value other than None in the whole block."""
        outer = self._held.get()
        while (
            outer is not None and outer.value is None
        ):  # else each cancelled call would make the chain longer
            outer = outer.outer
        held = HeldValue(value, outer)
        token = self._held.set(held)
        try:
            yield value
        finally:
            held.value = None
            self._held.reset(token)
