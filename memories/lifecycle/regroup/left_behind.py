"""Purging what moved memories left in their former group: payloads of its log, logged recalls, quotes in checkpoints.

The memories themselves, in their new groups, stay as they are.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_noop

from access import audit
from access.actor import CURATE, Actor
from access.audit import AuditEvent, Operation
from access.errors import NotFound
from access.groups import find_group
from access.groups.locks import hold_groups
from access.groups.moving import LeftBehind
from access.models import AuditEntry, AuditPayload, Group
from memories.draft import clean_reason
from memories.lifecycle.purge import (
    WAL_IS_HELD,
    LoggedRecalls,
    find_logged_recalls,
    in_batches,
    purge_recall_log,
)
from memories.lifecycle.regroup.families import chunks
from memories.lifecycle.target import require_person
from memories.models import Checkpoint, Memory, Proposal, RecallLog, Thread, Tombstone
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import parse_id
from memories.recall.recall_log import COUNTER, pack_hits, unpack_hits
from memories.search.schema import begin_purge, end_purge
from memories.store.purge_hooks import REDACTION, redact, rows_quoting
from storage.dialect import dialect

KEPT = (Operation.MOVE, Operation.CLEAR)  # of these rows, the payload says no more than where and why
TEXTS_AT_ONCE = 20  # each is a scan of the group's rows


def purge_left_behind(
    actor: Actor, slug: str, memory: str = "", reason: str = "", dry_run: bool = False
) -> LeftBehind:
    """Destroy what memories that moved away left in a group. It cannot be undone; a dry run counts and rolls back.

    `memory`: the id of one of them; empty: all that left, as far as the actor may curate where they are now.

    Raises:
        GroupNotFound, NotPermitted: the actor is an agent, or may not curate the group.
        NotFound: that memory did not move from the group, or is where the actor may not curate.
    """
    group = find_group(actor, slug, right=CURATE)
    require_person(actor, "purge what is left of")
    with suppress(DatabaseError):
        COUNTER.flush()  # recalls that wait to be logged
    known, _ = find_moved(actor, group, memory)
    # Folding the whole log takes seconds, so do it before the write lock; later rows are folded under the lock.
    logged = find_logged_recalls(known, group=group)
    begin_purge(connection)
    with transaction.atomic():
        hold_groups([group.key])
        rows, elsewhere = find_moved(actor, group, memory)
        if {row.key for row in rows} != {row.key for row in known}:
            logged = LoggedRecalls()
        texts = tuple(dict.fromkeys(row.content for row in rows))
        reason = redact(clean_reason(reason), texts)
        payloads = purge_payloads(rows, texts, group)
        recalls = purge_recalls(rows, logged, find_logged_recalls(rows, after=logged.last, group=group))
        checkpoints = redact_checkpoints(texts, group)
        if payloads or recalls or checkpoints:
            because = {"reason": reason} if reason else {}
            audit.append_many(
                actor, [AuditEvent(Operation.CLEAR, row.id, group.id, payload=because) for row in rows]
            )
        remains = find_remains(texts, group)
        transaction.set_rollback(dry_run)
    if payloads or recalls or checkpoints:
        remains += dialect().purge_leaves
    # Not after a dry run: emptying the write-ahead log waits for readers.
    if not dry_run and connection.in_atomic_block:
        transaction.on_commit(lambda: end_purge(connection))
    elif not dry_run and not end_purge(connection):
        remains += (WAL_IS_HELD,)
    return LeftBehind(group.slug, len(rows), payloads, recalls, checkpoints, remains, elsewhere, dry_run)


def find_moved(actor: Actor, group: Group, memory: str) -> tuple[list[Memory], int]:
    """The memories that moved away and did not come back, all versions, and how many the actor may not touch."""
    moves = AuditEntry.objects.filter(origin=audit.OWN, operation=Operation.MOVE).exclude(memory_id=None)
    # The move of a conversation is logged where its turns came to.
    left = moves.filter(Q(group=group.id) | Q(payload_row__payload__changes__group__0=group.slug))
    ids = {id_ for id_ in left.values_list("memory_id", flat=True) if id_ is not None}
    found = [
        row
        for some in chunks(ids)
        for row in Memory.objects.filter(id__in=some).exclude(group=group).select_related(*RELATED_ROWS)
    ]
    mine = [row for row in found if actor.may(CURATE, row.group_id)]
    if not memory:
        return mine, len(found) - len(mine)
    wanted = parse_id(memory, field="memory")
    roots = {row.root_key for row in mine if row.id == wanted}
    chosen = [row for row in mine if row.root_key in roots]
    if not chosen:
        raise NotFound(
            gettext("No memory of that id moved away from '{group}'.").format(group=group.slug),
            hint=gettext("You need the role curator in both groups."),
            field="memory",
        )
    return chosen, 0


def purge_payloads(rows: Sequence[Memory], texts: tuple[str, ...], group: Group) -> int:
    """Delete what the group's log holds about the memories; the rows stay, and that they moved.

    Returns how many payloads went.
    """
    gone = 0
    for some in chunks([row.id for row in rows]):
        own = AuditPayload.objects.filter(entry__group=group.id, entry__memory_id__in=some)
        gone += own.exclude(entry__operation__in=KEPT).delete()[0]
        for part in chunks(texts, TEXTS_AT_ONCE):  # the reason of a move may quote a text
            quoting = rows_quoting(own, "payload", tuple(part)).values_list("pk", flat=True)
            gone += AuditPayload.objects.filter(pk__in=list(quoting)).delete()[0]
    return gone


def purge_recalls(rows: Sequence[Memory], *logged: LoggedRecalls) -> int:
    """Delete the logged recalls whose questions quote a text; blank those that found a memory, and that they found it.

    Returns how many recalls that were.
    """
    keys, blanked = {row.key for row in rows}, 0
    for some in in_batches(logged, "finding"):
        finding = list(RecallLog.objects.filter(pk__in=some).only("pk", "query", "hits"))
        for recall in finding:
            hits = [hit for hit in unpack_hits(bytes(recall.hits)) if hit[0] not in keys]
            recall.query, recall.hits = REDACTION, pack_hits(hits)
        blanked += RecallLog.objects.bulk_update(finding, ["query", "hits"], batch_size=200)
    return purge_recall_log(*logged) + blanked


def redact_checkpoints(texts: tuple[str, ...], group: Group) -> int:
    """Redact the texts in the group's checkpoints; returns how many changed."""
    changed = set[int]()
    for some in chunks(texts, TEXTS_AT_ONCE):
        quotes = list(rows_quoting(Checkpoint.objects.filter(group=group), "state", tuple(some)))
        for checkpoint in quotes:
            checkpoint.state = redact(checkpoint.state, tuple(some))
        Checkpoint.objects.bulk_update(quotes, ["state"], batch_size=200)
        changed |= {checkpoint.pk for checkpoint in quotes}
    return len(changed)


