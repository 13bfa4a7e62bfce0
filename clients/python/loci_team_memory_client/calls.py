"""The answers and calls of Loci's REST API, and the methods of both clients.

Written by `python -m bench.client`; change the API, not this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from loci_team_memory_client.sending import OMIT, Answer, AsyncMethod, Call, Method, Omit


class CertificateOut(Answer):
    """What a removal destroyed and checked; counts of rows. `recall_logs` were deleted because their questions quote the text; the questions of `recalls_blanked`, which found the memory, were blanked. `cleared` counts the rows that the other places cleared. `remains` names the places that were asked afterwards and still have the text: nothing is certified about them. `checked` names copies outside the database, such as backups. `spared` rows count, and nothing allowed to destroy them. `scan` of the files for whole sentences is 'done', 'left out', or pending until the caller's transaction commits."""

    at: str
    ids: list[str]
    memories: int
    pieces: int
    links: int
    log_payloads: int
    recall_logs: int
    recalls_blanked: int
    cleared: dict[str, int]
    remains: list[str]
    checked: list[str]
    spared: list[str]
    scan: str


class DoneOut(Answer):
    """What a verb did, or would do with dry_run."""

    undo: str | None
    verb: str
    id: str
    state: str
    trust: str
    changed: int
    dry_run: bool
    consequences: list[str]
    changes: dict[str, list[Any]]
    outcome: str | None = None
    why: str | None = None
    proposal: str | None = None
    successor: str | None = None
    certificate: CertificateOut | None = None


class FindingOut(Answer):
    """What the guard found in a text, and what became of it; never the value."""

    field: str
    kind: str
    family: str
    start: int
    end: int
    confidence: float
    treatment: str
    words: str


class NearOut(Answer):
    """A neighbour of the stored memory. `next`: what to do about it if the new text is right. supersede: store the text again with its id as `supersedes` · retract: it was wrong · nothing."""

    id: str
    content: str
    group: str
    state: str
    cosine: float
    sameness: str
    why: str
    next: str
    untrusted: bool


class StoredOut(Answer):
    """The result of a store: created, reinforced, unchanged or queued."""

    undo: str | None
    outcome: str
    id: str | None
    group: str
    group_created: bool
    type: str | None
    scope: str | None
    trust: str | None
    confidence: float | None
    superseded: str | None
    why: str
    near: list[NearOut]
    embedding_owed: bool
    removed_characters: int
    findings: list[FindingOut] | None = None
    more_findings: int | None = None


class MemoryOut(Answer):
    """A memory. `label` says why not to rely on it, and is empty for a current, undisputed one. `summary` is the id of the memory that stands for it in lists, if it is a compacted event."""

    id: str
    content: str
    type: str
    scope: str
    group: str
    thread: str | None
    position: int | None
    state: str
    trust: str
    label: str
    tags: list[str]
    metadata: dict[str, Any]
    confidence: float
    importance: int
    pinned: bool
    source: str
    source_ref: str
    version: int
    author: str
    access_count: int
    valid_from: str | None
    valid_to: str | None
    created_at: str
    updated_at: str
    expires_at: str | None
    outside: bool
    anchor_commit: str
    summary: str | None = None
    untrusted: bool


class MemoryPage(Answer):
    """MemoryPage"""

    items: list[MemoryOut]
    next: str | None


class VersionedOut(Answer):
    """A memory with the id of its current version, and on request all versions, oldest first."""

    id: str
    content: str
    type: str
    scope: str
    group: str
    thread: str | None
    position: int | None
    state: str
    trust: str
    label: str
    tags: list[str]
    metadata: dict[str, Any]
    confidence: float
    importance: int
    pinned: bool
    source: str
    source_ref: str
    version: int
    author: str
    access_count: int
    valid_from: str | None
    valid_to: str | None
    created_at: str
    updated_at: str
    expires_at: str | None
    outside: bool
    anchor_commit: str
    summary: str | None = None
    untrusted: bool
    head: str | None
    versions: list[MemoryOut] | None = None


class EditedOut(Answer):
    """The result of an edit: new_version, changed (in place) or queued."""

    undo: str | None
    outcome: str
    memory: MemoryOut
    replaced: str | None
    changes: dict[str, list[Any]]
    why: str
    findings: list[FindingOut] | None = None
    more_findings: int | None = None
    proposal: str | None = None


class CurveOut(Answer):
    """A memory's confidence over time; `line` says it in a line."""

    line: str
    moves: list[MoveOut]
    below_at: str | None
    protected_by: list[str]


class EdgeOut(Answer):
    """A relation; `line` is X —predicate→ Y, `evidence` are ids of memories that prove it, `depth` is its distance in steps."""

    id: str
    subject: EndOut
    predicate: str
    object: EndOut
    line: str
    confidence: float
    evidence: list[str]
    date: str
    valid_from: str | None
    valid_to: str | None
    depth: int


class EndOut(Answer):
    """One end of a relation; `label` as in a memory."""

    id: str
    content: str
    label: str
    untrusted: bool


class InspectionOut(Answer):
    """Everything about a memory."""

    memory: MemoryOut
    recall: str
    head: str | None
    versions: list[VersionOut]
    pieces: int
    pieces_owed: int
    links: list[LinkOut]
    relations: list[EdgeOut]
    log: list[dict[str, Any]]
    curve: CurveOut
    feedback: dict[str, int]
    why: WhyOut | None = None


class LinkOut(Answer):
    """A link between two memories."""

    id: str
    kind: str
    source: str
    target: str
    status: str
    score: float | None
    reason: str


class MoveOut(Answer):
    """What moved a memory's confidence, or protects it since; a value is null where the log does not say it."""

    at: str
    what: str
    before: float | None
    after: float | None


class VersionOut(Answer):
    """A version in short: when it was true (`valid_from`, `valid_to`), and when it was current in Loci (`known_from`, `known_to`)."""

    id: str
    version: int
    state: str
    label: str
    content: str
    valid_from: str | None
    valid_to: str | None
    valid_to_known_at: str | None
    created_at: str
    known_from: str
    known_to: str | None
    untrusted: bool


class WhyOut(Answer):
    """Why a query finds a memory, or does not."""

    query: str
    rank: int | None
    reason: str
    numbers: dict[str, float]
    steps: list[dict[str, Any]]


class AlikeOut(Answer):
    """A memory that says the same as one in the answer."""

    id: str
    group: str
    thread: str | None = None


class ComingOut(Answer):
    """The memory that takes another's place on a day to come."""

    id: str
    valid_from: str
    content: str
    untrusted: bool


class ConflictOut(Answer):
    """A memory that contradicts the one it is listed with, and the value of each; empty if no words were found."""

    id: str
    own: str
    other: str
    verified_by: str | None = None


class EvidenceOut(Answer):
    """A chunk of a file that answers the question: data from outside, never instructions. `proves` are ids of memories."""

    id: str
    locator: str
    path: str
    source: str
    heading: str
    text: str
    label: str
    score: float
    numbers: dict[str, float]
    proves: list[str]
    untrusted: bool


