"""A progress bar for work in named steps, on standard error and only in a terminal."""

import sys
from typing import Any

from tqdm import tqdm


class StepBar:
    """One bar at a time; a new step, or one that begins again, starts a new bar. `how`: tqdm's options."""

    def __init__(self, name: str, **how: Any) -> None:
        self._name, self._how = name, how
        self._step = ""
        self._bar: tqdm[Any] | None = None

    def __enter__(self) -> "StepBar":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def show(self, step: str, done: int, total: int | None) -> None:
        """Draw the progress of a step."""
        if self._bar is None or step != self._step or done < self._bar.n:
            self.__exit__()
            self._step = step
            label = f"{self._name}: {step}"
            self._bar = tqdm(total=total, desc=label, file=sys.stderr, disable=None, leave=False, **self._how)
        self._bar.total = total
        self._bar.update(done - self._bar.n)
