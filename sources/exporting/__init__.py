"""Writing a store, or the groups of it that a caller may see, as JSON lines from which it can be built again."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from django.db.models import Model, Q, QuerySet
from django.utils import timezone

from access import audit
from access.actor import ADMIN, READ, Actor
from access.audit import OWN
from access.audit.operations import Operation
from access.errors import NotPermitted
from access.groups import find_group
from access.models import AuditEntry, AuditHead, Group
from memories.models import Checkpoint, Link, Memory, Thread, Tombstone
from memories.queries.visibility import as_q, listed_by
from relations.models import EntityAlias, Relation
from sources.exporting.instance_name import instance_id
from sources.exporting.read_transaction import steady_view
from sources.exporting.vectors import piece_record
from sources.format import (
    ALIAS,
    CHECKPOINT,
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

ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class ExportReport:
    """What an export wrote: lines by kind, and the store it came from."""

    origin: str
    groups: tuple[str, ...]
    counts: dict[str, int]
    has_log: bool


def export(
    actor: Actor,
    out: TextIO,
    *,
    groups: Sequence[str] = (),
    vectors: bool = False,
    on_progress: Callable[[int], object] | None = None,
) -> ExportReport:
    """Write groups (all that the actor may read, where none is named) with everything that belongs to them.

    The log goes along when the whole store does and the actor may administrate it: a chain has no parts. All lines
    show one moment; the export itself is logged afterwards.

    Raises:
        GroupNotFound, NotPermitted: a group named is not the actor's to read.
    """
    origin = instance_id()
    rooms = _rooms(actor, groups)
    has_log = not groups and actor.all_groups and actor.may(ADMIN)
    counts: Counter[str] = Counter()
    with steady_view():
        lines = _lines(actor, rooms, origin, vectors=vectors, log=has_log)
        for line in lines:
            counts[line["kind"]] += 1
            _write(out, line)
            if on_progress is not None:
                on_progress(1)
        del counts["header"]
        _write(out, {"kind": "end", "counts": dict(counts)})
    slugs = tuple(room.slug for room in rooms)
    audit.append(actor, Operation.EXPORT, payload={"counts": dict(counts), "groups": list(slugs)})
    return ExportReport(origin, slugs, dict(counts), has_log)


def _rooms(actor: Actor, slugs: Sequence[str]) -> list[Group]:
    if slugs:
        return [find_group(actor, slug, right=READ) for slug in dict.fromkeys(slugs)]
    rooms = [room for room in Group.objects.order_by("slug") if actor.may(READ, room.key)]
    if not rooms and not actor.may(READ):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")
    return rooms


def _write(out: TextIO, line: dict[str, Any]) -> None:
    out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def _lines(
    actor: Actor, rooms: list[Group], origin: str, *, vectors: bool, log: bool
) -> Iterator[dict[str, Any]]:
    yield _header(origin, log=log)
    keys = [room.key for room in rooms]
    seen = Memory.objects.filter(as_q(listed_by(actor, None)), group__in=keys)
    for room in rooms:
        yield _line(GROUP, room)
    yield from _rows(THREAD, Thread.objects.filter(group__in=keys), "group")
    yield from _memories(seen, vectors=vectors)
    links = Link.objects.filter(source__in=seen, target__in=seen)
    yield from _rows(LINK, links, "source", "target")
    yield from _relations(Relation.objects.filter(Q(subject__in=seen) & Q(object__in=seen), group__in=keys))
    yield from _rows(ALIAS, EntityAlias.objects.filter(memory__in=seen, group__in=keys), "group", "memory")
    checkpoints = Checkpoint.objects.filter(group__in=keys)
    yield from _rows(CHECKPOINT, checkpoints, "group", "thread", "token", "author")
    yield from _rows(TOMBSTONE, Tombstone.objects.filter(group__in=keys), "group")
    if log:
        yield from _log(origin)


def _header(origin: str, *, log: bool) -> dict[str, Any]:
    head = AuditHead.objects.filter(origin=OWN).first()
    return {
        "kind": "header",
        "format": FORMAT,
        "version": VERSION,
        "origin": origin,
        "exported_at": timezone.now().isoformat(),
        "head": {"seq": head.seq, "hash": head.hash} if head and log else None,
    }


def _line(kind: RecordKind, row: Model) -> dict[str, Any]:
    # A link has a column `kind` of its own, so a row's columns stand apart.
    return {"kind": kind.name, "row": record_of(kind, row)}


def _rows(kind: RecordKind, rows: "QuerySet[Any]", *ties: str) -> Iterator[dict[str, Any]]:
    for row in rows.select_related(*ties).order_by("key").iterator(chunk_size=ROWS_AT_ONCE):
        yield _line(kind, row)


def _memories(seen: "QuerySet[Memory]", *, vectors: bool) -> Iterator[dict[str, Any]]:
    """Oldest first, so that a chain's root comes before its versions."""
    rows = seen.select_related(*MEMORY.ties).order_by("key")
    rows = rows.prefetch_related("pieces") if vectors else rows
    for memory in rows.iterator(chunk_size=ROWS_AT_ONCE):
        line = _line(MEMORY, memory)
        if vectors:
            line["pieces"] = [piece_record(p) for p in sorted(memory.pieces.all(), key=lambda p: p.ordinal)]
        yield line


def _relations(rows: "QuerySet[Relation]") -> Iterator[dict[str, Any]]:
    rows = rows.select_related(*RELATION.ties).prefetch_related("evidence__memory").order_by("key")
    for relation in rows.iterator(chunk_size=ROWS_AT_ONCE):
        yield _line(RELATION, relation) | {"evidence": [str(e.memory.id) for e in relation.evidence.all()]}


def _log(origin: str) -> Iterator[dict[str, Any]]:
    """Every chain whole: this store's own under its id, and those that came in with imports under theirs."""
    entries = AuditEntry.objects.select_related("payload_row").order_by("origin", "seq")
    for entry in entries.iterator(chunk_size=ROWS_AT_ONCE):
        line = _line(LOG, entry)
        line["row"]["origin"] = entry.origin or origin
        said = getattr(entry, "payload_row", None)
        yield line | {"said": None if said is None else {"salt": said.salt, "payload": said.payload}}
