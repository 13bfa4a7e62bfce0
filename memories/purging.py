"""Destroying a memory and everything that was made from its text, with a certificate of what was looked at."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.models import AuditPayload
from memories.chains import versions_of
from memories.context import neighbours_of, refresh_around
from memories.models import Link, Memory, Piece, RecallLog, TombstoneKind
from memories.text import fold
from memories.tombstones import lay_tombstone
from memories.types import Operation


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
    with transaction.atomic():
        chain = _with_wordings(versions_of(memory))
        ids = [row.id for row in chain]
        keys = [row.key for row in chain]
        around = [near for row in chain for near in neighbours_of(row) if near.key not in keys]
        for row in chain:
            lay_tombstone(actor, row, kind=TombstoneKind.PURGED, reason=reason)
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
            audit.append(actor, Operation.PURGE, memory_id=id_, payload={"reason": reason})
    return Certificate(timezone.now(), tuple(ids), len(ids), pieces, links, payloads, recalls)


def _with_wordings(chain: list[Memory]) -> list[Memory]:
    """Add the other wordings that were merged into any version."""
    found = {row.key: row for row in chain}
    for row in Memory.objects.filter(superseded_by__in=list(found)).select_related("group", "thread"):
        found.setdefault(row.key, row)
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
