"""What a step of the cycle is: it gives one batch after another, each small enough for one short transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from access.actor import Actor
from access.models import Group
from maintenance.cycle.recorder import Recorder


@dataclass(frozen=True)
class Turn:
    """One group's turn in a run: who acts, in which group, and the moment that the run takes for now.

    `mark` is where the step came to in this group in an earlier run, as it said itself; None before the first.
    """

    actor: Actor
    group: Group
    now: datetime
    limits: Any  # settings.LOCI.maintenance
    mark: Any = None


@dataclass(frozen=True)
class Batch:
    """What is to be written next. `write` runs inside one transaction and gives what it counted.

    `cursor` (JSON) is where the step goes on after it, `mark` (JSON) what the next run finds in `Turn.mark`.
    """

    cursor: Any
    write: Callable[[Recorder], Mapping[str, int]]
    mark: Any = None


class Step(Protocol):
    """One kind of maintenance. Slow work (embedding, comparing) belongs into next_batch(), outside any transaction."""

    @property
    def name(self) -> str:
        """Give the step's name, as runs show it."""

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """Give the batch that follows `cursor` (None at first); None where there is nothing left to do.

        `write` looks again at what it changes: others may have written since. A batch that is written twice, since
        the process died after it, changes nothing the second time.
        """
