"""The lines of an export, as JSON values, in the order in which they are written.

Next to its row a line carries a seal, which proves to the store that wrote it that its text passed the guard here, and on
demand the vectors of its text: with them an import need not embed.
"""

import base64
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from django.db.models import Model, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from access.actor import Actor
from access.audit import OWN
from access.models import AuditEntry, AuditHead, Group
from access.models.audit import LEGACY
from memories.embedding import Window, configured_model, configured_model_id
from memories.embedding.manifest import MINILM
from memories.models import Checkpoint, Doubt, Link, Memory, MemoryFinding, Piece, Thread, Tombstone
from memories.queries.visibility import as_q, listed_by
from memories.store.pieces import EmbeddedText
from relations.models import EntityAlias, Relation
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
from storage.canonical_json import canonical_json

SEAL: Final = "checked"
_SALT: Final = "loci.guard.export"
# What a seal covers: the texts, and what says how they are treated.
_SEALED: Final = (
    "id", "content", "trust", "outside", "tags", "metadata", "source", "slug", "guard", "group", "title", "instructions",
)  # fmt: skip
_UNIT_TOLERANCE = 1e-3  # allowed difference of a vector's length from 1


def _seal_of(kind: str, record: dict[str, Any]) -> str:
    """The seal of a row's record; only this store's key makes it."""
    covered = canonical_json([kind, *(record.get(name) for name in _SEALED)])
    return salted_hmac(_SALT, covered, algorithm="sha256").hexdigest()


def has_seal(kind: str, record: dict[str, Any], seal: Any) -> bool:
    """True if this store wrote the line, and it is unchanged."""
    return isinstance(seal, str) and constant_time_compare(seal, _seal_of(kind, record))


def _piece_record(piece: Piece) -> dict[str, Any]:
    """A piece as JSON values; its vector as base64 of little-endian float32."""
    blob = None if piece.embedding is None else base64.b64encode(bytes(piece.embedding)).decode()
    return {
        "start": piece.start,
        "end": piece.end,
        "tokens": piece.tokens,
        "model": piece.model,
        "embedding": blob,
    }


def carried_pieces(content: str, pieces: Any) -> EmbeddedText | None:
    """The pieces that a line carries for a text; None unless all are valid and made by the configured model."""
    try:
        made_by, model = configured_model() or MINILM, configured_model_id()
        if not pieces or any(piece["model"] != model for piece in pieces):
            return None
        vectors = np.frombuffer(b"".join(base64.b64decode(p["embedding"]) for p in pieces), dtype="<f4")
        spans = tuple(Window(int(p["start"]), int(p["end"]), int(p["tokens"])) for p in pieces)
    except (KeyError, TypeError, ValueError):
        return None
    fits = all(0 <= span.start < span.end <= len(content) and span.tokens >= 0 for span in spans)
    if not fits or vectors.size != len(spans) * (width := made_by.width):
        return None
    vectors = vectors.reshape(-1, width)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    # NaN fails this comparison as well.
    is_unit = bool((np.abs(np.sqrt(squares) - 1) <= _UNIT_TOLERANCE).all())
    return EmbeddedText(spans, vectors, model) if is_unit else None


CHUNK_ROWS = 500


def export_lines(
    actor: Actor, groups: list[Group], origin: str, *, vectors: bool, log: bool
) -> Iterator[dict[str, Any]]:
    """The header, then every row of the groups that the actor may see, then the audit log if asked for."""
    heads = AuditHead.objects.filter(origin=OWN).order_by("chain") if log else []
    yield {
        "kind": "header",
        "format": FORMAT,
        "version": VERSION,
        "origin": origin,
        "exported_at": timezone.now().isoformat(),
        "heads": {head.chain or LEGACY: {"seq": head.seq, "hash": head.hash} for head in heads},
    }
    keys = [group.key for group in groups]
    visible = Memory.objects.filter(as_q(listed_by(actor, None)), group__in=keys)
    for group in groups:
        line = _row_line(GROUP, group)
        yield sealed(line) if group.guard else line
    yield from row_lines(THREAD, Thread.objects.filter(group__in=keys))
    yield from _memory_lines(visible, vectors=vectors)
    yield from row_lines(LINK, Link.objects.filter(source__in=visible, target__in=visible))
    yield from row_lines(DOUBT, Doubt.objects.filter(memory__in=visible))
    relations = Relation.objects.filter(subject__in=visible, object__in=visible, group__in=keys)
    relations = relations.select_related(*RELATION.references).prefetch_related("evidence__memory")
    for relation in relations.order_by("key").iterator(chunk_size=CHUNK_ROWS):
        evidence = [str(e.memory.id) for e in relation.evidence.all()]
        yield _row_line(RELATION, relation) | {"evidence": evidence}
    yield from row_lines(ALIAS, EntityAlias.objects.filter(memory__in=visible, group__in=keys))
    yield from row_lines(CHECKPOINT, Checkpoint.objects.filter(group__in=keys))
    yield from row_lines(TOMBSTONE, Tombstone.objects.filter(group__in=keys))
    if log:
        yield from _log_lines(origin)


def _row_line(kind: RecordKind, row: Model) -> dict[str, Any]:
    """The line of one row. The columns are nested under "row", because a link has a column `kind` of its own."""
    return {"kind": kind.name, "row": record_of(kind, row)}


def row_lines(kind: RecordKind, rows: "QuerySet[Any]") -> Iterator[dict[str, Any]]:
    """The lines of these rows, oldest first."""
    for row in rows.select_related(*kind.references).order_by("pk").iterator(chunk_size=CHUNK_ROWS):
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
            line["pieces"] = [_piece_record(p) for p in sorted(memory.pieces.all(), key=lambda p: p.ordinal)]
        yield line


def sealed(line: dict[str, Any]) -> dict[str, Any]:
    """The line with this store's seal: what the guard found in it was looked at here."""
    line[SEAL] = _seal_of(line["kind"], line["row"])
    return line


def _log_lines(origin: str) -> Iterator[dict[str, Any]]:
    """Lines of every audit chain: this store's own under its id, imported ones under theirs."""
    entries = AuditEntry.objects.select_related("payload_row").order_by("origin", "chain", "seq")
    for entry in entries.iterator(chunk_size=CHUNK_ROWS):
        line = _row_line(LOG, entry)
        line["row"]["origin"] = entry.origin or origin
        payload = getattr(entry, "payload_row", None)
        yield line | {"said": None if payload is None else {"salt": payload.salt, "payload": payload.payload}}
