"""Watched folders, their files, and the memory of each section."""

from typing import Final

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from access.models import Group
from memories.models import Memory
from storage.ids import new_id

WAS_WRITTEN: Final = (
    "sync"  # the mode of a folder of 0.3.0 whose files were written too, until `loci watch` has said so
)


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
            models.CheckConstraint(
                name="watched_state_known", condition=models.Q(state__in=WatchState.values)
            ),
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
