"""Details of one memory: versions, links, pieces and log, and why a question does or does not return it.

For a moment in the past it is the version of the chain that was true and known then.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils import timezone

from access.actor import READ, Actor
from access.audit.operations import Operation
from access.models import AuditEntry
from access.visibility import Narrowing
from memories.browse.curve import ConfidenceCurve, confidence_curve
from memories.entities.find_person import find_by_id_or_name
from memories.entities.statements import (
    RelationStatement,
    links_of,
    statements_around,
    visible_versions,
    with_proofs,
    with_visible_ends,
)
from memories.language.cleaning import clean_text, format_times
from memories.models import Feedback, FeedbackVerdict, Link, Memory, Piece
from memories.queries.as_of import require_version_at
from memories.queries.labels import label_of
from memories.queries.versions import head_within
from memories.queries.visibility import as_q, has_begun, is_outlasting, listed_by, recallable_by
from memories.recall import MAX_QUERY_CHARS, RecallRequest, RecallResult, recall
from memories.recall.abstention import NOTHING_RELEVANT
from memories.recall.choosing import excluding_filters
from memories.recall.scoring import Trace, TraceStep
from memories.recall.weights import CANDIDATES
from memories.store.withdrawn.left_out import LEFT_OUT_REASON, find_left_out, hiding_marks
from memories.types import RecallTreatment, State, Trust, recall_treatment

MAX_SHOWN: Final = 10


@dataclass(frozen=True)
class FeedbackCounts:
    """How often memories were said to be used and to be wrong, and the newest verdicts."""

    used: int = 0
    wrong: int = 0
    newest: tuple[Feedback, ...] = ()

    @property
    def in_words(self) -> str:
        """The counts in words; empty without feedback."""
        if not self.used and not self.wrong:
            return ""
        return f"used {format_times(self.used)}, wrong {format_times(self.wrong)}"


def feedback_on(keys: Collection[int]) -> FeedbackCounts:
    """What was said about a memory, by the keys of its versions."""
    rows = Feedback.objects.filter(memory__in=keys)
    newest = tuple(rows.order_by("-at", "-key")[:MAX_SHOWN])
    if len(newest) == MAX_SHOWN:
        return FeedbackCounts(*_count_verdicts(rows), newest)
    words = [row.verdict for row in newest]
    return FeedbackCounts(words.count(FeedbackVerdict.USED), words.count(FeedbackVerdict.WRONG), newest)


def feedback_in(memories: QuerySet[Memory]) -> FeedbackCounts:
    """What was said about all these memories, without the single verdicts."""
    keys = memories.order_by().values("key")
    return FeedbackCounts(*_count_verdicts(Feedback.objects.filter(memory__in=keys)))


def _count_verdicts(rows: QuerySet[Feedback]) -> tuple[int, int]:
    """How many of the rows say used, and how many wrong."""
    counts = dict(rows.order_by().values_list("verdict").annotate(count=Count("key")))
    return counts.get(FeedbackVerdict.USED, 0), counts.get(FeedbackVerdict.WRONG, 0)


MAX_LOG_ROWS = 50


@dataclass(frozen=True)
class _RecallReason:
    """Why a question does or does not return a memory: its rank (None: no candidate), numbers, and the step that dropped it."""

    query: str
    rank: int | None
    reason: str
    numbers: dict[str, float]
    steps: tuple[TraceStep, ...]


@dataclass(frozen=True)
class Inspection:
    """Everything about a memory. `head` is the version that counts now, None if the actor may not see it; `label` says why
    `memory` does not count.
    """

    memory: Memory
    label: str
    head: Memory | None
    versions: tuple[Memory, ...]
    recall_treatment: str
    pieces: int
    pieces_owed: int
    links: tuple[Link, ...]
    relations: tuple[RelationStatement, ...]
    log: tuple[dict[str, Any], ...]
    curve: ConfidenceCurve
    feedback: FeedbackCounts
    why: _RecallReason | None = None


def inspect_memory(
    actor: Actor, id_: str | UUID, *, query: str = "", narrowing: Narrowing | None = None
) -> Inspection:
    """A visible memory in any state, or the entity of a name, with everything attached to it.

    With `as_of` or `known_at` in `narrowing` it is the version of the chain that was true and known then, whatever its
    state is now.

    Raises:
        NotFound: the actor may see no memory of that id or name, or no version of it was true and known then.
        Conflict: entities of several groups have the name.
        InvalidInput, TooLarge: the query or a moment is not allowed.
    """
    if query.strip():
        clean_text(query, field="query", max_chars=MAX_QUERY_CHARS)
    narrow = narrowing or Narrowing()
    memory = find_by_id_or_name(actor, id_)
    if narrow.as_of or narrow.known_at:
        memory = require_version_at(memory, listed_by(actor, None, narrowing=narrow))
    versions = visible_versions(actor, memory)
    pieces = Piece.objects.filter(memory=memory)
    entries = _read_log(versions)
    is_left_out_now = memory.state == State.LIVE and bool(hiding_marks(memory))
    return Inspection(
        memory=memory,
        label=label_of(memory),
        head=head_within(memory, listed_by(actor, None)),
        versions=tuple(versions),
        recall_treatment=(RecallTreatment.HIDE if is_left_out_now else treatment_now(memory)).value,
        pieces=pieces.count(),
        pieces_owed=pieces.filter(embedding=None).count(),
        links=tuple(with_visible_ends(actor, links_of(memory))),
        relations=tuple(with_proofs(actor, statements_around(actor, memory))),
        log=tuple(_log_rows(versions, entries, is_person=actor.is_person)),
        curve=confidence_curve(memory, versions, entries),
        feedback=feedback_on([version.key for version in versions]),
        why=explain_for(actor, memory, query, narrowing=narrow) if query.strip() else None,
    )


def explain_for(
    actor: Actor, memory: Memory, query: str, *, narrowing: Narrowing | None = None
) -> _RecallReason:
    """The memory's rank for a question in its own group, or the step that left it out: the actor's own recall says it.

    For a global memory of a group closed to the actor, the question is asked in the actor's default group.
    """
    group = memory.group if actor.may(READ, memory.group_id) else None
    visibility = recallable_by(actor, group, narrowing=narrowing)
    told = (
        visibility
        if visibility.is_history
        else replace(visibility, states=visibility.states | {State.DORMANT})
    )
    if not Memory.objects.filter(as_q(told), key=memory.key).exists():
        filters = excluding_filters(memory, visibility)
        reason = f"the filter '{filters[0]}' leaves it out" if filters else _why_hidden(memory)
        return _RecallReason(query, None, reason, {}, ())
    if find_left_out([memory], visibility):
        return _RecallReason(query, None, f"recall leaves it out: {LEFT_OUT_REASON}", {}, ())
    request = RecallRequest(
        query,
        group=group.slug if group else None,
        narrowing=narrowing or Narrowing(),
        explain=True,
        is_trial=True,
    )
    answer = recall(actor, request)
    trace = answer.trace or Trace()
    rank = trace.order.index(memory.key) + 1 if memory.key in trace.order else None
    reason = _reason_in(answer, trace, memory, rank)
    return _RecallReason(query, rank, reason, trace.numbers.get(memory.key, {}), tuple(trace.steps))


def _reason_in(answer: RecallResult, trace: Trace, memory: Memory, rank: int | None) -> str:
    """What became of a memory in an explained answer, by its place among the candidates."""
    if memory.key in trace.dropped:
        why = trace.dropped[memory.key]
    elif any(memory == item.memory for item in answer.nearest):
        why = NOTHING_RELEVANT
    elif rank is None and memory.state == State.DORMANT:
        return "it is dormant, and live memories answer"
    elif rank is None:
        return f"neither search has it among its first {CANDIDATES}"
    else:
        return f"it ranks {rank}"
    return f"it ranks {rank}, but {why}" if rank else why


def treatment_now(memory: Memory) -> RecallTreatment:
    """What recall does with the memory; one whose successor is dated ahead is labelled until then."""
    if is_outlasting(memory, timezone.now()):
        return RecallTreatment.LABEL
    return recall_treatment(memory.state, memory.trust)


def _why_hidden(memory: Memory) -> str:
    """Why recall does not consider a memory that no filter leaves out."""
    if treatment_now(memory) is RecallTreatment.HIDE:
        return f"recall hides {memory.trust if memory.state == State.LIVE else memory.state} memories"
    if not has_begun(memory, timezone.now()):
        return f"it counts from {memory.valid_from:%Y-%m-%d %H:%M} UTC"
    if memory.expires_at is not None:
        return f"it expired at {memory.expires_at:%Y-%m-%d %H:%M} UTC"
    if memory.valid_to is not None:
        return f"it was true until {memory.valid_to:%Y-%m-%d %H:%M} UTC"
    return "you may not recall it"


def _read_log(versions: Sequence[Memory]) -> list[AuditEntry]:
    """The newest log rows of these versions, newest first."""
    ids = [version.id for version in versions]
    entries = AuditEntry.objects.filter(memory_id__in=ids).select_related("payload_row").order_by("-key")
    return list(entries[:MAX_LOG_ROWS])


def _log_rows(
    versions: Sequence[Memory], entries: Sequence[AuditEntry], *, is_person: bool
) -> list[dict[str, Any]]:
    """Log rows as JSON values; for agents without the reasons, if a version is quarantined: a reason may quote the text."""
    is_withheld = not is_person and any(version.trust == Trust.QUARANTINED for version in versions)
    return [
        {
            "at": entry.at.isoformat(),
            "operation": entry.operation,
            "actor": entry.actor,
            "via": entry.via,
            "reason": "" if is_withheld else _describe_reason(entry),
        }
        for entry in entries
    ]


def _describe_reason(entry: AuditEntry) -> str:
    """The reason of a log row, and who said that the memory is true from an earlier day, if that changed."""
    payload = entry.payload
    reason = str(payload.get("reason", ""))
    if entry.operation not in (Operation.MERGE, Operation.REINFORCE):
        return reason
    if (moved := payload.get("changes", {}).get("valid_from")) is None:
        return reason
    who = payload.get("valid_from_by") or entry.actor
    line = f"true from {moved[1][:10]}, not only from {moved[0][:10]}: {who} said so"
    return "; ".join(filter(None, [reason, line]))