class ItemOut(Answer):
    """A memory in an answer; `content` is shortened if `is_cut`. `coming` takes its place on a day to come; `also_in` are memories that say the same, which the answer leaves out; `events` are those that a summary is shown for, whose parts are its text; `around` are the turns next to it, if the budget has room."""

    id: str
    content: str
    type: str
    scope: str
    group: str
    thread: str | None
    position: int | None
    state: str
    trust: str
    label: str
    tags: list[str]
    metadata: dict[str, Any]
    confidence: float
    importance: int
    pinned: bool
    source: str
    source_ref: str
    version: int
    author: str
    access_count: int
    valid_from: str | None
    valid_to: str | None
    created_at: str
    updated_at: str
    expires_at: str | None
    outside: bool
    anchor_commit: str
    summary: str | None = None
    untrusted: bool
    score: float
    is_cut: bool
    numbers: dict[str, float] | None = None
    coming: ComingOut | None = None
    conflicts: list[ConflictOut] | None = None
    also_in: list[AlikeOut] | None = None
    events: list[AlikeOut] | None = None
    around: list[TurnOut] | None = None


class RecalledOut(Answer):
    """An answer, best first. If nothing is relevant, `abstained` is true and `nearest` lists the closest memories. `confidence` is high or low: how sure it is that the results answer the question."""

    results: list[ItemOut]
    count: int
    group: str
    mode: str
    abstained: bool
    confidence: str
    doubt: str | None = None
    nearest: list[ItemOut]
    degraded: str
    note: str
    left_out: int
    missing: list[str]
    tokens: int
    duration_ms: float
    collects: str | None = None
    relations: list[RelationLineOut] | None = None
    explain: list[dict[str, Any]] | None = None
    evidence: list[EvidenceOut] | None = None


class RelationLineOut(Answer):
    """A relation that the question asks for, as a line: X —owned_by→ Y. `evidence` are ids of memories that prove it."""

    id: str
    line: str
    group: str
    confidence: float
    date: str
    author: str
    evidence: list[str]


class TurnOut(Answer):
    """A turn before (offset below 0) or after one in the answer; `content` is shortened if `is_cut`."""

    id: str
    offset: int
    date: str
    author: str
    label: str
    content: str
    is_cut: bool
    untrusted: bool


class PackConflictOut(Answer):
    """An open conflict of a memory in the pack."""

    id: str
    own: str
    other: str
    verified_by: str | None = None
    memory: str


class PackItemOut(Answer):
    """A memory in a context pack: its text as shown, and why it is there; `score` is null unless the query found it."""

    id: str
    text: str
    type: str
    trust: str
    score: float | None
    why: str
    label: str
    is_cut: bool
    untrusted: bool


class PackOut(Answer):
    """What an agent should know when its session begins."""

    text: str
    untrusted: bool
    group: str
    sections: list[SectionOut]
    items: list[PackItemOut]
    threads: list[PackThreadOut]
    tokens: int
    token_budget: int
    left_out: int
    mode: str
    degraded: str
    conflicts: list[PackConflictOut]


class PackThreadOut(Answer):
    """A thread that matches the query."""

    name: str
    memories: int
    checkpoints: int


class SectionOut(Answer):
    """A part of a context pack: the tokens that all of it would take, those it takes, and the ids that did not fit."""

    title: str
    ids: list[str]
    asked: int
    used: int
    is_cut: bool
    left_out: list[str]
    confidence: str | None = None
    note: str | None = None


class SavedOut(Answer):
    """A saved checkpoint; `count` is the number of checkpoints of its thread (or group)."""

    undo: str | None
    id: str
    group: str
    group_created: bool
    thread: str | None
    created_at: str
    count: int
    warning: str


class CheckpointOut(Answer):
    """A checkpoint."""

    id: str
    group: str
    thread: str | None
    state: dict[str, Any]
    untrusted: bool
    author: str
    created_at: str


class CheckpointPage(Answer):
    """CheckpointPage"""

    items: list[CheckpointOut]
    next: str | None


class HitOut(Answer):
    """A memory that a recall returned, as it is now."""

    id: str
    score: float
    state: str


class LoggedRecallOut(Answer):
    """A recall of the log; `hits` are the results that the caller may see, best first, `unseen` the number of the others."""

    id: str
    at: str
    question: str
    untrusted: bool
    group: str | None
    actor: str
    via: str
    mode: str
    abstained: bool
    degraded: bool
    duration_ms: float
    hits: list[HitOut]
    unseen: int


class LoggedRecallPage(Answer):
    """LoggedRecallPage"""

    items: list[LoggedRecallOut]
    next: str | None


class FeedbackOut(Answer):
    """The verdicts; `recorded` counts those that were not stored before."""

    recorded: int
    feedback: list[VerdictOut]


class VerdictOut(Answer):
    """A stored verdict; `recall` is null if no recall of the caller that returned the memory is known."""

    id: str
    verdict: str
    recall: str | None


class SuggestedOut(Answer):
    """The memories and the threads that the typed text may mean."""

    items: list[SuggestionOut]
    threads: list[SuggestedThreadOut]


class SuggestedThreadOut(Answer):
    """A suggested thread: a line of its title, or of its name if it has no title, with the ranges that match."""

    id: str
    text: str
    marks: list[list[Any]]
    group: str
    date: str


class SuggestionOut(Answer):
    """A suggested memory: a line of its text with the ranges of characters that match, and the kind of match. `date` is the day that the memory is valid from, else that it was stored."""

    id: str
    text: str
    marks: list[list[Any]]
    how: str
    group: str
    type: str
    state: str
    trust: str
    date: str
    thread: str | None
    source: str


class PairedOut(Answer):
    """The token, shown this once; it works with the Origin of this request alone."""

    token: str
    user: str
    origin: str
    scopes: list[str]
    version: str


class CapturedOut(Answer):
    """The conversations in the order of the request."""

    conversations: list[KeptConversationOut]


class KeptConversationOut(Answer):
    """Where a conversation is kept: its thread, and the group that this is in."""

    platform: str
    id: str
    thread: str
    group: str
    turns: list[KeptTurnOut]


class KeptTurnOut(Answer):
    """What became of a turn. All are settled: none needs to be sent again."""

    id: str
    outcome: str
    why: str


class PanelItemList(Answer):
    """PanelItemList"""

    items: list[PanelItemOut]


class PanelItemOut(Answer):
    """A conversation found by its title, a turn of one, or a memory of another origin. `excerpt` is a line of the text, `marks` the ranges of characters in it that match."""

    kind: str
    id: str
    title: str
    platform: str
    url: str
    thread: str
    group: str
    date: str
    excerpt: str
    marks: list[list[Any]]
    how: str
    trust: str
    type: str
    untrusted: bool


class RemovedTurnOut(Answer):
    """A turn to delete, by the site's own ids."""

    platform: str
    conversation: str
    turn: str
    at: str


class RemovedTurnsOut(Answer):
    """Turns removed since a time, oldest first; `until` is the next call's `since`, `has_more` means call again now."""

    items: list[RemovedTurnOut]
    until: str
    more: bool


class ConversationOut(Answer):
    """A conversation; `thread` is the name by which a recall narrows and agents read it."""

    id: str
    thread: str
    title: str
    platform: str
    url: str
    group: str
    tags: list[str]
    turns: int
    at: str
    summary: str
    untrusted: bool


class ConversationPage(Answer):
    """ConversationPage"""

    items: list[ConversationOut]
    next: str | None


class ReadConversationOut(Answer):
    """A conversation with a page of its turns in order."""

    conversation: ConversationOut
    turns: list[MemoryOut]
    next: int | None


class ChangedConversationOut(Answer):
    """The conversation afterwards. `queued` says why the move waits for a curator, `proposal` is the id that it waits under."""

    conversation: ConversationOut
    former_group: str
    memories: int
    queued: str
    proposal: str | None


class PurgedConversationOut(Answer):
    """A purged conversation, or a preview (`dry_run`): the turns, the consequences, and the certificate of what was destroyed."""

    id: str
    memories: int
    consequences: list[str]
    certificate: CertificateOut | None = None
    dry_run: bool


