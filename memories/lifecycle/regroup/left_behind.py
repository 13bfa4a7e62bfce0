"""What moved memories left in their former group: it is counted, and purged with every copy of their texts there.

The memories themselves, in their new groups, stay as they are.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.utils.translation import gettext, ngettext

from access import audit
from access.actor import CURATE, Actor
from access.audit import Operation
from access.errors import NotFound
from access.groups import find_group, hold_groups
from access.models import AuditEntry, Group
from memories.draft import clean_reason
from memories.language.dress.quotes import Quotes
from memories.lifecycle.purge import WAL_IS_HELD, Because, Why, destroy
from memories.lifecycle.purge.places import find_recalls
from memories.lifecycle.purge.targets import PurgeTargets, texts_of
from memories.lifecycle.target import require_person
from memories.models import Checkpoint, Memory
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import parse_id
from memories.recall_log import COUNTER
from memories.search.schema import begin_purge, end_purge
from memories.store.places import find_copies
from storage.bulk import batches
from storage.changes import keeping_nothing
from storage.dialect import dialect

_MAX_QUOTED = 200  # texts looked for in checkpoints; each is a scan


@dataclass(frozen=True)
class LeftBehind:
    """What a purge of the traces of moved memories destroyed in their former group, or would; counts of rows.

    `memories` counts versions, `elsewhere` those that moved where the actor may not curate: nothing of them was touched.
    `others` counts rows of other kinds that quoted a text: names and titles, reasons, instructions, proposals.
    `remains` names where a text may still be: nothing is promised about that.
    """

    group: str
    memories: int
    log_payloads: int
    recalls: int
    checkpoints: int
    remains: tuple[str, ...] = ()
    elsewhere: int = 0
    dry_run: bool = False
    others: int = 0


def has_moved_away(group: Group) -> bool:
    """True if the group's log says that a memory or a conversation was moved to another group."""
    rows = AuditEntry.objects.filter(origin=audit.OWN, group=group.id)
    memories = Q(operation=Operation.MOVE, payload_row__payload__has_key="moved_to")
    conversations = Q(operation=Operation.THREAD, payload_row__payload__moved__0=group.slug)
    return rows.filter(memories | conversations).exists()


def purge_left_behind(
    actor: Actor, slug: str, *, memory: str = "", reason: str = "", dry_run: bool = False
) -> LeftBehind:
    """Destroy what memories that moved away left in a group: log payloads, logged recalls, quotes in checkpoints.

    It cannot be undone; a dry run counts and rolls back.
    `memory`: the id of one of them; empty: all that left, as far as the actor may curate where they are now.

    Raises:
        GroupNotFound, NotPermitted: the actor is an agent, or may not curate the group.
        NotFound: that memory did not move from the group, or is where the actor may not curate.
    """
    group = find_group(actor, slug, right=CURATE)
    require_person(actor, "purge what is left of")
    with suppress(DatabaseError):
        COUNTER.flush()  # recalls that wait to be logged
    known, _ = _find_moved(actor, group, memory)
    # Reading the whole log takes seconds, so do it before the write lock; later rows are read under the lock.
    recalls = find_recalls({row.key for row in known}, group=group)
    begin_purge(connection)
    with keeping_nothing(), transaction.atomic():
        hold_groups([group.key])
        rows, elsewhere = _find_moved(actor, group, memory)
        recalls = recalls if {row.key for row in rows} == {row.key for row in known} else ([], 0)
        because = Because(Why.MOVED, clean_reason(reason), group)
        done = destroy(actor, PurgeTargets(tuple(rows)), because, recalls=recalls).certificate
        remains = find_copies(actor, replace(texts_of(rows), within=group.key))
        transaction.set_rollback(dry_run)
    if done.log_payloads or done.recall_logs or done.recalls_blanked or any(done.cleared.values()):
        remains += dialect().purge_leaves
    # Not after a dry run: emptying the write-ahead log waits for readers.
    if not dry_run and connection.in_atomic_block:
        transaction.on_commit(lambda: end_purge(connection))
    elif not dry_run and not end_purge(connection):
        remains += (WAL_IS_HELD,)
    checkpoints = done.cleared.pop("checkpoints", 0)
    return LeftBehind(
        group.slug, len(rows), done.log_payloads, done.recall_logs + done.recalls_blanked, checkpoints, remains,
        elsewhere, dry_run, others=sum(done.cleared.values()),
    )  # fmt: skip


def _find_moved(actor: Actor, group: Group, memory: str) -> tuple[list[Memory], int]:
    """The memories that moved away and did not come back, all versions, and how many the actor may not touch."""
    moves = AuditEntry.objects.filter(origin=audit.OWN, operation=Operation.MOVE).exclude(memory_id=None)
    # The move of a conversation is logged where its turns came to.
    left = moves.filter(Q(group=group.id) | Q(payload_row__payload__changes__group__0=group.slug))
    ids = {id_ for id_ in left.values_list("memory_id", flat=True) if id_ is not None}
    away = Memory.objects.exclude(group=group).select_related(*RELATED_ROWS)
    found = [row for some in batches(ids) for row in away.filter(id__in=some)]
    mine = [row for row in found if actor.may(CURATE, row.group_id)]
    if not memory:
        return mine, len(found) - len(mine)
    wanted = parse_id(memory, field="memory")
    roots = {row.root_key for row in mine if row.id == wanted}
    chosen = [row for row in mine if row.root_key in roots]
    if not chosen:
        line = gettext("No memory of that id moved away from '{group}'.").format(group=group.slug)
        hint = gettext("You need the role curator in both groups.")
        raise NotFound(line, hint=hint, field="memory")
    return chosen, 0


def describe_traces(rows: Sequence[Memory], group: Group) -> str:
    """What names the rows, or quotes their texts, in a group, in one line; empty if nothing does. Reads its whole recall log."""
    ids, keys = [row.id for row in rows], {row.key for row in rows}
    entries = AuditEntry.objects.filter(group=group.id)
    logged = sum(entries.filter(memory_id__in=some).count() for some in batches(ids))
    recalls = len(find_recalls(keys, group=group)[0])
    texts = tuple(dict.fromkeys((*(row.content for row in rows), *map(str, ids))))
    quoting, checkpoints = 0, gettext("checkpoints (not counted)")
    if len(texts) <= _MAX_QUOTED:
        quoting = len(Quotes(texts).rows(Checkpoint.objects.filter(group=group), "state"))
        checkpoints = ngettext("{count} checkpoint", "{count} checkpoints", quoting).format(count=quoting)
    if not (logged or recalls or quoting):
        return ""
    parts = [
        ngettext("{count} log row", "{count} log rows", logged).format(count=logged),
        ngettext("{count} logged recall", "{count} logged recalls", recalls).format(count=recalls),
        checkpoints,
    ]
    return gettext(
        "'{group}' keeps naming it in {parts}: purge what stayed behind there, on the group's page or with 'loci group purge-left-behind'"
    ).format(group=group.slug, parts=gettext(", ").join(parts))
