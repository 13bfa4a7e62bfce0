"""Schemas of the tools' results: the part of the services' answers that an agent can use, without empty fields."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from memories.browse.serializers import Json


class Answer(BaseModel):
    """Base of the results; fields that equal their default are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def as_json(self) -> Json:
        """The result as JSON values, without nulls and defaults."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


class WriteAnswer(Answer):
    """Base of the results of writes: `undo` is for the tool of this name.

    A result that is repeated for the same idempotency_key has `replayed: true` as well, which no schema lists: each field
    costs tokens in every session.
    """

    undo: str = ""


class NearMemory(Answer):
    """A neighbour of the stored memory."""

    id: str
    content: str
    why: str
    next: str = Field(description="if yours is right: supersede, retract (it was wrong) or nothing")
    sameness: str
    cosine: float
    group: str
    state: str


class TextFindingAnswer(Answer):
    """Something sensitive in the text, and what became of it."""

    words: str
    kind: str


class StoreAnswer(WriteAnswer):
    """The result of a store."""

    outcome: str = Field(description="created, reinforced, queued, refused or unchanged")
    group: str
    id: str | None = None
    type: str | None = None
    scope: str | None = None
    trust: str | None = None
    confidence: float | None = None
    why: str = ""
    group_created: bool = False
    superseded: str | None = None
    near: list[NearMemory] = []
    embedding_owed: bool = False
    removed_characters: int = 0
    findings: list[TextFindingAnswer] = []
    more_findings: int = 0


class ComingMemory(Answer):
    """What takes a memory's place on a day to come."""

    id: str
    valid_from: str
    content: str


class RecalledConflict(Answer):
    """A memory that contradicts this one; the text says which value each has."""

    id: str


class RecalledMemory(Answer):
    """One memory in an answer."""

    id: str
    text: str
    score: float
    type: str
    group: str
    scope: str
    trust: str
    date: str
    source: str = ""
    label: str = Field("", description="why to be careful with it")
    tags: list[str] = []
    is_cut: bool = Field(False, description="read it whole with ids")
    numbers: dict[str, float] | None = None
    coming: ComingMemory | None = Field(None, description="replaces it from that day on")
    conflicts: list[RecalledConflict] = []
    also_in: list[dict[str, str]] | None = Field(None, description="memories that say the same, left out")
    around: list[str] | None = Field(None, description="turns beside it, shown in text")


class RecalledRelation(Answer):
    """A relation that the question asks for."""

    id: str
    line: str
    group: str
    confidence: float
    date: str
    evidence: list[str] = []


class RecalledEvidence(Answer):
    """A chunk of a file."""

    id: str
    at: str
    text: str
    score: float


class RecallAnswer(Answer):
    """The memories found, best first."""

    count: int
    group: str
    mode: str
    relations: list[RecalledRelation] = []
    results: list[RecalledMemory]
    abstained: bool = Field(False, description="nothing stored answers this")
    confidence: str = Field("", description="that the results answer it: high or low")
    nearest: list[RecalledMemory] = []
    degraded: str = ""
    note: str = ""
    left_out: int = 0
    missing: list[str] = []
    tokens: int = 0
    collects: str = Field("", description="many short memories, in this order")
    explain: list[dict[str, Any]] | None = None
    evidence: list[RecalledEvidence] = []


class ForgetAnswer(WriteAnswer):
    """What a verb did; `changed` counts memories, `recorded` verdicts that were new."""

    verb: str
    id: str = ""
    changed: int | None = None
    recorded: int | None = None
    state: str = ""
    trust: str = ""
    consequences: list[str] = []
    dry_run: bool = False
    outcome: str = Field("", description="queued: a curator decides")
    why: str = ""
    proposal: str = ""
    changes: dict[str, Any] = {}
    certificate: dict[str, Any] | None = None
    undone: str = ""


class InspectAnswer(Answer):
    """Everything about a memory, a page of a thread, or earlier recalls of a question."""

    memory: dict[str, Any] | None = None
    recall: str = ""
    head: str = ""
    pieces: int | None = None
    versions: list[dict[str, Any]] = []
    pieces_owed: int = 0
    links: list[dict[str, Any]] = []
    relations: list[dict[str, Any]] = []
    log: list[dict[str, Any]] = []
    log_rows: int | None = None
    feedback: dict[str, int] = {}
    why: dict[str, Any] | None = None
    thread: str = ""
    group: str = ""
    turns: list[dict[str, Any]] = []
    checkpoints: list[dict[str, Any]] = []
    threads: dict[str, int] = Field({}, description="with their numbers of checkpoints")
    next: str = Field("", description="cursor")
    older: str = Field("", description="cursor of older checkpoints")
    recalls: list[dict[str, Any]] = []
    cut: list[str] = Field([], description="parts cut by token_budget")


class StatsAnswer(Answer):
    """Exact counts of a group."""

    group: str
    memories: int
    live: int
    by_type: dict[str, int]
    by_state: dict[str, int]
    by_trust: dict[str, int]
    by_scope: dict[str, int]
    waiting: int
    disputed: int
    conflicts: int
    duplicates: int
    pinned: int
    relations: int
    pieces: int
    pieces_owed: int
    recalls_7_days: int
    feedback_used: int
    feedback_wrong: int
    last_stored: str = ""
    model: str
    model_state: str
    schedule: dict[str, str] = {}


class RelationAnswer(WriteAnswer):
    """The result of a stored relation."""

    outcome: str = Field(description="created, reinforced or superseded")
    id: str
    subject: str
    predicate: str
    object: str
    confidence: float
    group: str
    group_created: bool = False
    entities_created: list[str]
    why: str = ""


class PackConflict(RecalledConflict):
    """An open conflict of a memory in the pack."""

    memory: str


class PackSection(Answer):
    """A part of a context pack."""

    title: str
    ids: list[str] = []
    asked: int
    used: int
    confidence: str = ""
    note: str = ""


class PackedMemory(Answer):
    """A memory in a context pack; its text is in the pack's text."""

    id: str
    type: str
    trust: str
    why: str
    score: float | None = None


class ContextAnswer(Answer):
    """A context pack."""

    text: str
    group: str
    tokens: int
    left_out: int
    sections: list[PackSection]
    items: list[PackedMemory] = []
    mode: str
    degraded: str = ""
    conflicts: list[PackConflict] = []


class CheckpointAnswer(WriteAnswer):
    """A saved checkpoint; `count` is the number of checkpoints of its thread, or group."""

    id: str
    group: str
    group_created: bool = False
    thread: str | None = None
    created_at: str
    count: int
    warning: str = ""
