"""Schemas of requests; the services check what the values mean."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, WithJsonSchema

from access.errors import InvalidInput
from access.models import CandidatePolicy
from access.visibility import Narrowing
from loci_site.api.schemas.fields import Confidence, Timestamp, edited_fields, stored_fields, word_schema
from memories.browse.listing import ALL_STATES, TRUST_FILTERS, ListFilter
from memories.draft import DEFAULT_CONFIDENCE, Draft, EditDraft
from memories.draft.registry import BY_NAME
from memories.entities.store_relation import RelationDraft
from memories.queries.pages import DEFAULT_LIMIT, MAX_LIMIT
from memories.queries.where import WHERE, parse_where, where_schema
from memories.recall import MAX_RESULTS, MAX_TOKEN_BUDGET, MIN_TOKEN_BUDGET, RecallRequest
from memories.sessions.context_pack import MAX_TOKENS, MIN_TOKENS
from memories.types import Scope, State, Type
from sources.artifacts.reading.files import MAX_TEXT_BYTES
from sources.models import ArtifactState

_TypeWord = Annotated[str, word_schema(Type.values)]
_ScopeWord = Annotated[str, word_schema(Scope.values)]
_StateWord = Annotated[str, word_schema([*State.values, ALL_STATES])]
_TrustWord = Annotated[str, word_schema(TRUST_FILTERS)]
_PolicyWord = Annotated[str, word_schema(CandidatePolicy.values)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]


class Body(BaseModel):
    """A JSON object; an unknown field is an error, so that nothing is silently ignored."""

    model_config = ConfigDict(extra="forbid")


class MemoryIn(stored_fields(Body)):  # type: ignore[misc]
    """A memory to store."""

    content: str = Field(description="The text to remember.")
    group: str | None = Field(None, description="Default: the token's group, else LOCI_GROUP.")
    scope: _ScopeWord | None = Field(
        None, description="Default: group, unless the group or access.default_scope has another rule."
    )
    thread: str = ""
    context: str = Field(
        "", description="Where it comes from or what it was about: becomes metadata.context."
    )
    supersedes: str | None = Field(None, description="Id of the memory that this one replaces.")
    allow: list[str] = Field(
        [], description="Kinds of guessed secrets that are false alarms, such as password."
    )

    def draft(self) -> Draft:
        """The draft for store()."""
        values = self.model_dump(exclude={"supersedes", "tags", "scope", "allow"})
        return Draft(
            **values,
            scope=self.scope or "",
            tags=tuple(self.tags),
            supersedes=self.supersedes or None,
            allow=tuple(self.allow),
        )


class EditIn(edited_fields(Body)):  # type: ignore[misc]
    """The fields to change; absent fields stay as they are."""

    version: StrictInt | None = Field(
        None, description="The version that was read; a newer one is a conflict."
    )
    reason: str = ""
    allow: list[str] = Field(
        [], description="Kinds of guessed secrets that are false alarms, such as password."
    )

    def edit(self) -> EditDraft:
        """The edit with the sent fields only; null clears a field that may be empty."""
        named = {name: getattr(self, name) for name in self.model_fields_set - {"reason", "allow"}}
        for name, value in named.items():
            if value is None and name != "version" and not BY_NAME[name].is_optional:
                raise InvalidInput(f"'{name}' cannot be null.", hint="Leave it out to keep it.", field=name)
        if "tags" in named:
            named["tags"] = tuple(named["tags"])
        return EditDraft(**named, allow=tuple(self.allow))


class VerbIn(Body):
    """The reason, and `dry_run` to show the effect without the change."""

    reason: str = ""
    dry_run: StrictBool = False


class PurgingVerbIn(VerbIn):
    """`quotes`: a purge by a person destroys the memories that quote the text, too."""

    quotes: StrictBool = False


class LiftIn(Body):
    """The reason for lifting a tombstone."""

    reason: str = ""


class RecallLimits(Body):
    """The group and the limits of a recall."""

    group: str | None = None
    max_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] | None = None
    token_budget: Annotated[int, Field(ge=MIN_TOKEN_BUDGET, le=MAX_TOKEN_BUDGET)] | None = None
    summary_only: bool = False
    explain: bool = False
    query: str = ""
    kinds: list[str] = Field(
        [],
        description="memories, evidence (chunks of files) or both; default: memories alone. Filters apply to memories.",
    )
    mode: str | None = Field(
        None, description="hybrid, rrf, weighted, keyword or vector; default: the setting."
    )

    def make_request(self, ids: list[str], narrowing: Narrowing) -> RecallRequest:
        """The request for recall()."""
        return RecallRequest(
            self.query, tuple(ids), self.group, narrowing, self.max_results, self.token_budget, self.summary_only,
            self.explain, self.mode,
        )  # fmt: skip


class RecallIn(RecallLimits):
    """A query, or ids of memories to read in full."""

    ids: list[str] = []
    where: Annotated[dict[str, Any], WithJsonSchema(where_schema())] = Field(
        {}, description="Filters: each narrows what may be found."
    )

    def recall_request(self) -> RecallRequest:
        """The request for recall()."""
        return self.make_request(self.ids, parse_where(self.where))


class RecallQuery(RecallLimits):
    """The same as query parameters, with one for each filter; `type`, `tag` and `id` may be repeated."""

    id: list[str] = []
    type: list[_TypeWord] = []
    tag: list[str] = []
    scope: _ScopeWord | None = None
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.0
    min_importance: Annotated[int, Field(ge=0, le=10)] = 0
    thread: str = Field("", description="Only memories of the thread of this name.")
    source: str = Field("", description="Only memories from this source.")
    as_of: Timestamp | None = Field(None, description="What was true then.")
    known_at: Timestamp | None = Field(None, description="What Loci knew then.")
    after: Timestamp | None = None
    before: Timestamp | None = None
    include_orphans: bool = Field(
        False, description="Also memories of commits that the caller's branch does not contain."
    )

    def recall_request(self) -> RecallRequest:
        """The request for recall()."""
        named = type(self).model_fields.keys() & WHERE.keys() - {"scope"}
        narrowing = Narrowing(
            types=frozenset(self.type),
            scope=self.scope or "",
            tags=frozenset(tag.lower() for tag in self.tag),
            **{name: getattr(self, name) for name in named},
        )
        return self.make_request(self.id, narrowing)


class PageQuery(Body):
    """A page of a list."""

    cursor: str = ""
    limit: Limit = DEFAULT_LIMIT


class PastQuery(Body):
    """The point in time that a query refers to."""

    as_of: Timestamp | None = Field(None, description="What was true then.")
    known_at: Timestamp | None = Field(None, description="What Loci knew then; not in the future.")

    def narrowing(self) -> Narrowing:
        """The point in time as the services expect it."""
        return Narrowing(as_of=self.as_of, known_at=self.known_at)


class InspectQuery(PastQuery):
    """The version of a memory, and the query whose ranking is explained."""

    query: str = ""


class MemoryListQuery(PageQuery, PastQuery):
    """Filters of a list; `type`, `state`, `trust` and `tag` may be repeated (all tags must match)."""

    group: str | None = None
    type: list[_TypeWord] = []
    state: list[_StateWord] = Field(
        [], description="Default: live; with as_of or known_at also memories that are history by now."
    )
    trust: list[_TrustWord] = []
    tag: list[str] = []
    q: str = Field("", description="Part of the text.")
    summary: str = Field(
        "", description="Id of a summary: the events behind it. Without it or q they are not listed."
    )

    def list_filter(self) -> ListFilter:
        """The filter for list_memories()."""
        return ListFilter(
            group=self.group,
            types=tuple(self.type),
            states=tuple(self.state) or None,
            trusts=tuple(self.trust),
            tags=tuple(self.tag),
            words=self.q,
            as_of=self.as_of,
            known_at=self.known_at,
            summary=self.summary,
        )


class LogQuery(PageQuery):
    """Filters of the audit log."""

    group: str | None = None
    memory: str = Field("", description="Id of a memory.")
    operation: str = ""


class GroupPageQuery(PageQuery):
    """A page of a list for one group."""

    group: str | None = None


class RelationIn(Body):
    """Two things and the relation between them; each is a name or the id of a memory."""

    subject: str
    predicate: str
    object: str
    group: str | None = None
    evidence: list[str] = Field([], description="Ids of memories that support it.")
    confidence: Confidence = DEFAULT_CONFIDENCE
    valid_from: Timestamp | None = None
    valid_to: Timestamp | None = None

    def draft(self) -> RelationDraft:
        """The draft for store_relation()."""
        return RelationDraft(**self.model_dump(exclude={"evidence"}), evidence=tuple(self.evidence))


class WalkQuery(Body):
    """The start of a walk through relations, and its limits."""

    of: str = Field(description="Id of a memory, or name of an entity.")
    group: str | None = Field(None, description="The group in which the name is looked up.")
    depth: Annotated[int, Field(ge=1, le=4)] = 1
    limit: Limit = DEFAULT_LIMIT
    at: Timestamp | None = Field(None, description="What was true then; default: now.")


class GroupIn(Body):
    """A group to create."""

    slug: str
    title: str = ""
    private: StrictBool = False


class GroupEditIn(Body):
    """The fields of a group to change."""

    title: str | None = None
    instructions: str | None = None
    policy: _PolicyWord | None = None
    policy_confidence: Confidence | None = None
    archived: StrictBool | None = None
    default_scope: str | None = Field(
        None,
        description="Who sees a memory without a scope: group, by-type or global; empty: the instance's rule.",
    )
    captures: str | None = Field(
        None, description="Whether what hooks capture waits for a person (review) or counts at once (live)."
    )
    cleanup: str | None = Field(
        None,
        description="Whether what is not used for long becomes dormant (sleep) or is forgotten and later destroyed (delete).",
    )
    max_memories: int | None = Field(
        None,
        description="Most live memories; 0: the instance's limit. For an admin of all groups, like `max_bytes`.",
    )
    max_bytes: int | None = Field(None, description="Most bytes of the text of live memories.")
    guard: str | None = Field(
        None,
        description="Rules for sensitive text, such as 'personal=mask, injection=label', and words of the group's own that are masked, such as 'word=Aurora'; empty: the defaults.",
    )


class CheckpointIn(Body):
    """The state of some work: an object or a text."""

    group: str | None = None
    thread: str = ""
    state: dict[str, Any] | str


class CheckpointsQuery(PageQuery):
    """A page of the checkpoints of a group, or of one thread."""

    group: str | None = None
    thread: str | None = Field(None, description="Of this thread only; empty: of the group itself.")


class ContextQuery(PastQuery):
    """The group, topic, thread and length of a context pack."""

    group: str | None = None
    query: str = ""
    thread: str = Field(
        "", description="Thread whose checkpoint is included; default: the newest of the group."
    )
    token_budget: Annotated[int, Field(ge=MIN_TOKENS, le=MAX_TOKENS)] | None = None


class UndoWriteIn(Body):
    """The `undo` of the answer to a write."""

    undo: str


class MergeIn(VerbIn):
    """The memory that remains after a merge; `content` is its new text, empty to keep its own."""

    into: str = Field(description="Id of the memory that remains.")
    content: str = ""


class SupersedeIn(VerbIn):
    """The successor of a memory."""

    by: str = Field(description="Id of a current memory.")


class MoveIn(VerbIn):
    """The group that a memory is moved to."""

    to: str = Field(description="Name of the group.")


class PartMoveIn(VerbIn):
    """The group that gets a part of another group's memories, and which; without types, tags and sources all."""

    to: str = Field(description="Name of the group.")
    types: list[str] = Field(default=[], description="Of one of these types.")
    tags: list[str] = Field(default=[], description="With all of these tags.")
    sources: list[str] = Field(default=[], description="From one of these sources.")


