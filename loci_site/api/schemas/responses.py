"""Schemas of responses for the OpenAPI document; the services' serializers produce the values."""

from typing import Any

from pydantic import Field

from loci_site.api.schemas.document import Document, StoredText
from loci_site.api.schemas.fields import returned_fields
from loci_site.api.schemas.relations import EdgeOut, RelationLineOut
from memories.store.neighbours import NextStep
from memories.types import Scope, State, Trust, Type


class ErrorOut(Document):
    """What went wrong and what to do next; `field` names the wrong value, if it is a single one."""

    code: str
    message: str
    hint: str
    field: str = ""


class MemoryOut(returned_fields(StoredText)):  # type: ignore[misc]
    """A memory. `label` says why not to rely on it, and is empty for a current, undisputed one."""

    thread: str | None


class VersionedOut(MemoryOut):
    """A memory with the id of its current version, and on request all versions, oldest first."""

    head: str
    versions: list[MemoryOut] = []


class NearOut(StoredText):
    """A neighbour of the stored memory. `next`: what to do about it if the new text is right.

    supersede: store the text again with its id as `supersedes` · retract: it was wrong · nothing.
    """

    id: str
    content: str
    group: str
    state: State
    cosine: float
    sameness: str
    why: str
    next: NextStep


class Written(Document):
    """Base of the answers to writes; `undo` is null if nothing was written, or it cannot be undone."""

    undo: str | None = Field(description="POST /undo takes it for 24 hours, from the same token.")


class FindingOut(Document):
    """What the guard found in a text, and what became of it; never the value."""

    field: str
    kind: str
    family: str
    start: int
    end: int
    confidence: float
    treatment: str
    words: str


class StoredOut(Written):
    """The result of a store: created, reinforced, unchanged or queued."""

    outcome: str
    id: str | None
    group: str
    group_created: bool
    type: Type | None
    scope: Scope | None
    trust: Trust | None
    confidence: float | None
    superseded: str | None
    why: str
    near: list[NearOut]
    embedding_owed: bool
    removed_characters: int
    findings: list[FindingOut] = None  # type: ignore[assignment]  # absent if the guard found nothing
    more_findings: int = None  # type: ignore[assignment]  # absent unless there are more than are listed


class EditedOut(Written):
    """The result of an edit: new_version, changed (in place) or queued."""

    outcome: str
    memory: MemoryOut
    replaced: str | None
    changes: dict[str, list[Any]]
    why: str
    proposal: str = None  # type: ignore[assignment]  # absent unless fields other than the text wait
    findings: list[FindingOut] = None  # type: ignore[assignment]  # absent if the guard found nothing
    more_findings: int = None  # type: ignore[assignment]  # absent unless there are more than are listed


class CertificateOut(Document):
    """Counts of what a purge destroyed."""

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
    spared: list[str] = Field(description="Ids of rows that count, which nothing allowed to destroy.")
    scan: str = Field(
        description="Search of database, logs, queue and backups for sentences of the texts: `done`, `left out` or `pending`."
    )


class DoneOut(Written):
    """What a verb did, or would do with dry_run."""

    verb: str
    id: str
    state: str
    trust: str
    changed: int
    dry_run: bool
    consequences: list[str]
    changes: dict[str, list[Any]]
    outcome: str = None  # type: ignore[assignment]  # queued: a curator decides; else absent
    proposal: str = None  # type: ignore[assignment]  # the id under which it waits; absent unless queued
    why: str = None  # type: ignore[assignment]  # it waits; absent unless queued
    successor: str = None  # type: ignore[assignment]  # absent unless a successor was named
    certificate: CertificateOut = None  # type: ignore[assignment]  # absent unless memories were purged


class ComingOut(StoredText):
    """The memory that takes another's place on a day to come."""

    id: str
    valid_from: str
    content: str


class ConflictOut(Document):
    """A memory that contradicts the one it is listed with, and the value of each; empty if no words were found."""

    id: str
    own: str
    other: str
    verified_by: str = None  # type: ignore[assignment]  # absent unless a person verified the other one alone


class AlikeOut(Document):
    """A memory that says the same as one in the answer."""

    id: str
    group: str
    thread: str = None  # type: ignore[assignment]  # absent unless it is in one