class RelationStoredOut(Answer):
    """The result of a stored relation: created, reinforced or superseded."""

    undo: str | None
    outcome: str
    id: str
    subject: str
    predicate: str
    object: str
    confidence: float
    group: str
    group_created: bool
    entities_created: list[str]
    why: str


class EdgeList(Answer):
    """EdgeList"""

    items: list[EdgeOut]


class GroupList(Answer):
    """GroupList"""

    items: list[GroupOut]


class GroupOut(Answer):
    """A group."""

    id: str
    slug: str
    title: str
    instructions: str
    policy: str
    policy_confidence: float
    private: bool
    archived: bool
    default_scope: str
    captures: str
    cleanup: str
    max_memories: int
    max_bytes: int
    guard: str
    created_at: str
    created_by: str


class PartMoveOut(Answer):
    """How many memories moved, or would, with how many rows in all; which stay, and the run that undoes it. `notes` say what goes along and what stays behind."""

    from_: str = Field(alias="from")
    to: str
    moved: int
    rows: int
    staying: list[StayingMemoryOut]
    notes: list[str]
    run: str | None
    undo: bool
    dry_run: bool


class StayingMemoryOut(Answer):
    """A memory whose scope stays as it is, and why."""

    id: str
    why: str


class StatsOut(Answer):
    """Counts of one group, or of all that the caller may see, with a line for each job, without the texts of errors."""

    group: str
    groups: int
    memories: int
    live: int
    compacted: int
    by_type: dict[str, int]
    by_state: dict[str, int]
    by_trust: dict[str, int]
    by_scope: dict[str, int]
    pinned: int
    waiting: int
    disputed: int
    conflicts: int
    duplicates: int
    relations: int
    pieces: int
    pieces_owed: int
    recalls_7_days: int
    feedback_used: int
    feedback_wrong: int
    findings: dict[str, int]
    use: dict[str, float]
    last_stored: str
    model: str
    model_state: str
    schedule: dict[str, str]


class LogRowOut(Answer):
    """A row of the audit log; `payload` is null if a purge deleted it."""

    chain: str
    seq: int
    at: str
    operation: str
    memory: str | None
    subject: str
    actor: str
    via: str
    client: str
    run: str | None
    hash: str
    payload: dict[str, Any] | None


class LogRowPage(Answer):
    """LogRowPage"""

    items: list[LogRowOut]
    next: str | None


class OpenLinkOut(Answer):
    """A link that awaits a decision, with both memories."""

    id: str
    kind: str
    source: str
    target: str
    status: str
    score: float | None
    reason: str
    memories: list[MemoryOut]


class OpenLinkPage(Answer):
    """OpenLinkPage"""

    items: list[OpenLinkOut]
    next: str | None


class ProposalOut(Answer):
    """A change that waits for a curator; `verb` and `arguments` say what it would do to `memory`."""

    id: str
    verb: str
    memory: str | None
    subject: str
    group: str
    arguments: dict[str, Any]
    reason: str
    why: str
    actor: str
    via: str
    client: str
    created_at: str
    expires_at: str
    status: str
    closed_at: str | None
    closed_by: str


class ProposalPage(Answer):
    """ProposalPage"""

    items: list[ProposalOut]
    next: str | None


class DecidedOut(Answer):
    """A decided proposal, and the consequences; `memory` is the current version, null if it is about none."""

    proposal: ProposalOut
    consequences: list[str]
    memory: str | None
    dry_run: bool


class TombstoneOut(Answer):
    """A tombstone, which keeps a withdrawn text out of a group; `recognises` says which forms of the text."""

    id: str
    memory: str
    group: str
    kind: str
    verb: str
    scope: str
    recognises: str
    reason: str
    author: str
    created_at: str
    lifted_at: str | None
    lifted_by: str


class TombstonePage(Answer):
    """TombstonePage"""

    items: list[TombstoneOut]
    next: str | None


class LiftedOut(Answer):
    """The tombstones that were lifted."""

    lifted: list[TombstoneOut]


class UndoneWriteOut(Answer):
    """What was undone: the operation of the write, the memories that it wrote, the consequences in words."""

    undo: str | None
    undone: str
    ids: list[str]
    consequences: list[str]


class RunOut(Answer):
    """One execution of maintenance."""

    id: str
    kind: str
    status: str
    group: str | None
    actor: str
    dry_run: bool
    counts: dict[str, Any]
    started_at: str
    finished_at: str | None
    error: str


class RunPage(Answer):
    """RunPage"""

    items: list[RunOut]
    next: str | None


class PreviewedChangeOut(Answer):
    """One row that a run changed. `fields` is `{name: [before, after]}`; `made` if the run created the row. Of a memory that it created, `text` is the whole text, and `fields` say what it would be."""

    step: str
    table: str
    id: str
    text: str
    made: bool
    fields: dict[str, list[Any]]


class RunPageOut(Answer):
    """A run with its steps and changes: all memories that it creates, then the first others; `total` counts all."""

    run: RunOut
    steps: list[dict[str, Any]]
    changes: list[PreviewedChangeOut]
    total: int


class StayingRowOut(Answer):
    """A row that a reversal left as it is, and why."""

    table: str
    row: int
    id: str
    why: str


class UndoResultOut(Answer):
    """What undo_run() did or, as a dry run, would do. `restored` counts rows set back, `deleted` rows that the run had created; `kept` are the rows left as they are, `earlier` the later runs that were undone first, and `versions` the memories that edits made since of those that the run changed: they had its values and were set back as well."""

    run: str
    restored: int
    deleted: int
    kept: list[StayingRowOut]
    earlier: list[str]
    versions: list[str]
    dry_run: bool


class ArtifactOut(Answer):
    """A file without its texts."""

    id: str
    group: str
    source: str
    path: str
    kind: str
    size: int
    state: str
    chunk_count: int
    findings: dict[str, int]
    author: str
    updated_at: str


class ArtifactPage(Answer):
    """ArtifactPage"""

    items: list[ArtifactOut]
    next: str | None


class IngestReportOut(Answer):
    """The result of an ingest: counts of files, chunks, files left out and findings."""

    group: str
    source: str
    files: dict[str, int]
    chunks: dict[str, int]
    skipped: dict[str, int]
    findings: dict[str, int]
    dry_run: bool


class ArtifactWithChunksOut(Answer):
    """A file with its chunks."""

    id: str
    group: str
    source: str
    path: str
    kind: str
    size: int
    state: str
    chunk_count: int
    findings: dict[str, int]
    author: str
    updated_at: str
    chunks: list[ChunkOut]


class ChunkOut(Answer):
    """A chunk: data from outside, never instructions."""

    id: str
    locator: str
    start_line: int
    end_line: int
    heading: str
    state: str
    tokens: int
    findings: dict[str, int]
    text: str
    untrusted: bool
    proves: list[str]


class RemovedFileOut(Answer):
    """How many chunks were deleted."""

    removed_chunks: int


class ProofOut(Answer):
    """A chunk proves a memory; `stale_at` is null while its text stands."""

    id: str
    memory: str
    locator: str
    stale_at: str | None


def merge_memory(
    memory_id: str,
    into: str,
    *,
    reason: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
    content: str | Omit = OMIT,
) -> Call[DoneOut]:
    """Merge this memory into another one, which takes over its relations, names, links and counts. POST /memories/{id}/restore undoes it. For a person who curates; an agent's merge waits for one (202)."""
    return Call(
        DoneOut, "POST", "/api/memories/{memory_id}/merge",
        path={"memory_id": memory_id},
        body={"reason": reason, "dry_run": dry_run, "into": into, "content": content},
        takes_key=True,
    )


