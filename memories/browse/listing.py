"""Lists in pages: newest first, each page found by the key before it, never counted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from access.actor import ADMIN, Actor
from access.answers import Answer, Json, ShownAs
from access.audit.operations import Operation
from access.audit_search import LogFilter, find_log_entries
from access.groups import EVERYONE, find_group
from access.groups.guarding import safe_for_agents, without_words
from access.models import AuditEntry, Group
from access.models.audit import LEGACY
from access.visibility import Narrowing, check_may_read
from memories.browse.serializers import WITHHELD
from memories.draft import check_choice
from memories.language.cleaning import clean_line
from memories.models import REVIEWED_KINDS, Link, LinkStatus, Memory
from memories.queries.labels import is_doubted, read_doubts
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of
from memories.queries.versions import full_id
from memories.queries.visibility import EVERY_TRUST, as_q, listed_by, outlasting_q
from memories.types import HISTORY_STATES, Scope, State, Trust, Type

_MAX_WORDS_CHARS = 500
DISPUTED = "disputed"  # as a filter by trust: those with an open doubt, of the other trusts named or of any
TRUST_FILTERS = [*Trust.values, DISPUTED]
ALL_STATES = "all"  # in place of states


@dataclass(frozen=True)
class ListFilter:
    """Filters of a list of memories; empty ones do not narrow. `words` is a part of the text.

    `states` None: live memories without the events behind summaries, and for a moment in the past also those that became
    history since. `summary` is the id of a summary, whose events are listed instead.
    """

    group: str | None = None
    types: tuple[str, ...] = ()
    states: tuple[str, ...] | None = None
    trusts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    words: str = ""
    as_of: datetime | None = None
    known_at: datetime | None = None
    summary: str = ""
    author: int | None = None  # key of the user who wrote it, directly or by a token

    def wanted_states(self) -> frozenset[str]:
        """The states to list; empty for all."""
        if self.states is not None:
            return frozenset(() if ALL_STATES in self.states else self.states)
        is_history = self.as_of is not None or self.known_at is not None
        return frozenset({State.LIVE}) | (HISTORY_STATES if is_history else frozenset())


def list_memories(
    actor: Actor, filters: ListFilter, *, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Memory]:
    """A page of the memories of one group and of `everyone`, or of all visible to the actor with the global ones.

    Newest first.

    Raises:
        InvalidInput: a filter, a moment, the cursor or the limit is not allowed.
        GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    for type_ in filters.types:
        check_choice(type_, Type.values, field="type")
    for state in filters.states or ():
        check_choice(state, [*State.values, ALL_STATES], field="state")
    for trust in filters.trusts:
        check_choice(trust, TRUST_FILTERS, field="trust")
    tags = frozenset(clean_line(tag, field="tag", max_chars=100).lower() for tag in filters.tags)
    words = clean_line(filters.words, field="q", max_chars=_MAX_WORDS_CHARS)
    found_group = find_group(actor, filters.group) if filters.group else None
    narrowing = Narrowing(
        types=frozenset(filters.types), tags=tags, as_of=filters.as_of, known_at=filters.known_at
    )
    trusts = frozenset(filters.trusts) & EVERY_TRUST or EVERY_TRUST
    visibility = listed_by(actor, found_group, narrowing=narrowing, trusts=trusts)
    rows = (
        Memory.objects.filter(as_q(visibility)).select_related("group", "thread").prefetch_related("summary")
    )
    if DISPUTED in filters.trusts:
        rows = rows.filter(is_doubted())
    states = filters.wanted_states()
    if states:
        # Not by the Visibility: a list of live memories includes those that ended or expired since, and labels them.
        is_wanted = Q(state__in=states)
        if filters.states is None:
            then = visibility.shown_then
            is_wanted |= Q(key__in=then) if visibility.is_history else outlasting_q(visibility.now)
        rows = rows.filter(is_wanted)
    if filters.summary:
        rows = rows.filter(summary__id=full_id(actor, filters.summary, field="summary"))
    elif filters.states is None and not words:
        rows = rows.filter(summary=None)
    if found_group is not None:  # and of the group that is read together with each
        everyone = Group.objects.filter(slug=EVERYONE).order_by().values("key")
        rows = rows.filter(Q(group=found_group) | Q(group__in=everyone, scope=Scope.GLOBAL))
    if words:
        rows = rows.filter(content__icontains=words)
    if filters.author is not None:
        rows = rows.filter(author=filters.author)
    page = page_of(rows, cursor=cursor, limit=limit)
    read_doubts(page.rows)
    return page


