"""Looking at one memory: its versions, ties, pieces and history, and why a question does or does not bring it.

Asked about the past, it is the version of the chain that was true and known then.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from access.actor import READ, Actor
from access.models import AuditEntry
from access.visibility import Narrowing
from memories.entities.statements import RelationStatement, statements_around, visible_keys
from memories.language.cleaning import clean_text
from memories.models import Link, Memory, Piece
from memories.queries.as_of import find_version_then
from memories.queries.labels import label_of
from memories.queries.versions import find_memory, head_of, versions_of
from memories.queries.visibility import as_q, listed_by, recallable_by
from memories.recall import MAX_QUERY_CHARS
from memories.recall.explain import excluding_filters, explain_place
from memories.recall.question import understand
from memories.recall.trace import Trace, TraceStep
from memories.store.pieces import available_encoder, indexed_model
from memories.types import RecallTreatment, State, recall_treatment

MAX_LOG_ROWS = 50


@dataclass(frozen=True)
class RecallReason:
    """Why a question brings a memory, or does not: its rank (None: not at all), its numbers, and the step that dropped it."""

    query: str
    rank: int | None
    reason: str
    numbers: dict[str, float]
    steps: tuple[TraceStep, ...]


@dataclass(frozen=True)
class Inspection:
    """All there is to say of a memory. `head` is the version that counts now; `label` says why `memory` does not."""

    memory: Memory
    label: str
    head: Memory
    versions: tuple[Memory, ...]
    recall_treatment: str
    pieces: int
    pieces_owed: int
    links: tuple[Link, ...]
    relations: tuple[RelationStatement, ...]
    log: tuple[dict[str, Any], ...]
    why: RecallReason | None = None


def inspect_memory(
    actor: Actor, id_: str | UUID, *, query: str = "", narrowing: Narrowing | None = None
) -> Inspection:
    """Give a memory that the actor may see, in any state, with everything that hangs on it.

    With `as_of` or `known_at` in `narrowing` it is the version of the chain that was true and known then, in whatever
    state it is now.

    Raises:
        NotFound: there is none of that id that the actor may see, or no version of it was true and known then.
        InvalidInput, TooLarge: the query is none, or a moment is not allowed.
    """
    if query.strip():
        clean_text(query, field="query", max_chars=MAX_QUERY_CHARS)
    narrow = narrowing or Narrowing()
    memory = find_memory(actor, id_)
    if narrow.as_of or narrow.known_at:
        memory = find_version_then(memory, listed_by(actor, None, narrowing=narrow))
    # A version that was the group's own before it became global is not for everybody.
    chain = versions_of(memory)
    seen = visible_keys(actor, {version.key for version in chain})
    versions = [version for version in chain if version.key in seen]
    pieces = Piece.objects.filter(memory=memory)
    return Inspection(
        memory=memory,
        label=label_of(memory),
        head=head_of(memory),
        versions=tuple(versions),
        recall_treatment=recall_treatment(memory.state, memory.trust).value,
        pieces=pieces.count(),
        pieces_owed=pieces.filter(embedding=None).count(),
        links=tuple(_visible_links(actor, memory)),
        relations=tuple(statements_around(actor, memory)),
        log=tuple(_log_rows([version.id for version in versions])),
        why=explain_for(actor, memory, query, narrowing=narrow) if query.strip() else None,
    )


def explain_for(
    actor: Actor, memory: Memory, query: str, *, narrowing: Narrowing | None = None
) -> RecallReason:
    """Say where a question ranks this memory in its own group, and if it does not, which step left it out.

    For a global memory of a group that the actor may not enter, the question is asked of all that the actor may see.
    """
    trace = Trace()
    room = memory.group if actor.may(READ, memory.group_id) else None
    visibility = recallable_by(actor, room, narrowing=narrowing)
    if not Memory.objects.filter(as_q(visibility), key=memory.key).exists():
        filters = excluding_filters(memory, visibility)
        reason = f"the filter '{filters[0]}' leaves it out" if filters else _hidden_because(memory)
        return RecallReason(query, None, reason, {}, ())
    encoder = available_encoder()
    if encoder is not None and indexed_model() not in ("", encoder.model_id):
        encoder = None
    mode = settings.LOCI.retrieval.mode if encoder else "keyword"
    question = understand(query, encoder=encoder)
    found = explain_place(question, visibility, memory, mode=mode, trace=trace)
    numbers = trace.numbers.get(memory.key, {})
    return RecallReason(query, found.rank, found.reason, numbers, tuple(trace.steps))


def _hidden_because(memory: Memory) -> str:
    if recall_treatment(memory.state, memory.trust) is RecallTreatment.HIDE:
        return f"recall hides what is {memory.trust if memory.state == State.LIVE else memory.state}"
    if memory.expires_at is not None:
        return f"it expired at {memory.expires_at:%Y-%m-%d %H:%M} UTC"
    if memory.valid_to is not None:
        return f"it was true until {memory.valid_to:%Y-%m-%d %H:%M} UTC"
    return "it is not among what you may recall"


def _visible_links(actor: Actor, memory: Memory) -> list[Link]:
    """Give the links of the chain whose other end the actor may see as well."""
    ties = list(
        Link.objects.select_related("source", "target").filter(
            Q(source=memory.root_key) | Q(target=memory.root_key)
        )
    )
    seen = visible_keys(actor, {end for tie in ties for end in (tie.source_id, tie.target_id)})
    return [tie for tie in ties if {tie.source_id, tie.target_id} <= seen]


def _log_rows(ids: list[UUID]) -> list[dict[str, Any]]:
    entries = AuditEntry.objects.filter(memory_id__in=ids).select_related("payload_row").order_by("-key")
    return [
        {
            "at": entry.at.isoformat(),
            "operation": entry.operation,
            "actor": entry.actor,
            "via": entry.via,
            "reason": entry.payload_row.payload.get("reason", "") if hasattr(entry, "payload_row") else "",
        }
        for entry in entries[:MAX_LOG_ROWS]
    ]