class PartMoveUndoIn(Body):
    """The move to take back."""

    run: str = Field(description="`run` of the move's answer.")
    dry_run: StrictBool = False


class RetractIn(VerbIn):
    """Why a memory is withdrawn, and the correct statement."""

    successor: str = Field("", description="A text, or the id of a current memory; empty: none.")


class RunIn(Body):
    """A run to start now, or with `dry_run` to try on a copy of the store."""

    kind: Literal["cycle", "cleanup"] = "cycle"
    group: str | None = Field(None, description="Only this group; default: all groups.")
    dry_run: bool = False
    max_share: float | None = Field(
        None, ge=0, le=1, description="Share of a group's live memories that may be put away in seven days."
    )


class UndoIn(Body):
    """Options for the undo of a run."""

    dry_run: bool = False
    with_later: bool = Field(False, description="First undo later runs that touched the same memories.")
    force: bool = Field(False, description="Also restore fields that have changed since the run.")


class ArtifactsQuery(PageQuery):
    """Filters of the list."""

    group: str | None = None
    state: Annotated[str, word_schema(["", *ArtifactState.values])] = ""


class ArtifactIn(Body):
    """A file's text."""

    path: str = Field(description="Its name within its folder, such as docs/setup.md.")
    content: Annotated[str, Field(max_length=MAX_TEXT_BYTES)]
    group: str | None = None
    source: str = Field("", description="Name of the folder or repository; default: sent.")
    dry_run: StrictBool = False


class ProofIn(Body):
    """The memory that a chunk proves."""

    memory: str = Field(description="Id of a memory.")


class RecallsQuery(PageQuery):
    """Filters of the recall log."""

    question: str = Field("", description="Part of the question.")
    group: str | None = None
    since: Timestamp | None = Field(None, description="Asked then or later.")


class FeedbackIn(Body):
    """Ids of recalled memories by what became of them."""

    used: list[str] = Field([], description="They helped.")
    wrong: list[str] = Field([], description="They misled, or did not fit the question.")
    recall: str = Field(
        "",
        description="Id of the recall; default: the caller's newest of the last 24 hours that returned the memory.",
    )
