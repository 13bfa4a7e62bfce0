"""Schemas of the tools' results: the part of each answer that an agent can use, without empty fields."""

# mypy: disable-error-code="misc"

from types import UnionType
from typing import Any, ClassVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from access.answers import Answer, AnswerClass, Json, keys_of
from access.groups.guarding import FindingOut
from maintenance.schedule.wording import StatsOut
from memories.browse import serializers as out


class ToolResult(BaseModel):
    """Base of the results; fields that equal their default are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    declared: ClassVar[AnswerClass]  # the answer that this is a part of

    def as_json(self) -> Json:
        """The result as JSON values, without nulls and defaults."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def part_of(answer: AnswerClass, always: str, if_any: str = "") -> Any:
    """A base with these keys of an answer; those of `if_any` are left out where they are empty."""
    types = {key.name: _type_of(key.type) for key in keys_of(answer)}
    fields: dict[str, Any] = {name: (types[name], ...) for name in always.split()}
    for name in if_any.split():
        kind = types[name]
        fields[name] = (kind, None if isinstance(kind, UnionType) else kind())
    part = create_model(f"{answer.__name__}Part", __base__=ToolResult, **fields)
    part.declared = answer
    return part


def _type_of(kind: Any) -> Any:
    if isinstance(kind, UnionType):
        return _type_of(get_args(kind)[0]) | None
    origin = get_origin(kind) or kind
    if origin is tuple:
        return list[_type_of(get_args(kind)[0])]
    if origin in (dict, list):
        return kind
    if issubclass(origin, Answer):
        return dict[str, Any]  # the class that derives from the part has its own
    return origin if origin in (bool, int, float) else str


class WriteAnswer(ToolResult):
    """Base of the results of writes: `undo` is for the tool of this name.

    A result that is repeated for the same idempotency_key has `replayed: true` as well, which no schema lists: each field
    costs tokens in every session.
    """

    undo: str = ""


class NearMemory(part_of(out.NearOut, "id content why next sameness cosine group state")):
    """A neighbour of the stored memory."""

    next: str = Field(description="if yours is right: supersede, retract (it was wrong) or nothing")


class TextFindingAnswer(part_of(FindingOut, "words kind")):
    """Something sensitive in the text, and what became of it."""


class StoreAnswer(
    part_of(
        out.StoredOut,
        "outcome group",
        "id type scope trust confidence why group_created superseded near embedding_owed removed_characters findings "
        "more_findings",
    ),
    WriteAnswer,
):
    """The result of a store."""

    outcome: str = Field(description="created, reinforced, queued, refused or unchanged")
    near: list[NearMemory] = []
    findings: list[TextFindingAnswer] = []


class ComingMemory(part_of(out.ComingOut, "id valid_from content")):
    """What takes a memory's place on a day to come."""


class RecalledConflict(part_of(out.ConflictOut, "id")):
    """A memory that contradicts this one; the text says which value each has."""


class RecalledMemory(
    part_of(out.ItemOut, "id score type group scope trust", "source label tags is_cut numbers summary")
):
    """One memory in an answer."""

    text: str
    date: str
    label: str = Field("", description="why to be careful with it")
    is_cut: bool = Field(False, description="read it whole with ids")
    coming: ComingMemory | None = Field(None, description="replaces it from that day on")
    conflicts: list[RecalledConflict] = []
    also_in: list[dict[str, str]] | None = Field(None, description="memories that say the same, left out")
    events: list[str] | None = Field(None, description="events of a summary, whose parts the text has")
    around: list[str] | None = Field(None, description="turns next to it, shown in text")


class RecalledRelation(part_of(out.RelationLineOut, "id line group confidence date", "evidence")):
    """A relation that the question asks for."""


class RecalledEvidence(ToolResult):
    """A chunk of a file."""

    id: str
    at: str
    text: str
    score: float


class RecallAnswer(
    part_of(
        out.RecalledOut,
        "count group mode results",
        "relations abstained confidence doubt nearest degraded note left_out missing tokens collects explain evidence",
    )
):
    """The memories found, best first."""

    results: list[RecalledMemory]
    relations: list[RecalledRelation] = []
    abstained: bool = Field(False, description="nothing stored answers this")
    confidence: str = Field("", description="that the results answer it: high or low")
    nearest: list[RecalledMemory] = []
    collects: str = Field("", description="many short memories, in this order")
    evidence: list[RecalledEvidence] = []


class ForgetAnswer(
    part_of(
        out.DoneOut,
        "verb",
        "id changed state trust consequences dry_run outcome why proposal changes certificate",
    ),
    WriteAnswer,
):
    """What a verb did; `changed` counts memories, `recorded` verdicts that were new."""

    changed: int | None = None
    outcome: str = Field("", description="queued: a curator decides")
    recorded: int | None = None
    undone: str = ""


class InspectAnswer(ToolResult):
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
    curve: str = ""
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


class StatsAnswer(
    part_of(
        StatsOut,
        "group memories live by_type by_state by_trust by_scope waiting disputed conflicts duplicates pinned relations "
        "pieces pieces_owed recalls_7_days feedback_used feedback_wrong model model_state",
        "last_stored schedule",
    )
):
    """Exact counts of a group."""


class RelationAnswer(
    part_of(
        out.RelationStoredOut,
        "outcome id subject predicate object confidence group entities_created",
        "group_created why",
    ),
    WriteAnswer,
):
    """The result of a stored relation."""

    outcome: str = Field(description="created, reinforced or superseded")


class PackConflict(part_of(out.PackConflictOut, "id memory")):
    """An open conflict of a memory in the pack."""


class PackSection(part_of(out.SectionOut, "title asked used", "ids confidence note")):
    """A part of a context pack."""


class PackedMemory(part_of(out.PackItemOut, "id type trust why", "score")):
    """A memory in a context pack; its text is in the pack's text."""


class ContextAnswer(
    part_of(out.PackOut, "text group tokens left_out sections mode", "items degraded conflicts")
):
    """A context pack."""

    sections: list[PackSection]
    items: list[PackedMemory] = []
    conflicts: list[PackConflict] = []


class CheckpointAnswer(
    part_of(out.SavedOut, "id group created_at count", "group_created thread warning"), WriteAnswer
):
    """A saved checkpoint; `count` is the number of checkpoints of its thread, or group."""