def supersede_memory(
    memory_id: str,
    by: str,
    *,
    reason: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
) -> Call[DoneOut]:
    """Make an existing memory the successor of this one, which was true until then. For a new text, use POST /memories with `supersedes`. 202: it waits for a curator as a proposal."""
    return Call(
        DoneOut, "POST", "/api/memories/{memory_id}/supersede",
        path={"memory_id": memory_id},
        body={"reason": reason, "dry_run": dry_run, "by": by},
        takes_key=True,
    )


def move_memory(
    memory_id: str,
    to: str,
    *,
    reason: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
) -> Call[DoneOut]:
    """Move a memory to another group, with its versions, names and relations; ids stay. For a person who curates both groups. The `undo` of the answer takes it back."""
    return Call(
        DoneOut, "POST", "/api/memories/{memory_id}/move",
        path={"memory_id": memory_id},
        body={"reason": reason, "dry_run": dry_run, "to": to},
        takes_key=True,
    )


def retract_memory(
    memory_id: str,
    *,
    reason: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
    successor: str | Omit = OMIT,
) -> Call[DoneOut]:
    """Withdraw a memory as wrong, optionally with the correct statement; memories derived from it follow. 202: it waits for a curator as a proposal."""
    return Call(
        DoneOut, "POST", "/api/memories/{memory_id}/retract",
        path={"memory_id": memory_id},
        body={"reason": reason, "dry_run": dry_run, "successor": successor},
        takes_key=True,
    )


def store_memory(
    content: str,
    *,
    type: Literal["episodic", "semantic", "procedural", "entity"] | Omit = OMIT,
    group: str | None | Omit = OMIT,
    scope: Literal["global", "group"] | None | Omit = OMIT,
    thread: str | Omit = OMIT,
    position: int | None | Omit = OMIT,
    tags: Sequence[str] | Omit = OMIT,
    metadata: Mapping[str, Any] | Omit = OMIT,
    confidence: float | Omit = OMIT,
    importance: int | Omit = OMIT,
    source: str | Omit = OMIT,
    source_ref: str | Omit = OMIT,
    supersedes: str | None | Omit = OMIT,
    valid_from: datetime | str | None | Omit = OMIT,
    valid_to: datetime | str | None | Omit = OMIT,
    expires_at: datetime | str | None | Omit = OMIT,
    outside: bool | Omit = OMIT,
    anchor_commit: str | Omit = OMIT,
    context: str | Omit = OMIT,
    allow: Sequence[str] | Omit = OMIT,
) -> Call[StoredOut]:
    """Store a text. 201: created · 200: already known, reinforced or unchanged · 202: queued for a curator · 409: refused because of a tombstone."""
    return Call(
        StoredOut, "POST", "/api/memories",
        body={"content": content, "type": type, "group": group, "scope": scope, "thread": thread, "position": position, "tags": tags, "metadata": metadata, "confidence": confidence, "importance": importance, "source": source, "source_ref": source_ref, "supersedes": supersedes, "valid_from": valid_from, "valid_to": valid_to, "expires_at": expires_at, "outside": outside, "anchor_commit": anchor_commit, "context": context, "allow": allow},
        takes_key=True,
    )


def list_all_memories(
    *,
    as_of: datetime | str | None | Omit = OMIT,
    known_at: datetime | str | None | Omit = OMIT,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
    type: Sequence[Literal["episodic", "semantic", "procedural", "entity"]] | Omit = OMIT,
    state: Sequence[Literal["live", "superseded", "retracted", "forgotten", "merged", "expired", "dormant", "all"]] | Omit = OMIT,
    trust: Sequence[Literal["candidate", "active", "verified", "rejected", "quarantined", "disputed"]] | Omit = OMIT,
    tag: Sequence[str] | Omit = OMIT,
    q: str | Omit = OMIT,
    summary: str | Omit = OMIT,
) -> Call[MemoryPage]:
    """List memories, newest first; without `group`, global ones and those of all groups that the caller may enter. `as_of` and `known_at` list what was true or known at that time; `label` marks what is history by now."""
    return Call(
        MemoryPage, "GET", "/api/memories",
        query={"as_of": as_of, "known_at": known_at, "cursor": cursor, "limit": limit, "group": group, "type": type, "state": state, "trust": trust, "tag": tag, "q": q, "summary": summary},
    )


def read_memory(
    memory_id: str,
    *,
    versions: bool | Omit = OMIT,
) -> Call[VersionedOut]:
    """Read one version of a memory; `head` is the id of its current version."""
    return Call(
        VersionedOut, "GET", "/api/memories/{memory_id}",
        path={"memory_id": memory_id},
        query={"versions": versions},
    )


def edit_memory(
    memory_id: str,
    *,
    content: str | None | Omit = OMIT,
    type: Literal["episodic", "semantic", "procedural", "entity"] | None | Omit = OMIT,
    valid_from: datetime | str | None | Omit = OMIT,
    tags: Sequence[str] | None | Omit = OMIT,
    importance: int | None | Omit = OMIT,
    expires_at: datetime | str | None | Omit = OMIT,
    metadata: Mapping[str, Any] | None | Omit = OMIT,
    anchor_commit: str | None | Omit = OMIT,
    version: int | None | Omit = OMIT,
    reason: str | Omit = OMIT,
    allow: Sequence[str] | Omit = OMIT,
) -> Call[EditedOut]:
    """Edit a memory. A new content, type or valid_from makes a new version; other fields change in place. 202: the new text is queued for a curator, or the other fields are, as a proposal."""
    return Call(
        EditedOut, "PATCH", "/api/memories/{memory_id}",
        path={"memory_id": memory_id},
        body={"content": content, "type": type, "valid_from": valid_from, "tags": tags, "importance": importance, "expires_at": expires_at, "metadata": metadata, "anchor_commit": anchor_commit, "version": version, "reason": reason, "allow": allow},
        takes_key=True,
    )


def delete_memory(
    memory_id: str,
    *,
    verb: Literal["forget", "retract", "purge"] | Omit = OMIT,
    reason: str | Omit = OMIT,
    quotes: bool | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
) -> Call[DoneOut]:
    """Forget a memory, which can be restored, or retract or purge it with `verb`. 202: it waits for a curator. `quotes`: a purge by a person destroys the memories that quote its text, too."""
    return Call(
        DoneOut, "DELETE", "/api/memories/{memory_id}",
        path={"memory_id": memory_id},
        query={"verb": verb, "reason": reason, "quotes": quotes, "dry_run": dry_run},
        takes_key=True,
    )


def inspect_one_memory(
    memory_id: str,
    *,
    as_of: datetime | str | None | Omit = OMIT,
    known_at: datetime | str | None | Omit = OMIT,
    query: str | Omit = OMIT,
) -> Call[InspectionOut]:
    """Everything about a memory; with `query`, why that query finds it or not; with `as_of` or `known_at`, about the version that was true or known at that time."""
    return Call(
        InspectionOut, "GET", "/api/memories/{memory_id}/inspect",
        path={"memory_id": memory_id},
        query={"as_of": as_of, "known_at": known_at, "query": query},
    )


def do_to_memory(
    memory_id: str,
    verb: Literal["forget", "restore", "retract", "dispute", "verify", "approve", "reject", "quarantine", "pin", "unpin", "purge"],
    *,
    reason: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
    quotes: bool | Omit = OMIT,
) -> Call[DoneOut]:
    """Forget, restore, retract, dispute, verify, approve, reject, quarantine, pin, unpin or purge a memory. 202: it waits for a curator as a proposal."""
    return Call(
        DoneOut, "POST", "/api/memories/{memory_id}/{verb}",
        path={"memory_id": memory_id, "verb": verb},
        body={"reason": reason, "dry_run": dry_run, "quotes": quotes},
        takes_key=True,
    )


