"""The lines of an export, as JSON values, in the order in which they are written."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Model, QuerySet
from django.utils import timezone

from access.actor import Actor
from access.audit.chains import OWN
from access.models import AuditEntry, AuditHead, Group
from access.models.audit import LEGACY
from memories.models import Checkpoint, Doubt, Link, Memory, MemoryFinding, Thread, Tombstone
from memories.queries.visibility import as_q, listed_by
from relations.models import EntityAlias, Relation
from sources.exporting.carried import SEAL, piece_record, seal_of
from sources.format import (
    ALIAS,
    CHECKPOINT,
    DOUBT,
    FORMAT,
    GROUP,
    LINK,
    LOG,
    MEMORY,
    RELATION,
    THREAD,
    TOMBSTONE,
    VERSION,
    RecordKind,
    record_of,
)  # fmt: skip

CHUNK_ROWS = 500


def export_lines(
    actor: Actor, groups: list[Group], origin: str, *, vectors: bool, log: bool
) -> Iterator[dict[str, Any]]:
    """The header, then every row of the groups that the actor may see, then the audit log if asked for."""
    yield _header_line(origin, log=log)
    keys = [group.key for group in groups]
    visible = Memory.objects.filter(as_q(listed_by(actor, None)), group__in=keys)
    for group in groups:
        line = _row_line(GROUP, group)
        yield sealed(line) if group.guard else line
    yield from _row_lines(THREAD, Thread.objects.filter(group__in=keys))
    yield from _memory_lines(visible, vectors=vectors)
    yield from _row_lines(LINK, Link.objects.filter(source__in=visible, target__in=visible))
    yield from _row_lines(DOUBT, Doubt.objects.filter(memory__in=visible))
    relations = Relation.objects.filter(subject__in=visible, object__in=visible, group__in=keys)
    relations = relations.select_related(*RELATION.references).prefetch_related("evidence__memory")
    for relation in relations.order_by("key").iterator(chunk_size=CHUNK_ROWS):
        evidence = [str(e.memory.id) for e in relation.evidence.all()]
        yield _row_line(RELATION, relation) | {"evidence": evidence}
    yield from _row_lines(ALIAS, EntityAlias.objects.filter(memory__in=visible, group__in=keys))
    yield from _row_lines(CHECKPOINT, Checkpoint.objects.filter(group__in=keys))
    yield from _row_lines(TOMBSTONE, Tombstone.objects.filter(group__in=keys))
    if log:
        yield from _log_lines(origin)


def _header_line(origin: str, *, log: bool) -> dict[str, Any]:
    """The first line: format, version and origin; with the log, also the heads of this store's chains."""
    heads = AuditHead.objects.filter(origin=OWN).order_by("chain") if log else []
    return {
        "kind": "header",
        "format": FORMAT,
        "version": VERSION,
        "origin": origin,
        "exported_at": timezone.now().isoformat(),
        "heads": {head.chain or LEGACY: {"seq": head.seq, "hash": head.hash} for head in heads},
    }


def _row_line(kind: RecordKind, row: Model) -> dict[str, Any]:
    """The line of one row. The columns are nested under "row", because a link has a column `kind` of its own."""
    return {"kind": kind.name, "row": record_of(kind, row)}


def _row_lines(kind: RecordKind, rows: "QuerySet[Any]") -> Iterator[dict[str, Any]]:
    for row in rows.select_related(*kind.references).order_by("key").iterator(chunk_size=CHUNK_ROWS):
        yield _row_line(kind, row)


def _memory_lines(memories: "QuerySet[Memory]", *, vectors: bool) -> Iterator[dict[str, Any]]:
    """Lines of memories, oldest first, so that a chain's root comes before its versions."""
    rows = memories.select_related(*MEMORY.references).order_by("key")
    rows = rows.prefetch_related("pieces") if vectors else rows
    found = MemoryFinding.objects.filter(memory__in=memories.order_by().values("key"))
    checked = frozenset(found.values_list("memory", flat=True))
    for memory in rows.iterator(chunk_size=CHUNK_ROWS):
        line = _row_line(MEMORY, memory)
        if memory.key in checked:
            sealed(line)
        if vectors:
            line["pieces"] = [piece_record(p) for p in sorted(memory.pieces.all(), key=lambda p: p.ordinal)]
        yield line


def sealed(line: dict[str, Any]) -> dict[str, Any]:
    """The line with this store's seal: what the guard found in it was looked at here."""
    line[SEAL] = seal_of(line["kind"], line["row"])
    return line


def _log_lines(origin: str) -> Iterator[dict[str, Any]]:
    """Lines of every audit chain: this store's own under its id, imported ones under theirs."""
    entries = AuditEntry.objects.select_related("payload_row").order_by("origin", "chain", "seq")
    for entry in entries.iterator(chunk_size=CHUNK_ROWS):
        line = _row_line(LOG, entry)
        line["row"]["origin"] = entry.origin or origin
        payload = getattr(entry, "payload_row", None)
        yield line | {"said": None if payload is None else {"salt": payload.salt, "payload": payload.payload}}
