"""Routes for files as evidence: send, list, read and remove them, and say which memory a chunk proves."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import artifacts as shapes
from loci_site.api.schemas import responses as out
from memories.browse.listing import in_groups
from memories.queries.pages import page_of
from sources.artifacts.ingest import ingest_content
from sources.artifacts.proofs import find_chunk, prove
from sources.artifacts.render import artifact_json, chunk_json, list_chunks, proof_json
from sources.artifacts.upkeep import find_artifact, remove_artifact
from sources.models import Artifact

router = Router(tags=["artifacts"])


@router.get("/artifacts", response={**out.ERRORS, 200: shapes.ArtifactPage})
def list_artifacts(request: HttpRequest, params: Query[shapes.ArtifactsQuery]) -> HttpResponse:
    """List the files of a group, or of all groups that the caller may enter, newest first."""
    rows = Artifact.objects.filter(in_groups(actor_of(request), params.group, "group")).select_related(
        "group"
    )
    if params.state:
        rows = rows.filter(state=params.state)
    page = page_of(rows, cursor=params.cursor, limit=params.limit)
    return answer({"items": [artifact_json(row) for row in page.rows], "next": page.next})


@router.post("/artifacts", response={**out.ERRORS, 200: shapes.IngestedOut})
def add_artifact(request: HttpRequest, body: shapes.ArtifactIn) -> HttpResponse:
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
    return answer(report.as_json())


@router.get("/artifacts/{artifact_id}", response={**out.ERRORS, 200: shapes.ArtifactWithChunks})
def read_artifact(request: HttpRequest, artifact_id: str) -> HttpResponse:
    """Read a file's chunks in order, and the memories that each proves."""
    actor = actor_of(request)
    row = find_artifact(actor, artifact_id)
    return answer(artifact_json(row) | {"chunks": list_chunks(actor, row)})


@router.delete("/artifacts/{artifact_id}", response={**out.ERRORS, 200: shapes.RemovedFileOut})
def delete_artifact(request: HttpRequest, artifact_id: str) -> HttpResponse:
    """Delete a file with its chunks. Memories that it proved come to the Review."""
    return answer({"removed_chunks": remove_artifact(actor_of(request), artifact_id)})


@router.get("/chunks/{chunk_id}", response={**out.ERRORS, 200: shapes.ChunkOut})
def read_chunk(request: HttpRequest, chunk_id: str) -> HttpResponse:
    """Read one chunk; the text of one that the guard holds is withheld from callers who may not curate."""
    actor = actor_of(request)
    return answer(chunk_json(actor, find_chunk(actor, chunk_id)))


@router.post("/chunks/{chunk_id}/proves", response={**out.ERRORS, 200: shapes.ProofOut})
def prove_memory(request: HttpRequest, chunk_id: str, body: shapes.ProofIn) -> HttpResponse:
    """Say that a chunk proves a memory of its group. When the file changes there, the memory comes to the Review."""
    return answer(proof_json(prove(actor_of(request), chunk_id, body.memory)))