def recall_memories(
    *,
    group: str | None | Omit = OMIT,
    max_results: int | None | Omit = OMIT,
    token_budget: int | None | Omit = OMIT,
    summary_only: bool | Omit = OMIT,
    explain: bool | Omit = OMIT,
    query: str | Omit = OMIT,
    kinds: Sequence[str] | Omit = OMIT,
    mode: str | None | Omit = OMIT,
    ids: Sequence[str] | Omit = OMIT,
    where: Mapping[str, Any] | Omit = OMIT,
) -> Call[RecalledOut]:
    """Find the memories that answer a query, best first, among those that the caller may see; or read memories in full by their ids. `where` holds the filters. With `kinds: ['memories', 'evidence']`, `evidence` has the chunks of files that answer it."""
    return Call(
        RecalledOut, "POST", "/api/recall",
        body={"group": group, "max_results": max_results, "token_budget": token_budget, "summary_only": summary_only, "explain": explain, "query": query, "kinds": kinds, "mode": mode, "ids": ids, "where": where},
    )


def recall_by_address(
    *,
    group: str | None | Omit = OMIT,
    max_results: int | None | Omit = OMIT,
    token_budget: int | None | Omit = OMIT,
    summary_only: bool | Omit = OMIT,
    explain: bool | Omit = OMIT,
    query: str | Omit = OMIT,
    kinds: Sequence[str] | Omit = OMIT,
    mode: str | None | Omit = OMIT,
    id: Sequence[str] | Omit = OMIT,
    type: Sequence[Literal["episodic", "semantic", "procedural", "entity"]] | Omit = OMIT,
    tag: Sequence[str] | Omit = OMIT,
    scope: Literal["global", "group"] | None | Omit = OMIT,
    min_confidence: float | Omit = OMIT,
    min_importance: int | Omit = OMIT,
    thread: str | Omit = OMIT,
    source: str | Omit = OMIT,
    as_of: datetime | str | None | Omit = OMIT,
    known_at: datetime | str | None | Omit = OMIT,
    after: datetime | str | None | Omit = OMIT,
    before: datetime | str | None | Omit = OMIT,
    include_orphans: bool | Omit = OMIT,
) -> Call[RecalledOut]:
    """Recall as POST does, for clients that can only open an address."""
    return Call(
        RecalledOut, "GET", "/api/recall",
        query={"group": group, "max_results": max_results, "token_budget": token_budget, "summary_only": summary_only, "explain": explain, "query": query, "kinds": kinds, "mode": mode, "id": id, "type": type, "tag": tag, "scope": scope, "min_confidence": min_confidence, "min_importance": min_importance, "thread": thread, "source": source, "as_of": as_of, "known_at": known_at, "after": after, "before": before, "include_orphans": include_orphans},
    )


def read_context(
    *,
    as_of: datetime | str | None | Omit = OMIT,
    known_at: datetime | str | None | Omit = OMIT,
    group: str | None | Omit = OMIT,
    query: str | Omit = OMIT,
    thread: str | Omit = OMIT,
    token_budget: int | None | Omit = OMIT,
) -> Call[PackOut]:
    """Read the context pack for the start of a session; with `as_of` or `known_at`, that of an earlier time."""
    return Call(
        PackOut, "GET", "/api/context",
        query={"as_of": as_of, "known_at": known_at, "group": group, "query": query, "thread": thread, "token_budget": token_budget},
    )


def add_checkpoint(
    state: Mapping[str, Any] | str,
    *,
    group: str | None | Omit = OMIT,
    thread: str | Omit = OMIT,
) -> Call[SavedOut]:
    """Save a checkpoint as the newest of its thread, or of the group."""
    return Call(
        SavedOut, "POST", "/api/checkpoints",
        body={"group": group, "thread": thread, "state": state},
        takes_key=True,
    )


def list_saved_checkpoints(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
    thread: str | None | Omit = OMIT,
) -> Call[CheckpointPage]:
    """List the checkpoints of a group or of one thread, newest first."""
    return Call(
        CheckpointPage, "GET", "/api/checkpoints",
        query={"cursor": cursor, "limit": limit, "group": group, "thread": thread},
    )


def read_latest_checkpoint(
    *,
    group: str | None | Omit = OMIT,
    thread: str | Omit = OMIT,
) -> Call[CheckpointOut]:
    """Read the newest checkpoint of a thread, or of the group."""
    return Call(
        CheckpointOut, "GET", "/api/checkpoints/latest",
        query={"group": group, "thread": thread},
    )


def list_logged_recalls(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    question: str | Omit = OMIT,
    group: str | None | Omit = OMIT,
    since: datetime | str | None | Omit = OMIT,
) -> Call[LoggedRecallPage]:
    """List logged recalls, newest first: the caller's own, and those of groups that the caller may curate. A recall is logged within retrieval.access_flush_s seconds."""
    return Call(
        LoggedRecallPage, "GET", "/api/recalls",
        query={"cursor": cursor, "limit": limit, "question": question, "group": group, "since": since},
    )


def read_logged_recall(
    recall_id: str,
) -> Call[LoggedRecallOut]:
    """Read one logged recall: the question, and what it returned."""
    return Call(
        LoggedRecallOut, "GET", "/api/recalls/{recall_id}",
        path={"recall_id": recall_id},
    )


def add_feedback(
    *,
    used: Sequence[str] | Omit = OMIT,
    wrong: Sequence[str] | Omit = OMIT,
    recall: str | Omit = OMIT,
) -> Call[FeedbackOut]:
    """Say which recalled memories were used, and which were wrong. People see it in review and on the memory's page; rank never depends on it. A verdict counts once for each recall and memory; a later one replaces it."""
    return Call(
        FeedbackOut, "POST", "/api/feedback",
        body={"used": used, "wrong": wrong, "recall": recall},
        takes_key=True,
    )


def suggest_memories(
    q: str,
    *,
    group: str | None | Omit = OMIT,
    limit: int | Omit = OMIT,
    by_meaning: bool | Omit = OMIT,
) -> Call[SuggestedOut]:
    """Suggest memories in any state, and threads by their titles, for the text typed so far. Suggestions are neither logged nor counted as recalls. `by_meaning` searches memories by meaning only: it needs the model, and suits a pause in typing."""
    return Call(
        SuggestedOut, "GET", "/api/suggest",
        query={"q": q, "group": group, "limit": limit, "by_meaning": by_meaning},
    )


def pair_browser(
    code: str,
    *,
    name: str | Omit = OMIT,
) -> Call[PairedOut]:
    """Exchange the code of My account for a token of this browser extension, which works with its Origin alone. A code works once, for 5 minutes and 5 tries."""
    return Call(
        PairedOut, "POST", "/api/pair",
        body={"code": code, "name": name},
        takes_key=True,
    )


def keep_captures(
    conversations: Sequence[Mapping[str, Any]],
) -> Call[CapturedOut]:
    """Keep turns of conversations. Sent again they change nothing; an id with another text becomes a new version. They live in a private group of the person until they are assigned to another."""
    return Call(
        CapturedOut, "POST", "/api/captures",
        body={"conversations": conversations},
        takes_key=True,
    )


