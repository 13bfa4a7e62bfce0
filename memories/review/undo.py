"""Undo of decisions in the Review: the changes that their rows of the log belong to are taken back as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from access.actor import CURATE, Actor
from access.audit.chains import find_row
from access.audit.collect import one_change
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound
from access.models import AuditEntry
from memories.lifecycle.target import require_person, require_right
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import changes_of, rows_of, rows_of_log
from memories.queries.versions import find_memory
from memories.review.proposals import find_proposal

MAX_ENTRIES: Final = 6  # a decision names at most three
FIELD: Final = "entries"
DECISIONS: Final = frozenset(
    {
        Operation.TRUST, Operation.VERIFY, Operation.MERGE, Operation.SUPERSEDE, Operation.EDIT, Operation.FORGET,
        Operation.RETRACT, Operation.PIN, Operation.UNPIN, Operation.LINK, Operation.GUARD,
    }
)  # fmt: skip


@dataclass(frozen=True)
class UndoneDecision:
    """The consequences of undoing a decision, in words."""

    consequences: tuple[str, ...]


@one_change
def take_back(actor: Actor, entries: Sequence[str]) -> UndoneDecision:
    """Undo the decisions that wrote the audit rows with these names (AuditEntry.name); all of it or nothing.

    Raises:
        InvalidInput: there are too many names.
        NotFound: a name belongs to no row about a memory that the actor may see.
        NotPermitted: the actor is not a person, or may not curate the memory's group.
        Conflict: what the decision did has changed since, or cannot be taken back.
    """
    require_person(actor, "undo a decision about")
    if not entries:
        raise Conflict(
            "This decision has no undo.",
            hint="A masked or edited text stays in the history of the memory, for people only.",
            field=FIELD,
        )
    if len(entries) > MAX_ENTRIES:
        raise InvalidInput(f"Name at most {MAX_ENTRIES} audit rows.", field=FIELD)
    found = [find_decision(actor, name) for name in entries]
    changes = changes_of(found)
    rows = rows_of(changes) + rows_of_log([entry for entry in found if entry.change is None])
    if not rows:
        raise Conflict("It was undone already.", hint="Nothing was changed.", field=FIELD)
    reason = f"audit row {found[0].name} was undone"
    done = reverse(actor, rows, Terms(reason, right=CURATE, besides=changes, is_decision=True, field=FIELD))
    return UndoneDecision(tuple(dict.fromkeys(done.lines)))


def find_decision(actor: Actor, name: str) -> AuditEntry:
    """The row of this store's audit log with this name, with its payload; the actor needs the right to undo it."""
    entry = find_row(name)
    if entry is not None and hasattr(entry, "payload_row") and "proposal" in entry.payload:
        find_proposal(actor, entry.payload["proposal"], right=CURATE)
        return entry
    if entry is None or entry.memory_id is None:
        raise NotFound("The audit log has no such row about a memory that you may see.", field=FIELD)
    memory = find_memory(actor, entry.memory_id, field=FIELD)
    require_right(actor, memory, right=CURATE)
    if entry.operation not in DECISIONS or not hasattr(entry, "payload_row"):
        raise Conflict(f"'{entry.operation}' cannot be undone from here.", hint="Nothing was changed.")
    return entry
