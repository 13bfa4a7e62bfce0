"""One entry of the registry of verbs, `VERBS` in verbs.py: what a verb does, and how each interface offers it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from access.actor import Actor
from access.audit.operations import Operation
from memories.lifecycle.target import ChangeResult
from memories.models import Memory
from memories.queries.labels import doubts_of
from memories.types import VISIBLE_TRUSTS, State, Trust

DOUBTFUL: Final = frozenset({Trust.CANDIDATE, Trust.REJECTED, Trust.QUARANTINED})


class Face(StrEnum):
    """An interface that offers verbs by name. Each verb also has a button in the admin."""

    COMMAND = "loci memory VERB ID"
    REST = "POST /api/memories/{id}/VERB"
    AGENTS = "forget_memory"


PEOPLE: Final = (Face.COMMAND, Face.REST)
EVERYBODY: Final = (Face.COMMAND, Face.REST, Face.AGENTS)


@dataclass(frozen=True)
class VerbButton:
    """A verb on a memory's page. It is shown if `fits`; the verb itself decides what is allowed.

    `order` places it among the buttons, the most common first. `follows`: on an old version's page, it acts on the
    current version. `question` is the title of the page that asks. `other` is the label of the field for the second
    memory, or if the button `takes_group`, for the group.
    """

    label: str
    past: str
    icon: str
    order: int
    fits: Callable[[Memory], bool]
    question: str
    needs_reason: bool = False
    is_dangerous: bool = False
    follows: bool = True
    warnings: tuple[str, ...] = ()
    other: str = ""
    takes_group: bool = False


@dataclass(frozen=True)
class Verb:
    """A verb of a memory.

    `run` takes the actor and the memory's id, the keywords `reason` and `dry_run`, and the arguments named here: the id of
    a second memory, or a group's name, as `other`, a new text as `text`, and if `takes_quotes`, `quotes`. `right` is the right that it needs in the memory's group
    (`people_right` that of people, if agents propose it with less), `help` its line in `loci memory --help`,
    `agents_help` its part of the description of `forget_memory`, and `log_color` the colour of its rows in the audit log:
    warning, danger or none.
    """

    name: str
    run: Callable[..., ChangeResult]
    operation: Operation
    right: str
    help: str
    offered: tuple[Face, ...]
    button: VerbButton
    other: str = ""
    text: str = ""
    agents_help: str = ""
    log_color: str = ""
    people_right: str = ""
    takes_quotes: bool = False

    def apply(
        self,
        actor: Actor,
        id_: str | UUID,
        *,
        other: str = "",
        text: str = "",
        reason: str = "",
        quotes: bool = False,
        dry_run: bool = False,
    ) -> ChangeResult:
        """Run the verb; arguments that it does not take are ignored. A dry run returns the consequences."""
        ids = (id_, other) if self.other else (id_,)
        taken: dict[str, Any] = {"reason": reason}
        if self.text:
            taken[self.text] = text
        if self.takes_quotes:
            taken["quotes"] = quotes
        return self.run(actor, *ids, dry_run=dry_run, **taken)


def is_live(memory: Memory) -> bool:
    """True if the memory is live."""
    return memory.state == State.LIVE


def is_doubtful(memory: Memory) -> bool:
    """True if the memory is live and a person has to decide about it."""
    return is_live(memory) and (memory.trust in DOUBTFUL or bool(doubts_of(memory)))


def is_verifiable(memory: Memory) -> bool:
    """True if the memory is live and not verified, or disputed since."""
    return is_live(memory) and (memory.trust != Trust.VERIFIED or bool(doubts_of(memory)))


def is_trusted(memory: Memory) -> bool:
    """True if the memory is live and active or verified."""
    return is_live(memory) and memory.trust in VISIBLE_TRUSTS


def is_live_unlike(trust: Trust) -> Callable[[Memory], bool]:
    """A condition: the memory is live and has another trust."""
    return lambda memory: is_live(memory) and memory.trust != trust