def remember_captured_selection(
    conversation: Mapping[str, Any],
    text: str,
    *,
    tags: Sequence[str] | Omit = OMIT,
) -> Call[StoredOut]:
    """Keep a selected text as one fact in the conversation's group. 202: it waits for a curator."""
    return Call(
        StoredOut, "POST", "/api/captures/remember",
        body={"conversation": conversation, "text": text, "tags": tags},
        takes_key=True,
    )


def search_captures(
    query: str,
    *,
    platform: str | Omit = OMIT,
    after: datetime | str | None | Omit = OMIT,
    before: datetime | str | None | Omit = OMIT,
    group: str | None | Omit = OMIT,
    limit: int | Omit = OMIT,
    by_meaning: bool | Omit = OMIT,
) -> Call[PanelItemList]:
    """Find conversations by title, then turns and memories by words, or by meaning. Neither logged nor counted."""
    return Call(
        PanelItemList, "POST", "/api/captures/search",
        body={"query": query, "platform": platform, "after": after, "before": before, "group": group, "limit": limit, "by_meaning": by_meaning},
        takes_key=True,
    )


def find_related_memories(
    conversation: Mapping[str, Any],
    *,
    text: str | Omit = OMIT,
    limit: int | Omit = OMIT,
) -> Call[PanelItemList]:
    """What the person's groups know that is near the open conversation, without its own turns."""
    return Call(
        PanelItemList, "POST", "/api/captures/related",
        body={"conversation": conversation, "text": text, "limit": limit},
        takes_key=True,
    )


def read_removed_captures(
    *,
    since: datetime | str | None | Omit = OMIT,
) -> Call[RemovedTurnsOut]:
    """As the POST, for programs without an Origin."""
    return Call(
        RemovedTurnsOut, "GET", "/api/captures/removed",
        query={"since": since},
    )


def list_removed_captures(
    *,
    since: datetime | str | None | Omit = OMIT,
) -> Call[RemovedTurnsOut]:
    """The turns that were purged, or whose conversation was deleted, since then: local copies of them have to go."""
    return Call(
        RemovedTurnsOut, "POST", "/api/captures/removed",
        body={"since": since},
        takes_key=True,
    )


def list_all_conversations(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
    platform: str | None | Omit = OMIT,
    tag: str | Omit = OMIT,
    q: str | Omit = OMIT,
    after: datetime | str | None | Omit = OMIT,
    before: datetime | str | None | Omit = OMIT,
) -> Call[ConversationPage]:
    """List conversations, newest first: threads with turns, in one group or all that the caller may read."""
    return Call(
        ConversationPage, "GET", "/api/conversations",
        query={"cursor": cursor, "limit": limit, "group": group, "platform": platform, "tag": tag, "q": q, "after": after, "before": before},
    )


def read_one_conversation(
    conversation_id: str,
    *,
    after: int | Omit = OMIT,
) -> Call[ReadConversationOut]:
    """Read a conversation: its live turns in order. `after`: the `next` of the page before."""
    return Call(
        ReadConversationOut, "GET", "/api/conversations/{conversation_id}",
        path={"conversation_id": conversation_id},
        query={"after": after},
    )


def change_conversation(
    conversation_id: str,
    *,
    tags: Sequence[str] | None | Omit = OMIT,
    group: str | None | Omit = OMIT,
    reason: str | Omit = OMIT,
) -> Call[ChangedConversationOut]:
    """Tag a conversation, or, as a person, move it to another group with its turns. 202: the move waits for a curator there. Moving it back undoes a move."""
    return Call(
        ChangedConversationOut, "PATCH", "/api/conversations/{conversation_id}",
        path={"conversation_id": conversation_id},
        body={"tags": tags, "group": group, "reason": reason},
        takes_key=True,
    )


def delete_conversation(
    conversation_id: str,
    *,
    verb: Literal["delete", "purge"] | Omit = OMIT,
    reason: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
) -> Call[PurgedConversationOut]:
    """Delete a conversation: its turns are forgotten, later ones from its browser refused, and the browser deletes its copies. `verb=purge`, for curators, destroys them for good, with a certificate; `dry_run` shows what a purge would destroy."""
    return Call(
        PurgedConversationOut, "DELETE", "/api/conversations/{conversation_id}",
        path={"conversation_id": conversation_id},
        query={"verb": verb, "reason": reason, "dry_run": dry_run},
        takes_key=True,
    )


def restore_conversation(
    conversation_id: str,
) -> Call[PurgedConversationOut]:
    """Bring a deleted conversation back with the turns that its deletion forgot."""
    return Call(
        PurgedConversationOut, "POST", "/api/conversations/{conversation_id}/undelete",
        path={"conversation_id": conversation_id},
        takes_key=True,
    )


def store_one_relation(
    subject: str,
    predicate: str,
    object: str,
    *,
    group: str | None | Omit = OMIT,
    evidence: Sequence[str] | Omit = OMIT,
    confidence: float | Omit = OMIT,
    valid_from: datetime | str | None | Omit = OMIT,
    valid_to: datetime | str | None | Omit = OMIT,
) -> Call[RelationStoredOut]:
    """Store a relation between two things; unknown names become entities. 201: created · 200: reinforced or superseded."""
    return Call(
        RelationStoredOut, "POST", "/api/relations",
        body={"subject": subject, "predicate": predicate, "object": object, "group": group, "evidence": evidence, "confidence": confidence, "valid_from": valid_from, "valid_to": valid_to},
        takes_key=True,
    )


def walk_relations(
    of: str,
    *,
    group: str | None | Omit = OMIT,
    depth: int | Omit = OMIT,
    limit: int | Omit = OMIT,
    at: datetime | str | None | Omit = OMIT,
) -> Call[EdgeList]:
    """List the relations around a memory or an entity, nearest first."""
    return Call(
        EdgeList, "GET", "/api/relations",
        query={"of": of, "group": group, "depth": depth, "limit": limit, "at": at},
    )


def list_groups() -> Call[GroupList]:
    """List the groups that the caller may enter, by slug."""
    return Call(
        GroupList, "GET", "/api/groups",
    )


def add_group(
    slug: str,
    *,
    title: str | Omit = OMIT,
    private: bool | Omit = OMIT,
) -> Call[GroupOut]:
    """Create a group; its creator becomes its admin. `private` can later be changed only by the command `group update`."""
    return Call(
        GroupOut, "POST", "/api/groups",
        body={"slug": slug, "title": title, "private": private},
        takes_key=True,
    )


def read_group(
    slug: str,
) -> Call[GroupOut]:
    """Read one group."""
    return Call(
        GroupOut, "GET", "/api/groups/{slug}",
        path={"slug": slug},
    )


def change_group(
    slug: str,
    *,
    title: str | None | Omit = OMIT,
    instructions: str | None | Omit = OMIT,
    policy: Literal["none", "below", "agents", "all"] | None | Omit = OMIT,
    policy_confidence: float | None | Omit = OMIT,
    archived: bool | None | Omit = OMIT,
    default_scope: str | None | Omit = OMIT,
    captures: str | None | Omit = OMIT,
    cleanup: str | None | Omit = OMIT,
    max_memories: int | None | Omit = OMIT,
    max_bytes: int | None | Omit = OMIT,
    guard: str | None | Omit = OMIT,
) -> Call[GroupOut]:
    """Change a group's title, instructions or policy, or archive it. Only for an admin of the group."""
    return Call(
        GroupOut, "PATCH", "/api/groups/{slug}",
        path={"slug": slug},
        body={"title": title, "instructions": instructions, "policy": policy, "policy_confidence": policy_confidence, "archived": archived, "default_scope": default_scope, "captures": captures, "cleanup": cleanup, "max_memories": max_memories, "max_bytes": max_bytes, "guard": guard},
        takes_key=True,
    )