class TurnOut(StoredText):
    """A turn before (offset below 0) or after one in the answer; `content` is shortened if `is_cut`."""

    id: str
    offset: int
    date: str
    author: str
    label: str
    content: str
    is_cut: bool


class ItemOut(MemoryOut):
    """A memory in an answer; `content` is shortened if `is_cut`. `coming` takes its place on a day to come; `also_in` are
    memories that say the same, which the answer leaves out; `around` are the turns beside it, if the budget has room.
    """

    score: float
    is_cut: bool
    numbers: dict[str, float] = {}
    coming: ComingOut = None  # type: ignore[assignment]  # absent unless one is dated ahead
    conflicts: list[ConflictOut] = []  # absent unless a conflict is open
    also_in: list[AlikeOut] = None  # type: ignore[assignment]  # absent unless there are some
    around: list[TurnOut] = None  # type: ignore[assignment]  # absent unless it is a turn


class EvidenceOut(Document):
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


class RecalledOut(Document):
    """An answer, best first. If nothing is relevant, `abstained` is true and `nearest` lists the closest memories.

    `confidence` is high or low: how sure it is that the results answer the question.
    """

    results: list[ItemOut]
    count: int
    group: str
    mode: str
    abstained: bool
    confidence: str
    nearest: list[ItemOut]
    degraded: str
    note: str
    left_out: int
    missing: list[str]
    tokens: int
    duration_ms: float
    relations: list[RelationLineOut] = []  # absent unless the question asks for one
    collects: str = None  # type: ignore[assignment]  # absent unless the question asks for many: their order
    explain: list[dict[str, Any]] = []
    evidence: list[EvidenceOut] = []  # absent unless `kinds` asks for it


class RelationStoredOut(Written):
    """The result of a stored relation: created, reinforced or superseded."""

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


class LinkOut(Document):
    """A link between two memories."""

    id: str
    kind: str
    source: str
    target: str
    status: str
    score: float | None
    reason: str


class OpenLinkOut(LinkOut):
    """A link that awaits a decision, with both memories."""

    memories: list[MemoryOut]


class VersionOut(StoredText):
    """A version in short: when it was true (`valid_from`, `valid_to`), and when it was current in Loci (`known_from`, `known_to`)."""

    id: str
    version: int
    state: State
    label: str
    content: str
    valid_from: str | None
    valid_to: str | None
    valid_to_known_at: str | None
    created_at: str
    known_from: str
    known_to: str | None


class WhyOut(Document):
    """Why a query finds a memory, or does not."""

    query: str
    rank: int | None
    reason: str
    numbers: dict[str, float]
    steps: list[dict[str, Any]]


class InspectionOut(Document):
    """Everything about a memory."""

    memory: MemoryOut
    recall: str
    head: str
    versions: list[VersionOut]
    pieces: int
    pieces_owed: int
    links: list[LinkOut]
    relations: list[EdgeOut]
    log: list[dict[str, Any]]
    feedback: dict[str, int] = Field(description="How often it was said to be `used` and to be `wrong`.")
    why: WhyOut = None  # type: ignore[assignment]  # absent without a query


class GroupOut(Document):
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
    guard: str
    max_memories: int = Field(description="Most live memories; 0: the instance's limit.")
    max_bytes: int = Field(description="Most bytes of their text; 0: the instance's limit.")
    created_at: str
    created_by: str


class GroupsOut(Document):
    """Groups, ordered by slug."""

    items: list[GroupOut]


class StatsOut(Document):
    """Counts of one group, or of all that the caller may see."""

    group: str
    groups: int
    memories: int
    live: int
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
    findings: dict[str, int] = Field(description="How often the guard found each kind in live memories.")
    use: dict[str, float] = Field(
        description="What a group holds in `memories` and `bytes`, its limits (0: none) and the used `share`."
    )
    last_stored: str
    model: str
    model_state: str
    schedule: dict[str, str]


class MemoryPage(Document):
    """A page of memories."""

    items: list[MemoryOut]
    next: str | None


class LinkPage(Document):
    """A page of links that await a decision."""

    items: list[OpenLinkOut]
    next: str | None


class UndoneWriteOut(Document):
    """An undone write: its operation, the memories that it wrote, the consequences."""

    undone: str
    ids: list[str]
    consequences: list[str]


ERRORS: dict[Any, Any] = {frozenset({400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503}): ErrorOut}
