"""How long work tells its caller how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # step, done, total


def ignore_progress(_step: str, _done: int, _total: int) -> None:
    """Progress callback that does nothing."""