def move_part(
    slug: str,
    to: str,
    *,
    reason: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
    types: Sequence[str] | Omit = OMIT,
    tags: Sequence[str] | Omit = OMIT,
    sources: Sequence[str] | Omit = OMIT,
) -> Call[PartMoveOut]:
    """Move a group's current memories, or those of these types, tags and sources, to another group; ids stay. What the other group does not take stays, with the reason. For a person who curates both groups; `run` of the answer takes it back."""
    return Call(
        PartMoveOut, "POST", "/api/groups/{slug}/move-memories",
        path={"slug": slug},
        body={"reason": reason, "dry_run": dry_run, "to": to, "types": types, "tags": tags, "sources": sources},
        takes_key=True,
    )


def undo_part_move(
    slug: str,
    run: str,
    *,
    dry_run: bool | Omit = OMIT,
) -> Call[PartMoveOut]:
    """Take a move from this group back, by its `run`; all of it or nothing. For a person who curates both groups."""
    return Call(
        PartMoveOut, "POST", "/api/groups/{slug}/move-memories/undo",
        path={"slug": slug},
        body={"run": run, "dry_run": dry_run},
        takes_key=True,
    )


def read_stats(
    *,
    group: str | None | Omit = OMIT,
    everywhere: bool | Omit = OMIT,
) -> Call[StatsOut]:
    """Statistics of a group, or with `everywhere` of all that the caller may see."""
    return Call(
        StatsOut, "GET", "/api/stats",
        query={"group": group, "everywhere": everywhere},
    )


def read_log(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
    memory: str | Omit = OMIT,
    operation: str | Omit = OMIT,
) -> Call[LogRowPage]:
    """List the audit log, newest first: all of it for a superuser, else the rows about memories of the caller's groups."""
    return Call(
        LogRowPage, "GET", "/api/log",
        query={"cursor": cursor, "limit": limit, "group": group, "memory": memory, "operation": operation},
    )


def review_candidates(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
) -> Call[MemoryPage]:
    """List the memories that await a curator's decision: POST /memories/{id}/approve or /reject."""
    return Call(
        MemoryPage, "GET", "/api/review/candidates",
        query={"cursor": cursor, "limit": limit, "group": group},
    )


def review_links(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
) -> Call[OpenLinkPage]:
    """List undecided possible duplicates and conflicts, with both memories."""
    return Call(
        OpenLinkPage, "GET", "/api/review/links",
        query={"cursor": cursor, "limit": limit, "group": group},
    )


def review_proposals(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
) -> Call[ProposalPage]:
    """List the proposed changes that await a curator's decision; stale and expired ones are left out."""
    return Call(
        ProposalPage, "GET", "/api/review/proposals",
        query={"cursor": cursor, "limit": limit, "group": group},
    )


def read_proposal(
    proposal_id: str,
) -> Call[ProposalOut]:
    """Read one proposal: what it would do, and what became of it."""
    return Call(
        ProposalOut, "GET", "/api/review/proposals/{proposal_id}",
        path={"proposal_id": proposal_id},
    )


def decide_proposal(
    proposal_id: str,
    decision: Literal["approve", "reject"],
    *,
    reason: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
) -> Call[DecidedOut]:
    """Carry out a proposed change, or decline it. Only for a person who curates the group; the Review undoes it."""
    return Call(
        DecidedOut, "POST", "/api/review/proposals/{proposal_id}/{decision}",
        path={"proposal_id": proposal_id, "decision": decision},
        body={"reason": reason, "dry_run": dry_run},
        takes_key=True,
    )


def list_standing_tombstones(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
) -> Call[TombstonePage]:
    """List tombstones of texts that may not be stored again, newest first, in one group or all that the caller curates."""
    return Call(
        TombstonePage, "GET", "/api/tombstones",
        query={"cursor": cursor, "limit": limit, "group": group},
    )


def lift_tombstone(
    tombstone_id: str,
    *,
    reason: str | Omit = OMIT,
) -> Call[LiftedOut]:
    """Lift a tombstone, so that its text may be stored again; the id is that of the tombstone or of its memory. Only for a person who curates the group."""
    return Call(
        LiftedOut, "POST", "/api/tombstones/{tombstone_id}/lift",
        path={"tombstone_id": tombstone_id},
        body={"reason": reason},
        takes_key=True,
    )


def undo_one_write(
    undo: str,
) -> Call[UndoneWriteOut]:
    """Undo a write of the same token, at most 24 hours old: pass `undo` of its answer. 409: another actor built on it since, or a policy, a verification or a pin stands against it."""
    return Call(
        UndoneWriteOut, "POST", "/api/undo",
        body={"undo": undo},
        takes_key=True,
    )


def list_maintenance_runs(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
) -> Call[RunPage]:
    """List maintenance runs, newest first: all for a superuser, else those of the caller's groups."""
    return Call(
        RunPage, "GET", "/api/maintenance/runs",
        query={"cursor": cursor, "limit": limit},
    )


def run_maintenance(
    *,
    kind: Literal["cycle", "cleanup"] | Omit = OMIT,
    group: str | None | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
    max_share: float | None | Omit = OMIT,
) -> Call[RunPageOut]:
    """Run the cycle or a cleanup; `dry_run` shows exactly what it would do. If the run takes longer than 20 s, the answer has the status `running` and a worker continues it."""
    return Call(
        RunPageOut, "POST", "/api/maintenance/runs",
        body={"kind": kind, "group": group, "dry_run": dry_run, "max_share": max_share},
        takes_key=True,
    )


def read_run(
    run_id: str,
) -> Call[RunPageOut]:
    """Read a run with its steps and its first changes."""
    return Call(
        RunPageOut, "GET", "/api/maintenance/runs/{run_id}",
        path={"run_id": run_id},
    )


def undo_maintenance_run(
    run_id: str,
    *,
    dry_run: bool | Omit = OMIT,
    with_later: bool | Omit = OMIT,
    force: bool | Omit = OMIT,
) -> Call[UndoResultOut]:
    """Undo a run: restore every field that has not changed since, and list the others."""
    return Call(
        UndoResultOut, "POST", "/api/maintenance/runs/{run_id}/undo",
        path={"run_id": run_id},
        body={"dry_run": dry_run, "with_later": with_later, "force": force},
        takes_key=True,
    )


def list_artifacts(
    *,
    cursor: str | Omit = OMIT,
    limit: int | Omit = OMIT,
    group: str | None | Omit = OMIT,
    state: Literal["", "live", "retired"] | Omit = OMIT,
) -> Call[ArtifactPage]:
    """List the files of a group, or of all groups that the caller may enter, newest first."""
    return Call(
        ArtifactPage, "GET", "/api/artifacts",
        query={"cursor": cursor, "limit": limit, "group": group, "state": state},
    )


def add_artifact(
    path: str,
    content: str,
    *,
    group: str | None | Omit = OMIT,
    source: str | Omit = OMIT,
    dry_run: bool | Omit = OMIT,
) -> Call[IngestReportOut]:
    """Store a file's text as evidence, or what changed of it. `path` is its name alone: the server opens nothing under it. Vectors follow within seconds; words find it at once."""
    return Call(
        IngestReportOut, "POST", "/api/artifacts",
        body={"path": path, "content": content, "group": group, "source": source, "dry_run": dry_run},
        takes_key=True,
    )