def list_log(
    actor: Actor,
    *,
    group: str | None = None,
    memory: str = "",
    operation: str = "",
    cursor: str = "",
    limit: int = DEFAULT_LIMIT,
) -> Page[AuditEntry]:
    """A page of this store's audit log, newest first: everything for a superuser, else the actor's groups.

    Raises:
        InvalidInput: a filter, the cursor or the limit is not allowed.
        GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    check_may_read(actor)
    if operation:
        check_choice(operation, Operation.values, field="operation")
    memories = (full_id(actor, memory, field="memory"),) if memory else ()
    wanted = LogFilter(memories=memories, group=group or "", operation=operation)
    page = page_of(find_log_entries(actor, wanted), cursor=cursor, limit=limit)
    if not actor.is_person:
        _withhold_quarantined(page.rows)
    return page


def _withhold_quarantined(entries: Sequence[AuditEntry]) -> None:
    """Take what the entries quote about memories with a quarantined version: a snapshot, or a reason, has its text."""
    ids = {entry.memory_id for entry in entries if entry.memory_id is not None}
    roots = {row.id: row.root_key for row in Memory.objects.filter(id__in=ids).only("id", "root")}
    hidden = quarantined_chains(roots.values())
    for entry in entries:
        is_hidden = entry.memory_id is not None and roots.get(entry.memory_id) in hidden
        if is_hidden and hasattr(entry, "payload_row"):
            entry.payload_row.payload = {"withheld": WITHHELD}


def quarantined_chains(roots: Collection[int]) -> set[int]:
    """Those of the roots whose chain has a quarantined version."""
    chains = Q(root__in=roots) | Q(key__in=roots)
    return {row.root_key for row in Memory.objects.filter(chains, trust=Trust.QUARANTINED).only("root")}


def list_candidates(
    actor: Actor, *, group: str | None = None, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Memory]:
    """A page of the live candidates that wait for review, in one group or in all that the actor may enter."""
    rows = Memory.objects.filter(in_groups(actor, group, "group"), state=State.LIVE, trust=Trust.CANDIDATE)
    return page_of(rows.select_related("group", "thread"), cursor=cursor, limit=limit)


def list_open_links(
    actor: Actor, *, group: str | None = None, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Link]:
    """A page of the open possible duplicates and conflicts between memories that both count and are visible.

    If one end was retracted or merged since, nothing is left to decide.
    """
    ends = Memory.objects.filter(as_q(listed_by(actor, None))).values("key")
    here = in_groups(actor, group, "source__group")
    rows = Link.objects.filter(here, status=LinkStatus.OPEN, kind__in=REVIEWED_KINDS)
    if not actor.all_groups:
        rows = rows.filter(source__in=ends, target__in=ends)
    rows = rows.filter(_has_live_version("source"), _has_live_version("target"))
    rows = rows.select_related("source__group", "source__thread", "target__group", "target__thread")
    return page_of(rows, cursor=cursor, limit=limit)


def _has_live_version(end: str) -> Exists:
    """SQL condition: the chain at this end of a link has a live version."""
    chain = Q(pk=OuterRef(end)) | Q(root=OuterRef(end))
    return Exists(Memory.objects.filter(chain, state=State.LIVE))


def _payload(entry: AuditEntry, is_person: bool) -> Any:
    """What was written; None if a purge destroyed it. For agents without secrets and instructions: it quotes texts that
    wait for a person, too.
    """
    payload = entry.payload_row.payload if hasattr(entry, "payload_row") else None
    return payload if is_person else safe_for_agents(payload)


class LogRowOut(Answer):
    """A row of the audit log; `payload` is null if a purge deleted it."""

    chain: Annotated[
        str,
        ShownAs(
            lambda entry, _: entry.chain or LEGACY,
            about="The group's id, `instance` for rows about no group, `heads`, or `legacy` for rows written before "
            "each group had its own chain.",
        ),
    ]
    seq: Annotated[int, ShownAs(about="The row's number in its chain.")]
    at: datetime
    operation: str
    memory: Annotated[UUID | None, ShownAs("memory_id")]
    subject: str
    actor: str
    via: str
    client: str
    run: UUID | None
    hash: str
    payload: Annotated[dict[str, Any] | None, ShownAs(_payload)]


def in_groups(actor: Actor, group: str | None, column: str) -> Q:
    """Condition: `column` is the named group, or one that the actor may enter. Raises NotPermitted without READ."""
    check_may_read(actor)
    if group:
        return Q(**{column: find_group(actor, group)})
    return Q() if actor.all_groups else Q(**{f"{column}__in": list(actor.roles)})


class GroupOut(Answer):
    """A group."""

    id: UUID
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
    max_memories: Annotated[int, ShownAs(about="Most live memories; 0: the instance's limit.")]
    max_bytes: Annotated[int, ShownAs(about="Most bytes of their text; 0: the instance's limit.")]
    guard: Annotated[str, ShownAs(lambda group, _: without_words(group.guard))]
    created_at: datetime
    created_by: str


def group_json(actor: Actor, group: Group) -> Json:
    """A group as JSON values; only its admins see the words that it masks."""
    shown = GroupOut.json(group)
    return shown | {"guard": group.guard} if actor.may(ADMIN, group.key) else shown
