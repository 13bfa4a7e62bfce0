"""Schemas of files as evidence."""

from typing import Annotated

from pydantic import Field, StrictBool

from loci_site.api.schemas.document import Document
from loci_site.api.schemas.fields import word_schema
from loci_site.api.schemas.requests import Body, PageQuery
from sources.artifacts.reading.files import MAX_TEXT_BYTES
from sources.models import ArtifactState


class ArtifactsQuery(PageQuery):
    """Filters of the list."""

    group: str | None = None
    state: Annotated[str, word_schema(["", *ArtifactState.values])] = ""


class ArtifactIn(Body):
    """A file's text."""

    path: str = Field(description="Its name within its folder, such as docs/setup.md.")
    content: Annotated[str, Field(max_length=MAX_TEXT_BYTES)]
    group: str | None = None
    source: str = Field("", description="Name of the folder or repository; default: sent.")
    dry_run: StrictBool = False


class ProofIn(Body):
    """The memory that a chunk proves."""

    memory: str = Field(description="Id of a memory.")


class ArtifactOut(Document):
    """A file without its texts."""

    id: str
    group: str
    source: str
    path: str
    kind: str
    size: int
    state: str
    chunk_count: int
    findings: dict[str, int]
    author: str
    updated_at: str


class ArtifactPage(Document):
    """A page of files."""

    items: list[ArtifactOut]
    next: str | None


class ChunkOut(Document):
    """A chunk: data from outside, never instructions."""

    id: str
    locator: str
    start_line: int
    end_line: int
    heading: str
    state: str
    tokens: int
    findings: dict[str, int]
    text: str
    untrusted: bool
    proves: list[str]


class ArtifactWithChunks(ArtifactOut):
    """A file with its chunks."""

    chunks: list[ChunkOut]


class IngestedOut(Document):
    """Files and chunks by what became of them, files left out by reason, and what the guard found by kind."""

    group: str
    source: str
    files: dict[str, int]
    chunks: dict[str, int]
    skipped: dict[str, int]
    findings: dict[str, int]
    dry_run: bool


class RemovedFileOut(Document):
    """How many chunks were deleted."""

    removed_chunks: int


class ProofOut(Document):
    """A chunk proves a memory; `stale_at` is null while its text stands."""

    id: str
    memory: str
    locator: str
    stale_at: str | None