def find_remains(texts: tuple[str, ...], group: Group) -> tuple[str, ...]:
    """A line for each kind of row of the group that still contains one of the texts letter by letter."""
    places = (
        (
            AuditPayload.objects.filter(entry__group=group.id),
            "payload",
            gettext_noop("log rows about others: {count}"),
        ),
        (Memory.objects.filter(group=group), "content", gettext_noop("other memories: {count}")),
        (Memory.objects.filter(group=group), "metadata", gettext_noop("metadata of memories: {count}")),
        (Checkpoint.objects.filter(group=group), "state", gettext_noop("checkpoints: {count}")),
        (Proposal.objects.filter(group=group), "arguments", gettext_noop("proposals: {count}")),
        (Proposal.objects.filter(group=group), "reason", gettext_noop("reasons of proposals: {count}")),
        (Tombstone.objects.filter(group=group), "reason", gettext_noop("reasons of tombstones: {count}")),
        (Thread.objects.filter(group=group), "name", gettext_noop("names of threads: {count}")),
        (Thread.objects.filter(group=group), "title", gettext_noop("titles of threads: {count}")),
        (Group.objects.filter(pk=group.pk), "instructions", gettext_noop("instructions: {count}")),
    )
    lines = list[str]()
    rows: QuerySet[Any]
    for rows, column, line in places:
        quoting: set[int] = set()
        for some in chunks(texts, TEXTS_AT_ONCE):
            quoting |= set(rows_quoting(rows, column, tuple(some)).values_list("pk", flat=True))
        if quoting:
            lines.append(gettext(line).format(count=len(quoting)))
    return tuple(lines)
