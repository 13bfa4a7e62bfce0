"""Destroying a memory and everything that was made from its text, with a certificate of what was looked at."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.errors import NotPermitted
from access.models import AuditPayload
from memories.chains import versions_of
from memories.context import neighbours_of, refresh_around
from memories.index.schema import begin_purge, end_purge
from memories.models import Link, Memory, Piece, RecallLog, Tombstone, TombstoneKind
from memories.recall.counting import COUNTER
from memories.text import fold
from memories.tombstones import lay_tombstone
from memories.types import Operation, State


@dataclass(frozen=True)
class Certificate:
    """What a purge destroyed and checked; counts of rows."""

    at: datetime
    ids: tuple[UUID, ...]
    memories: int
    pieces: int
    links: int
    log_payloads: int
    recall_logs: int


def purge_rows(actor: Actor, memory: Memory, *, reason: str) -> Certificate:
    """Destroy all versions of a memory and what holds their text; one transaction.

    The audit rows stay, without what they said; a tombstone per text keeps it from coming back.
    """
    # Recalls that wait to be logged may hold the text. Where they cannot be written they are dropped, which does it too.
    with suppress(DatabaseError):
        COUNTER.flush()
    begin_purge(connection)
    with transaction.atomic():
        transaction.on_commit(lambda: end_purge(connection))
        chain = _with_wordings(versions_of(memory))
        _check_rights(actor, chain)
        ids = [row.id for row in chain]
        keys = [row.key for row in chain]
        around = [near for row in chain for near in neighbours_of(row) if near.key not in keys]
        for row in chain:
            mark = lay_tombstone(actor, row, kind=TombstoneKind.PURGED, reason=reason)
            # One that a retraction left may quote the text in its reason.
            Tombstone.objects.filter(pk=mark.pk).update(kind=TombstoneKind.PURGED, reason=reason)
        payloads, _ = AuditPayload.objects.filter(entry__memory_id__in=ids).delete()
        recalls = _purge_recall_log([row.content for row in chain])
        links = Link.objects.filter(Q(source__in=keys) | Q(target__in=keys)).count()
        pieces = Piece.objects.filter(memory__in=keys).count()
        Memory.objects.filter(key__in=keys).update(superseded_by=None)
        # Versions point to their root, which may not go first.
        Memory.objects.filter(key__in=keys, root__isnull=False).delete()
        Memory.objects.filter(key__in=keys).delete()
        refresh_around(list(Memory.objects.filter(key__in=[near.key for near in around])))
        for id_ in ids:
            audit.append(actor, Operation.PURGE, memory_id=id_, group=memory.group.id, payload={"reason": reason})
    return Certificate(timezone.now(), tuple(ids), len(ids), pieces, links, payloads, recalls)


def _check_rights(actor: Actor, chain: list[Memory]) -> None:
    """Raise NotPermitted where a version stands in a group that the actor may not curate."""
    for row in chain:
        if not actor.may(CURATE, row.group_id):
            raise NotPermitted(
                "Part of this memory stands in a group that you may not curate.", hint="Ask a curator there."
            )


def _with_wordings(chain: list[Memory]) -> list[Memory]:
    """Add what went into any version, with its own versions: other wordings, and chains that it took the place of."""
    found = {row.key: row for row in chain}
    fresh = list(found)
    while fresh:
        roots = {found[key].root_key for key in fresh}
        went_in = Q(superseded_by__in=fresh, state__in=[State.MERGED, State.SUPERSEDED])
        rows = Memory.objects.filter(went_in | Q(root__in=roots) | Q(key__in=roots)).select_related(
            "group", "thread"
        )
        fresh = [row.key for row in rows if row.key not in found]
        found |= {row.key: row for row in rows if row.key in fresh}
    return list(found.values())


def _purge_recall_log(texts: list[str]) -> int:
    """Drop logged queries that hold one of the texts."""
    wanted = [fold(text) for text in texts]
    doomed = [
        log.pk
        for log in RecallLog.objects.only("pk", "query").iterator()
        if any(t in fold(log.query) for t in wanted)
    ]
    return RecallLog.objects.filter(pk__in=doomed).delete()[0]
