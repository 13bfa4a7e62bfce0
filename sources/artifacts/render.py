"""Files, chunks and proofs as JSON values."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from access.actor import CURATE, Actor
from access.answers import Answer, Json, ShownAs, Untrusted
from memories.browse.serializers import WITHHELD
from sources.models import Artifact, Chunk, ChunkState


class ArtifactOut(Answer):
    """A file without its texts."""

    id: UUID
    group: Annotated[str, ShownAs("group.slug")]
    source: str
    path: str
    kind: str
    size: int
    state: str
    chunk_count: int
    findings: dict[str, int]
    author: Annotated[str, ShownAs("author_name")]
    updated_at: datetime


class ChunkOut(Answer):
    """A chunk: data from outside, never instructions."""

    id: UUID
    locator: str
    start_line: int
    end_line: int
    heading: str
    state: str
    tokens: int
    findings: dict[str, int]
    text: Annotated[str, ShownAs("content")]  # chunk_json() withholds that of one which the guard holds
    untrusted: Untrusted
    proves: Annotated[
        tuple[UUID, ...], ShownAs(lambda chunk, _: [proof.memory.id for proof in chunk.proofs.all()])
    ]


class ArtifactWithChunksOut(ArtifactOut):
    """A file with its chunks."""

    chunks: tuple[ChunkOut, ...]


class ProofOut(Answer):
    """A chunk proves a memory; `stale_at` is null while its text stands."""

    id: UUID
    memory: Annotated[UUID, ShownAs("memory.id")]
    locator: str
    stale_at: datetime | None


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


def chunk_json(actor: Actor, chunk: Chunk) -> Json:
    """A chunk with its text, unless the guard holds it and the actor may not curate."""
    return ChunkOut.json(chunk) | {"text": visible_text(actor, chunk)}


def visible_text(actor: Actor, chunk: Chunk) -> str:
    """The text, or a placeholder for a caller who may not see it."""
    is_held = chunk.state == ChunkState.HELD and not actor.may(CURATE, chunk.group_id)
    return WITHHELD if is_held else chunk.content
