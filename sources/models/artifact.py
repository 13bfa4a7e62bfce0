"""Files read as evidence, their chunks, and the memories that a chunk proves.

They are no memories: no list, search, decay or statistic of memories knows them.
"""

from typing import Final

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from access.models import Group
from memories.models import Memory
from memories.models.vector_field import VectorField
from storage.ids import new_id

SHA_DIGITS: Final = 12  # of a chunk's text hash, in its locator


class FileKind(models.TextChoices):
    """How a file is split into chunks."""

    MARKDOWN = "markdown", gettext_lazy("markdown: by headings")
    CODE = "code", gettext_lazy("code: by functions and blocks")
    TEXT = "text", gettext_lazy("text: by paragraphs")
    PDF = "pdf", gettext_lazy("pdf: by pages")
    DOCX = "docx", gettext_lazy("docx: by headings")


class ArtifactState(models.TextChoices):
    """Whether the file still exists."""

    LIVE = "live", gettext_lazy("live: as it was last read")
    RETIRED = "retired", gettext_lazy("retired: the file is gone, or is no longer read")


class ChunkState(models.TextChoices):
    """Whether a search finds the chunk."""

    LIVE = "live", gettext_lazy("live: found as evidence")
    HELD = "held", gettext_lazy("held: the guard keeps it out of every answer")
    RETIRED = "retired", gettext_lazy("retired: the file no longer has this text")


class Artifact(models.Model):
    """A file of a group, named by the folder it was read from (`source`) and its path there.

    `digest` is a keyed hash of the file's bytes: the same one again means that nothing changed. `words` are those of the live
    chunks, for the keyword search. `findings` counts what the guard found, as kinds with numbers.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="artifacts")
    source = models.CharField(max_length=200)
    path = models.CharField(max_length=500)
    kind = models.CharField(max_length=12, choices=FileKind)
    size = models.BigIntegerField()  # bytes
    digest = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=ArtifactState, default=ArtifactState.LIVE)
    chunk_count = models.PositiveIntegerField(default=0)
    words = models.PositiveIntegerField(default=0)
    findings = models.JSONField(default=dict, blank=True)
    author_name = models.CharField(max_length=300, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-key"]
        constraints = [
            models.UniqueConstraint(name="artifact_once", fields=["group", "source", "path"]),
            models.CheckConstraint(
                name="artifact_known", condition=Q(state__in=ArtifactState.values, kind__in=FileKind.values)
            ),
        ]
        indexes = [models.Index(name="artifact_counts", fields=["group", "state", "chunk_count", "words"])]

    def __str__(self) -> str:
        return self.path


class Chunk(models.Model):
    """Lines `start_line` to `end_line` of an artifact: the unit that a search finds.

    The locator is `path#L10-L42@sha`, where sha begins the hash of the text: the chunk keeps its row and its vector
    while its text stays, wherever it moves in the file. `weight` multiplies its score; below 1 the guard found
    instructions in it. `embedding` is None while the vector is owed, `model` names the model behind it. `released_by` is the
    person who released a held chunk; scans hold it again only for kinds that are not in `findings`.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="chunks", db_index=False)
    state = models.CharField(max_length=8, choices=ChunkState, default=ChunkState.LIVE)
    words = models.PositiveIntegerField()
    tokens = models.PositiveIntegerField()
    weight = models.FloatField(default=1.0)
    start_line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    locator = models.CharField(max_length=560)
    text_hash = models.CharField(max_length=64)
    heading = models.CharField(max_length=300, blank=True, default="")
    content = models.TextField()
    forms = models.TextField(blank=True, default="")
    findings = models.JSONField(default=dict, blank=True)
    released_by = models.CharField(max_length=300, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    retired_at = models.DateTimeField(null=True, blank=True)
    model = models.CharField(max_length=120, blank=True, default="")
    embedding = VectorField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="chunk_once", fields=["artifact", "locator", "text_hash"], condition=~Q(state="retired")
            ),
            models.CheckConstraint(
                name="chunk_known",
                condition=Q(state__in=ChunkState.values, start_line__gte=1, end_line__gte=F("start_line")),
            ),
        ]
        indexes = [
            # What the keyword search reads of each match, without reading the texts.
            models.Index(name="chunk_search", fields=["key", "group", "state", "words"]),
            models.Index(name="chunk_place", fields=["artifact", "state", "start_line"]),
            models.Index(name="chunk_owed", fields=["model", "key"], condition=Q(state="live")),
        ]

    def __str__(self) -> str:
        return self.locator


class ChunkProof(models.Model):
    """A chunk that proves a memory (the root of its chain). It outlives the chunk, whose locator it keeps.

    `stale_at` is when the text behind it changed or went.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="file_proofs")
    chunk = models.ForeignKey(Chunk, null=True, on_delete=models.SET_NULL, related_name="proofs")
    locator = models.CharField(max_length=560)
    author_name = models.CharField(max_length=300, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    stale_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(name="proof_once", fields=["memory", "locator"])]

    def __str__(self) -> str:
        return f"{self.locator} → {self.memory_id}"
