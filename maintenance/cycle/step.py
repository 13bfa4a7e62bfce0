"""The interface of the cycle's steps: each yields batches small enough for one short transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from access.actor import Actor
from access.errors import SensitiveText
from access.models import Group
from guard import Door
from maintenance.cycle.recorder import Recorder
from memories.draft import Draft, check_draft, guard_draft, held_for_person
from memories.store.withdrawn.near import WithdrawnTexts


@dataclass(frozen=True)
class Turn:
    """One group's turn in a run: the actor, the group, and the run's current time.

    `mark` is the progress that the step saved for this group in an earlier run; None before the first. `withdrawn` caches
    the group's withdrawn texts by model between the step's batches. `deletes`: the caller wants what is not used deleted.
    """

    actor: Actor
    group: Group
    now: datetime
    limits: Any  # settings.LOCI.maintenance
    mark: Any = None
    withdrawn: dict[str, WithdrawnTexts] = field(default_factory=dict)
    deletes: bool = False

    def withdrawn_texts(self, model: str) -> WithdrawnTexts:
        """The group's withdrawn texts with their vectors by this model, as of their last refresh."""
        return self.withdrawn.setdefault(model, WithdrawnTexts(self.group.key, model))


@dataclass(frozen=True)
class Batch:
    """The next rows to write. `write` runs inside one transaction and returns its counts by name.

    `cursor` (JSON) is where the step continues after this batch; `mark` (JSON) becomes `Turn.mark` of the next run.
    """

    cursor: Any
    write: Callable[[Recorder], Mapping[str, int]]
    mark: Any = None


NOT_ADMITTED: Final = {"held_back_by_the_guard": 1}  # what a batch counts instead


class NotAdmitted(Exception):
    """The guard refuses a text that a step made, or would hold it for a person: the step leaves it out."""


def admit_draft(turn: Turn, draft: Draft) -> Draft:
    """A draft that a step made, checked and as the group's guard stores it. Raises NotAdmitted."""
    try:
        admitted = guard_draft(check_draft(draft), turn.group, Door.JOB)
    except SensitiveText as refused:
        raise NotAdmitted from refused
    if held_for_person(admitted):
        raise NotAdmitted
    return admitted


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
