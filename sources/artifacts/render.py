"""Files, chunks and proofs as JSON values."""

from typing import Any

from access.actor import CURATE, Actor
from memories.browse.serializers import WITHHELD
from sources.models import Artifact, Chunk, ChunkProof, ChunkState


def artifact_json(row: Artifact) -> dict[str, Any]:
    """A file without its texts."""
    return {
        "id": str(row.id),
        "group": row.group.slug,
        "source": row.source,
        "path": row.path,
        "kind": row.kind,
        "size": row.size,
        "state": row.state,
        "chunk_count": row.chunk_count,
        "findings": row.findings,
        "author": row.author_name,
        "updated_at": row.updated_at.isoformat(),
    }


def list_chunks(actor: Actor, row: Artifact) -> list[dict[str, Any]]:
    """The chunks of a file that are not retired, in order, with the memories that they prove."""
    chunks = (
        row.chunks.exclude(state=ChunkState.RETIRED)
        .select_related("group", "artifact")
        .defer("embedding", "forms")
    )
    return [
        chunk_json(actor, chunk)
        for chunk in chunks.prefetch_related("proofs__memory").order_by("start_line", "key")
    ]


def chunk_json(actor: Actor, chunk: Chunk) -> dict[str, Any]:
    """A chunk with its text, unless the guard holds it and the actor may not curate."""
    return {
        "id": str(chunk.id),
        "locator": chunk.locator,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "heading": chunk.heading,
        "state": chunk.state,
        "tokens": chunk.tokens,
        "findings": chunk.findings,
        "text": visible_text(actor, chunk),
        "untrusted": True,
        "proves": [str(proof.memory.id) for proof in chunk.proofs.all()],
    }


def visible_text(actor: Actor, chunk: Chunk) -> str:
    """The text, or a placeholder for a caller who may not see it."""
    return (
        WITHHELD
        if chunk.state == ChunkState.HELD and not actor.may(CURATE, chunk.group_id)
        else chunk.content
    )


def proof_json(proof: ChunkProof) -> dict[str, Any]:
    """A proof; `stale_at` is when its text changed, null while it is unchanged."""
    return {
        "id": str(proof.id),
        "memory": str(proof.memory.id),
        "locator": proof.locator,
        "stale_at": proof.stale_at.isoformat() if proof.stale_at else None,
    }
