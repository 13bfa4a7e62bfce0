"""Tables of the sources: files as evidence, captured conversations, uploaded files, watched folders."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from access.models import Group
from memories.models import Memory
from memories.models.vector_field import VectorField
from storage.ids import new_id

SHA_DIGITS: Final = 12  # of a chunk's text hash, in its locator
# The mode of a folder of 0.3.0 whose files were written too, until `loci watch` has said so.
WAS_WRITTEN: Final = "sync"


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
    """A file of a group read as evidence, named by the folder it was read from (`source`) and its path there.

    Files and their chunks are not memories: no list, search, decay or statistic of memories knows them.
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


class Inbox(models.Model):
    """The private group of a person that holds captured conversations until they are assigned to a group."""

    key = models.BigAutoField(primary_key=True)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"{self.group}"


class CapturedTurn(models.Model):
    """A turn sent by a person's browser, by the site's own ids. `removed_at`: its text no longer exists here.

    It names the first version of its memory by id and outlives it, so that browsers learn what to delete.
    """

    key = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    platform = models.CharField(max_length=40)
    conversation = models.CharField(max_length=120)
    turn = models.CharField(max_length=160)
    memory_id = models.UUIDField(db_index=True)
    removed_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="captured_turn_once", fields=["user", "platform", "conversation", "turn"]
            )
        ]
        indexes = [
            models.Index(
                name="captured_removed",
                fields=["user", "removed_at"],
                condition=Q(removed_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.platform} {self.turn}"


class UploadState(models.TextChoices):
    """Progress of an uploaded file."""

    CHECK = "check", gettext_lazy("check: waiting to be checked")
    CHECKED = "checked", gettext_lazy("checked: waiting for confirmation")
    IMPORT = "import", gettext_lazy("import: waiting to be imported")
    DONE = "done", gettext_lazy("done: imported")
    FAILED = "failed", gettext_lazy("failed: not imported")
    DISCARDED = "discarded", gettext_lazy("discarded: removed before it was imported")
    UNDO = "undo", gettext_lazy("undo: waiting to be taken back")
    UNDONE = "undone", gettext_lazy("undone: taken back")


class Upload(models.Model):
    """One uploaded file. The file is in LOCI_HOME/uploads until it is imported, discarded or a day old.

    `report` counts what would be imported (checked) or was imported (done), as pairs of a word and a number. `faults` are
    the first rejected lines, as pairs of line number and reason. `left_out` counts what was left out on purpose, as pairs of
    a reason and a number; `sample` shows the first texts until the file is imported; `run` is the import's id, for its undo.
    `format` and `waiting` are as the sender chose them, "" by default; `recognised` is the format found. `working_at` is the last sign of life of the process
    that works on it, None if there is none.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=200)
    size = models.BigIntegerField()  # bytes
    source = models.CharField(max_length=200)
    group = models.CharField(max_length=80, blank=True, default="")
    type = models.CharField(max_length=12, blank=True, default="")
    scope = models.CharField(max_length=12)
    format = models.CharField(max_length=24, blank=True, default="")
    recognised = models.CharField(max_length=24, blank=True, default="")
    waiting = models.CharField(max_length=12, blank=True, default="")
    state = models.CharField(max_length=12, choices=UploadState, default=UploadState.CHECK)
    line_count = models.IntegerField(default=0)
    lines_done = models.IntegerField(default=0)
    report = models.JSONField(default=list)
    faults = models.JSONField(default=list)
    left_out = models.JSONField(default=list)
    sample = models.JSONField(default=list)
    run = models.UUIDField(null=True)
    fault_count = models.IntegerField(default=0)
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    working_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-key"]
        constraints = [
            models.CheckConstraint(name="upload_state_known", condition=Q(state__in=UploadState.values))
        ]

    def __str__(self) -> str:
        return self.name


class WatchState(models.TextChoices):
    """Whether a folder is read, and the reason if not."""

    ACTIVE = "active", gettext_lazy("active: read when it changes")
    PAUSED = "paused", gettext_lazy("paused: left alone until it is resumed")
    ASKING = (
        "asking",
        gettext_lazy("asking: much is gone at once, and a person has to say whether that is meant"),
    )
    MISSING = "missing", gettext_lazy("missing: the folder or its marker file is not there")


class WatchedFolder(models.Model):
    """A folder of this machine whose notes are memories of a group.

    `name` is unique and part of the memories' source; `marker` is the content of the folder's marker file. `note` says why
    the folder is not read. `gone_meant`: a person said that what is gone is meant to be. `from_config`: config.toml names it.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    name = models.CharField(max_length=80, unique=True)
    path = models.TextField(unique=True)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="watched_folders")
    mode = models.CharField(max_length=8, default="read")
    poll = models.BooleanField(default=False)
    as_own = models.BooleanField(default=False)
    state = models.CharField(max_length=8, choices=WatchState, default=WatchState.ACTIVE)
    note = models.TextField(blank=True, default="")
    marker = models.CharField(max_length=64, blank=True, default="")
    gone_meant = models.BooleanField(default=False)
    from_config = models.BooleanField(default=False)
    added_by = models.CharField(max_length=300)
    created_at = models.DateTimeField(default=timezone.now)
    scanned_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(name="watched_state_known", condition=Q(state__in=WatchState.values)),
        ]

    def __str__(self) -> str:
        return self.name


class WatchedFile(models.Model):
    """A file as last read: its path and the SHA-256 of its bytes.

    `signature` is what the file system says of it; while it is the same, the file is not read again. `problem` says why it
    is not stored, in whole or in part. `gone_since` is when a scan first did not find it.
    """

    key = models.BigAutoField(primary_key=True)
    folder = models.ForeignKey(WatchedFolder, on_delete=models.CASCADE, related_name="files")
    path = models.TextField()
    sha = models.CharField(max_length=64, blank=True, default="")
    signature = models.CharField(max_length=100, blank=True, default="")
    problem = models.TextField(blank=True, default="")
    gone_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(name="watched_file_once", fields=["folder", "path"])]

    def __str__(self) -> str:
        return self.path


class WatchedSection(models.Model):
    """A section of a file and its memory, with hashes of both texts at the last time they agreed.

    `ref` names it within the file and moves with its heading; `source_ref` is the memory's and stays. `memory` is None if the
    text was refused, or purged since. `is_own` False: another memory has the text, and counts for both. `in_conflict`: file and memory were
    changed both, and the Review has the file's text. `disputed_from` is the memory's trust before its section was gone.
    """

    key = models.BigAutoField(primary_key=True)
    file = models.ForeignKey(WatchedFile, on_delete=models.CASCADE, related_name="sections")
    ref = models.CharField(max_length=300)
    source_ref = models.CharField(max_length=300)
    memory = models.ForeignKey(Memory, null=True, on_delete=models.SET_NULL, related_name="watched_sections")
    body_hash = models.CharField(max_length=64)
    labels_hash = models.CharField(max_length=64, blank=True, default="")
    memory_hash = models.CharField(max_length=64, blank=True, default="")
    is_own = models.BooleanField(default=True)
    in_conflict = models.BooleanField(default=False)
    gone_since = models.DateTimeField(null=True)
    disputed_from = models.CharField(max_length=12, blank=True, default="")

    def __str__(self) -> str:
        return self.ref