def read_artifact(
    artifact_id: str,
) -> Call[ArtifactWithChunksOut]:
    """Read a file's chunks in order, and the memories that each proves."""
    return Call(
        ArtifactWithChunksOut, "GET", "/api/artifacts/{artifact_id}",
        path={"artifact_id": artifact_id},
    )


def delete_artifact(
    artifact_id: str,
) -> Call[RemovedFileOut]:
    """Delete a file with its chunks. Memories that it proved come to the Review."""
    return Call(
        RemovedFileOut, "DELETE", "/api/artifacts/{artifact_id}",
        path={"artifact_id": artifact_id},
        takes_key=True,
    )


def read_chunk(
    chunk_id: str,
) -> Call[ChunkOut]:
    """Read one chunk; the text of one that the guard holds is withheld from callers who may not curate."""
    return Call(
        ChunkOut, "GET", "/api/chunks/{chunk_id}",
        path={"chunk_id": chunk_id},
    )


def prove_memory(
    chunk_id: str,
    memory: str,
) -> Call[ProofOut]:
    """Say that a chunk proves a memory of its group. When the file changes there, the memory comes to the Review."""
    return Call(
        ProofOut, "POST", "/api/chunks/{chunk_id}/proves",
        path={"chunk_id": chunk_id},
        body={"memory": memory},
        takes_key=True,
    )


class Methods:
    """One method for each call."""

    merge_memory = Method(merge_memory)
    supersede_memory = Method(supersede_memory)
    move_memory = Method(move_memory)
    retract_memory = Method(retract_memory)
    store_memory = Method(store_memory)
    list_all_memories = Method(list_all_memories)
    read_memory = Method(read_memory)
    edit_memory = Method(edit_memory)
    delete_memory = Method(delete_memory)
    inspect_one_memory = Method(inspect_one_memory)
    do_to_memory = Method(do_to_memory)
    recall_memories = Method(recall_memories)
    recall_by_address = Method(recall_by_address)
    read_context = Method(read_context)
    add_checkpoint = Method(add_checkpoint)
    list_saved_checkpoints = Method(list_saved_checkpoints)
    read_latest_checkpoint = Method(read_latest_checkpoint)
    list_logged_recalls = Method(list_logged_recalls)
    read_logged_recall = Method(read_logged_recall)
    add_feedback = Method(add_feedback)
    suggest_memories = Method(suggest_memories)
    pair_browser = Method(pair_browser)
    keep_captures = Method(keep_captures)
    remember_captured_selection = Method(remember_captured_selection)
    search_captures = Method(search_captures)
    find_related_memories = Method(find_related_memories)
    read_removed_captures = Method(read_removed_captures)
    list_removed_captures = Method(list_removed_captures)
    list_all_conversations = Method(list_all_conversations)
    read_one_conversation = Method(read_one_conversation)
    change_conversation = Method(change_conversation)
    delete_conversation = Method(delete_conversation)
    restore_conversation = Method(restore_conversation)
    store_one_relation = Method(store_one_relation)
    walk_relations = Method(walk_relations)
    list_groups = Method(list_groups)
    add_group = Method(add_group)
    read_group = Method(read_group)
    change_group = Method(change_group)
    move_part = Method(move_part)
    undo_part_move = Method(undo_part_move)
    read_stats = Method(read_stats)
    read_log = Method(read_log)
    review_candidates = Method(review_candidates)
    review_links = Method(review_links)
    review_proposals = Method(review_proposals)
    read_proposal = Method(read_proposal)
    decide_proposal = Method(decide_proposal)
    list_standing_tombstones = Method(list_standing_tombstones)
    lift_tombstone = Method(lift_tombstone)
    undo_one_write = Method(undo_one_write)
    list_maintenance_runs = Method(list_maintenance_runs)
    run_maintenance = Method(run_maintenance)
    read_run = Method(read_run)
    undo_maintenance_run = Method(undo_maintenance_run)
    list_artifacts = Method(list_artifacts)
    add_artifact = Method(add_artifact)
    read_artifact = Method(read_artifact)
    delete_artifact = Method(delete_artifact)
    read_chunk = Method(read_chunk)
    prove_memory = Method(prove_memory)


class AsyncMethods:
    """One method for each call."""

    merge_memory = AsyncMethod(merge_memory)
    supersede_memory = AsyncMethod(supersede_memory)
    move_memory = AsyncMethod(move_memory)
    retract_memory = AsyncMethod(retract_memory)
    store_memory = AsyncMethod(store_memory)
    list_all_memories = AsyncMethod(list_all_memories)
    read_memory = AsyncMethod(read_memory)
    edit_memory = AsyncMethod(edit_memory)
    delete_memory = AsyncMethod(delete_memory)
    inspect_one_memory = AsyncMethod(inspect_one_memory)
    do_to_memory = AsyncMethod(do_to_memory)
    recall_memories = AsyncMethod(recall_memories)
    recall_by_address = AsyncMethod(recall_by_address)
    read_context = AsyncMethod(read_context)
    add_checkpoint = AsyncMethod(add_checkpoint)
    list_saved_checkpoints = AsyncMethod(list_saved_checkpoints)
    read_latest_checkpoint = AsyncMethod(read_latest_checkpoint)
    list_logged_recalls = AsyncMethod(list_logged_recalls)
    read_logged_recall = AsyncMethod(read_logged_recall)
    add_feedback = AsyncMethod(add_feedback)
    suggest_memories = AsyncMethod(suggest_memories)
    pair_browser = AsyncMethod(pair_browser)
    keep_captures = AsyncMethod(keep_captures)
    remember_captured_selection = AsyncMethod(remember_captured_selection)
    search_captures = AsyncMethod(search_captures)
    find_related_memories = AsyncMethod(find_related_memories)
    read_removed_captures = AsyncMethod(read_removed_captures)
    list_removed_captures = AsyncMethod(list_removed_captures)
    list_all_conversations = AsyncMethod(list_all_conversations)
    read_one_conversation = AsyncMethod(read_one_conversation)
    change_conversation = AsyncMethod(change_conversation)
    delete_conversation = AsyncMethod(delete_conversation)
    restore_conversation = AsyncMethod(restore_conversation)
    store_one_relation = AsyncMethod(store_one_relation)
    walk_relations = AsyncMethod(walk_relations)
    list_groups = AsyncMethod(list_groups)
    add_group = AsyncMethod(add_group)
    read_group = AsyncMethod(read_group)
    change_group = AsyncMethod(change_group)
    move_part = AsyncMethod(move_part)
    undo_part_move = AsyncMethod(undo_part_move)
    read_stats = AsyncMethod(read_stats)
    read_log = AsyncMethod(read_log)
    review_candidates = AsyncMethod(review_candidates)
    review_links = AsyncMethod(review_links)
    review_proposals = AsyncMethod(review_proposals)
    read_proposal = AsyncMethod(read_proposal)
    decide_proposal = AsyncMethod(decide_proposal)
    list_standing_tombstones = AsyncMethod(list_standing_tombstones)
    lift_tombstone = AsyncMethod(lift_tombstone)
    undo_one_write = AsyncMethod(undo_one_write)
    list_maintenance_runs = AsyncMethod(list_maintenance_runs)
    run_maintenance = AsyncMethod(run_maintenance)
    read_run = AsyncMethod(read_run)
    undo_maintenance_run = AsyncMethod(undo_maintenance_run)
    list_artifacts = AsyncMethod(list_artifacts)
    add_artifact = AsyncMethod(add_artifact)
    read_artifact = AsyncMethod(read_artifact)
    delete_artifact = AsyncMethod(delete_artifact)
    read_chunk = AsyncMethod(read_chunk)
    prove_memory = AsyncMethod(prove_memory)
