"""Purging what moved memories left in their former group: payloads of its log, logged recalls, quotes in checkpoints.

The memories themselves, in their new groups, stay as they are.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_noop, ngettext

from access import audit
from access.actor import CURATE, Actor
from access.audit import AuditEvent, Operation
from access.errors import NotFound
from access.groups import find_group
from access.groups.locks import hold_groups
from access.groups.moving import LeftBehind
from access.models import AuditEntry, AuditPayload, Group
from memories.draft import clean_reason
from memories.language.cleaning import fold
from memories.lifecycle.regroup.families import chunks
from memories.lifecycle.target import require_person
from memories.models import Checkpoint, Memory, Proposal, RecallLog
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import parse_id
from memories.recall.recall_log import COUNTER, pack_hits, unpack_hits
from memories.search.schema import begin_purge, end_purge
from memories.store.purge_hooks import REDACTION, redact, rows_quoting

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
    begin_purge(connection)
    with transaction.atomic():
        hold_groups([group.key])
        rows, elsewhere = find_moved(actor, group, memory)
        texts = tuple(dict.fromkeys(row.content for row in rows))
        reason = redact(clean_reason(reason), texts)
        payloads = purge_payloads(rows, texts, group)
        recalls = purge_recalls(rows, texts, group)
        checkpoints = redact_checkpoints(texts, group)
        if (payloads or recalls or checkpoints) and not dry_run:  # once more would log the same again
            because = {"reason": reason} if reason else {}
            audit.append_many(
                actor, [AuditEvent(Operation.CLEAR, row.id, group.id, payload=because) for row in rows]
            )
        remains = (*find_remains(texts, group), *elsewhere_line(elsewhere))
        transaction.set_rollback(dry_run)
    if connection.in_atomic_block:
        transaction.on_commit(lambda: end_purge(connection))
    else:
        end_purge(connection)
    return LeftBehind(group.slug, len(rows), payloads, recalls, checkpoints, remains, dry_run)


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


def purge_recalls(rows: Sequence[Memory], texts: tuple[str, ...], group: Group) -> int:
    """Delete the group's logged recalls whose questions quote a text; blank those that found a memory.

    Returns how many recalls that were.
    """
    keys, folded = {row.key for row in rows}, [fold(text) for text in texts]
    quoting, finding = list[int](), list[RecallLog]()
    logged = RecallLog.objects.filter(group=group).only("pk", "query", "hits").order_by("pk")
    for recall in logged.iterator(chunk_size=2000):
        question, hits = fold(recall.query), unpack_hits(bytes(recall.hits))
        if any(text in question for text in folded):
            quoting.append(recall.pk)
        elif any(key in keys for key, _ in hits):
            recall.query, recall.hits = REDACTION, pack_hits([hit for hit in hits if hit[0] not in keys])
            finding.append(recall)
    for some in chunks(quoting):
        RecallLog.objects.filter(pk__in=some).delete()
    RecallLog.objects.bulk_update(finding, ["query", "hits"], batch_size=200)
    return len(quoting) + len(finding)


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
        (Checkpoint.objects.filter(group=group), "state", gettext_noop("checkpoints: {count}")),
        (Proposal.objects.filter(group=group), "arguments", gettext_noop("proposals: {count}")),
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


def elsewhere_line(count: int) -> tuple[str, ...]:
    """The line about memories that the actor may not touch; none if there are none."""
    line = ngettext(
        "{count} more moved where you may not curate",
        "{count} more moved where you may not curate",
        count,
    )
    return (line.format(count=count),) if count else ()
