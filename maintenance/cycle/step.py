"""The interface of the cycle's steps: each yields batches small enough for one short transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from access.actor import Actor
from access.models import Group
from maintenance.cycle.recorder import Recorder
from memories.store.withdrawn.near import WithdrawnTexts


@dataclass(frozen=True)
class Turn:
    """One group's turn in a run: the actor, the group, and the run's current time.

    `mark` is the progress that the step saved for this group in an earlier run; None before the first. `withdrawn` caches
    the group's withdrawn texts by model between the step's batches.
    """

    actor: Actor
    group: Group
    now: datetime
    limits: Any  # settings.LOCI.maintenance
    mark: Any = None
    withdrawn: dict[str, WithdrawnTexts] = field(default_factory=dict)


@dataclass(frozen=True)
class Batch:
    """The next rows to write. `write` runs inside one transaction and returns its counts by name.

    `cursor` (JSON) is where the step continues after this batch; `mark` (JSON) becomes `Turn.mark` of the next run.
    """

    cursor: Any
    write: Callable[[Recorder], Mapping[str, int]]
    mark: Any = None


class Step(Protocol):
    """One kind of maintenance. Slow work (embedding, comparing) belongs in next_batch(), outside any transaction."""

    @property
    def name(self) -> str:
        """The step's name, as runs show it."""

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The batch that follows `cursor` (None at first); None when nothing is left to do.

        `write` re-checks the rows that it changes, since others may have written meanwhile. Writing a batch a second
        time, after the process died, changes nothing.
        """
