"""Routes for files as evidence: send, list, read and remove them, and say which memory a chunk proves."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas.answers import Document, page_of, responses
from loci_site.api.schemas.requests import ArtifactIn, ArtifactsQuery, ProofIn
from memories.browse.listing import in_groups
from memories.queries.pages import page_of as read_page
from sources.artifacts.ingest import IngestReport, ingest_content
from sources.artifacts.proofs import find_chunk, prove
from sources.artifacts.render import (
    ArtifactOut,
    ArtifactWithChunksOut,
    ChunkOut,
    ProofOut,
    chunk_json,
    list_chunks,
)
from sources.artifacts.upkeep import find_artifact, remove_artifact
from sources.models import Artifact

router = Router(tags=["artifacts"])


class RemovedFileOut(Document):
    """How many chunks were deleted."""

    removed_chunks: int


@router.get("/artifacts", response=responses(page_of(ArtifactOut)))
def list_artifacts(request: HttpRequest, params: Query[ArtifactsQuery]) -> HttpResponse:
    """List the files of a group, or of all groups that the caller may enter, newest first."""
    rows = Artifact.objects.filter(in_groups(actor_of(request), params.group, "group")).select_related(
        "group"
    )
    if params.state:
        rows = rows.filter(state=params.state)
    page = read_page(rows, cursor=params.cursor, limit=params.limit)
    return answer(ArtifactOut.page(page))


@router.post("/artifacts", response=responses(IngestReport))
def add_artifact(request: HttpRequest, body: ArtifactIn) -> HttpResponse:
    """Store a file's text as evidence, or what changed of it. `path` is its name alone: the server opens nothing under it.
    Vectors follow within seconds; words find it at once.
    """
    report = ingest_content(
        actor_of(request),
        [(body.path, body.content.encode())],
        group=body.group,
        source=body.source,
        dry_run=body.dry_run,
    )
    return answer(IngestReport.json(report))


@router.get("/artifacts/{artifact_id}", response=responses(ArtifactWithChunksOut))
def read_artifact(request: HttpRequest, artifact_id: str) -> HttpResponse:
    """Read a file's chunks in order, and the memories that each proves."""
    actor = actor_of(request)
    row = find_artifact(actor, artifact_id)
    return answer(ArtifactOut.json(row) | {"chunks": list_chunks(actor, row)})


@router.delete("/artifacts/{artifact_id}", response=responses(RemovedFileOut))
def delete_artifact(request: HttpRequest, artifact_id: str) -> HttpResponse:
    """Delete a file with its chunks. Memories that it proved come to the Review."""
    return answer({"removed_chunks": remove_artifact(actor_of(request), artifact_id)})


@router.get("/chunks/{chunk_id}", response=responses(ChunkOut))
def read_chunk(request: HttpRequest, chunk_id: str) -> HttpResponse:
    """Read one chunk; the text of one that the guard holds is withheld from callers who may not curate."""
    actor = actor_of(request)
    return answer(chunk_json(actor, find_chunk(actor, chunk_id)))


@router.post("/chunks/{chunk_id}/proves", response=responses(ProofOut))
def prove_memory(request: HttpRequest, chunk_id: str, body: ProofIn) -> HttpResponse:
    """Say that a chunk proves a memory of its group. When the file changes there, the memory comes to the Review."""
    return answer(ProofOut.json(prove(actor_of(request), chunk_id, body.memory)))
