"""Lists, page by page: newest first, each page found by the key it begins after, never counted."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from access.actor import READ, Actor
from access.audit.operations import Operation
from access.errors import NotPermitted
from access.groups import find_group
from access.models import AuditEntry, Group
from access.visibility import Narrowing
from memories.draft import check_choice
from memories.language.cleaning import clean_line
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of
from memories.queries.versions import find_memory, parse_id, versions_of
from memories.queries.visibility import EVERY_TRUST, as_q, listed_by
from memories.types import HISTORY_STATES, State, Trust, Type

MAX_WORDS_CHARS = 500
REVIEWED = (LinkKind.DUPLICATE, LinkKind.CONFLICT)


@dataclass(frozen=True)
class ListFilter:
    """Which memories a list is to show; everything left empty does not narrow. `words` is a part of the text.

    `states` None: what is live, and for a question about the past also what has become history since.
    """

    group: str | None = None
    types: tuple[str, ...] = ()
    states: tuple[str, ...] | None = None
    trusts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    words: str = ""
    as_of: datetime | None = None
    known_at: datetime | None = None
    author: int | None = None  # the key of the user who wrote it, or whose token did

    def wanted_states(self) -> frozenset[str]:
        """Give the states to be shown; none for all."""
        if self.states is not None:
            return frozenset(self.states)
        is_history = self.as_of is not None or self.known_at is not None
        return frozenset({State.LIVE}) | (HISTORY_STATES if is_history else frozenset())


def list_memories(
    actor: Actor, listed: ListFilter, *, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Memory]:
    """List memories of one group, or of all that the actor may see with the global ones, newest first.

    Raises:
        InvalidInput: a filter, a moment, the cursor or the limit is not allowed.
        GroupNotFound, NotPermitted: the group is at fault.
    """
    for type_ in listed.types:
        check_choice(type_, Type.values, field="type")
    for state in listed.states or ():
        check_choice(state, State.values, field="state")
    for trust in listed.trusts:
        check_choice(trust, Trust.values, field="trust")
    tags = frozenset(clean_line(tag, field="tag", max_chars=100).lower() for tag in listed.tags)
    words = clean_line(listed.words, field="q", max_chars=MAX_WORDS_CHARS)
    room = find_group(actor, listed.group) if listed.group else None
    visibility = listed_by(
        actor,
        room,
        narrowing=Narrowing(
            types=frozenset(listed.types), tags=tags, as_of=listed.as_of, known_at=listed.known_at
        ),
        trusts=frozenset(listed.trusts) or EVERY_TRUST,
    )
    rows = Memory.objects.filter(as_q(visibility)).select_related("group", "thread")
    states = listed.wanted_states()
    if states:
        # Not by the Visibility: a list of what is live also shows what has ended or expired since.
        rows = rows.filter(state__in=states)
    if room is not None:
        rows = rows.filter(group=room)
    if words:
        rows = rows.filter(content__icontains=words)
    if listed.author is not None:
        rows = rows.filter(author=listed.author)
    return page_of(rows, cursor=cursor, limit=limit)


def visible_versions(actor: Actor, id_: str | UUID) -> list[Memory]:
    """Give the versions of a memory that the actor may see, oldest first.

    Raises:
        NotFound: there is no such memory that the actor may see.
    """
    chain = versions_of(find_memory(actor, id_))
    seen = Memory.objects.filter(as_q(listed_by(actor, None)), key__in=[row.key for row in chain])
    keys = set(seen.values_list("key", flat=True))
    return [row for row in chain if row.key in keys]


def list_log(
    actor: Actor,
    *,
    group: str | None = None,
    memory: str = "",
    operation: str = "",
    cursor: str = "",
    limit: int = DEFAULT_LIMIT,
) -> Page[AuditEntry]:
    """List this store's audit log, newest first: all of it for a superuser, else what was done in the groups
    that the actor may enter.

    Raises:
        InvalidInput: a filter, the cursor or the limit is not allowed.
        GroupNotFound, NotPermitted: the group is at fault.
    """
    _must_read(actor)
    rows = AuditEntry.objects.filter(origin="").select_related("payload_row")
    if operation:
        check_choice(operation, Operation.values, field="operation")
        rows = rows.filter(operation=operation)
    if memory:
        rows = rows.filter(memory_id=parse_id(memory, field="memory"))
    room = find_group(actor, group) if group else None
    if room is not None:
        rows = rows.filter(group=room.id)
    elif not actor.all_groups:
        rows = rows.filter(
            group__in=list(Group.objects.filter(key__in=actor.roles).values_list("id", flat=True))
        )
    return page_of(rows, cursor=cursor, limit=limit)


def list_candidates(
    actor: Actor, *, group: str | None = None, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Memory]:
    """List the live memories that wait for a person, in one group or in all that the actor may enter."""
    rows = Memory.objects.filter(_in_rooms(actor, group, "group"), state=State.LIVE, trust=Trust.CANDIDATE)
    return page_of(rows.select_related("group", "thread"), cursor=cursor, limit=limit)


def list_open_links(
    actor: Actor, *, group: str | None = None, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Link]:
    """List the possible duplicates and conflicts that nobody has settled, between memories that both count.

    Both ends are the actor's to see. Where one was retracted or merged since, there is nothing to decide any more.
    """
    ends = Memory.objects.filter(as_q(listed_by(actor, None))).values("key")
    rows = Link.objects.filter(
        _in_rooms(actor, group, "source__group"), status=LinkStatus.OPEN, kind__in=REVIEWED
    )
    if not actor.all_groups:
        rows = rows.filter(source__in=ends, target__in=ends)
    rows = rows.filter(_counts("source"), _counts("target"))
    rows = rows.select_related("source__group", "source__thread", "target__group", "target__thread")
    return page_of(rows, cursor=cursor, limit=limit)


def _counts(end: str) -> Exists:
    """Render whether a version of the chain at this end of a link is live."""
    chain = Q(pk=OuterRef(end)) | Q(root=OuterRef(end))
    return Exists(Memory.objects.filter(chain, state=State.LIVE))


def log_json(entry: AuditEntry) -> dict[str, Any]:
    """Give a row of the log as JSON values; `payload` is None where a purge deleted what the row said."""
    said = entry.payload_row.payload if hasattr(entry, "payload_row") else None
    return {
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "operation": entry.operation,
        "memory": str(entry.memory_id) if entry.memory_id else None,
        "subject": entry.subject,
        "actor": entry.actor,
        "via": entry.via,
        "client": entry.client,
        "run": str(entry.run) if entry.run else None,
        "hash": entry.hash,
        "payload": said,
    }


def _in_rooms(actor: Actor, group: str | None, column: str) -> Q:
    _must_read(actor)
    if group:
        return Q(**{column: find_group(actor, group)})
    return Q() if actor.all_groups else Q(**{f"{column}__in": list(actor.roles)})


def _must_read(actor: Actor) -> None:
    if not actor.may(READ):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")


def group_json(group: Group) -> dict[str, Any]:
    """Give a group as JSON values."""
    return {
        "id": str(group.id),
        "slug": group.slug,
        "title": group.title,
        "instructions": group.instructions,
        "policy": group.policy,
        "policy_confidence": group.policy_confidence,
        "private": group.private,
        "archived": group.archived,
        "created_at": _iso(group.created_at),
        "created_by": group.created_by,
    }


def _iso(moment: datetime) -> str:
    return moment.isoformat()
