"""A file uploaded for import, with its rules and its result."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from storage.ids import new_id


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
            models.CheckConstraint(
                name="upload_state_known", condition=models.Q(state__in=UploadState.values)
            )
        ]

    def __str__(self) -> str:
        return self.name
