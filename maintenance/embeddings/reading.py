"""Texts that got their vectors after they were stored are read then: held or labelled by the group's policy."""

from collections import defaultdict
from collections.abc import Sequence

from access.actor import Actor
from access.audit.operations import Operation
from access.groups.guarding import TextFinding, policy_of, quarantine_reason
from guard import GuardTreatment, Policy, has_instruction
from memories.draft.guarding import Pieces, read_text
from memories.lifecycle.target import change_fields
from memories.models import Memory, MemoryFinding, Piece
from memories.store import record_findings
from memories.store.pieces import EmbeddedText, as_vector
from memories.store.policy import protection
from memories.types import VISIBLE_TRUSTS, Trust


def read_embedded(actor: Actor, embedded: Sequence[tuple[Memory, EmbeddedText]]) -> None:
    """Read stored texts by their new vectors, inside their transaction; what the policy refuses waits for a person, too.

    One in which something of the family was found before is left as it is: the policy, or a person, has decided.
    """
    known = found_kinds([memory for memory, _ in embedded])
    for memory, text in embedded:
        if has_instruction(known[memory.key]):
            continue
        told = read_stored(memory, text.pieces, policy_of(memory.group))
        if told is None:
            continue
        record_findings([(memory, (told,))])
        may_wait = memory.trust in (*VISIBLE_TRUSTS, Trust.CANDIDATE) and not protection(memory)
        if told.treatment is GuardTreatment.QUARANTINE and may_wait:
            change_fields(
                actor, memory, Operation.TRUST, {"trust": Trust.QUARANTINED}, (),
                reason=quarantine_reason([told]), dry_run=False,
            )  # fmt: skip


def found_kinds(memories: Sequence[Memory]) -> defaultdict[int, set[str]]:
    """The kinds found in memories before, by the key of the memory; one query."""
    rows = MemoryFinding.objects.filter(memory__in=[each.key for each in memories])
    found = defaultdict[int, set[str]](set)
    for key, kind in rows.values_list("memory_id", "kind"):
        found[key].add(kind)
    return found


def read_stored(memory: Memory, pieces: Pieces, policy: Policy) -> TextFinding | None:
    """read_text() for a stored memory, which can no longer be refused: it waits instead."""
    told = read_text(memory.content, pieces, policy, outside=memory.outside)
    if told is None or told.treatment is not GuardTreatment.REFUSE:
        return told
    return TextFinding(told.field, told.kind, told.span, told.confidence, GuardTreatment.QUARANTINE)


def stored_pieces(memories: Sequence[Memory]) -> dict[int, Pieces]:
    """The pieces of memories that have vectors, by the key of the memory; one query."""
    rows = Piece.objects.filter(memory__in=[each.key for each in memories], embedding__isnull=False)
    found = defaultdict[int, list[Piece]](list)
    for row in rows.order_by("memory_id", "ordinal"):
        found[row.memory_id].append(row)
    return {
        key: [((row.start, row.end), as_vector(row.embedding)) for row in each] for key, each in found.items()
    }
