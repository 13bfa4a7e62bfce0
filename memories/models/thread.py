"""Threads, conversations inside a group whose memories have an order, and saved checkpoints of their state."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from access.models import ApiToken, Group
from storage.ids import new_id


class Thread(models.Model):
    """A conversation or session, named by its creator.

    `platform` is the site of a captured conversation (empty for what agents name), `url` its address there, `owner` the
    person whose browser sent it. `active_at` is when its last turn was said, as far as it is known. `summary` is a memory
    that the maintenance cycle made of its turns. `deleted_at`: it was deleted with its turns, and its browser's later
    turns are refused.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="threads")
    name = models.CharField(max_length=200)
    title = models.CharField(max_length=200, blank=True, default="")
    url = models.CharField(max_length=500, blank=True, default="")
    platform = models.CharField(max_length=40, blank=True, default="")
    tags = models.JSONField(default=list, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    active_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    summary = models.ForeignKey(
        "memories.Memory", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(name="thread_once", fields=["group", "name"])]

    def __str__(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        """The title, or the name if there is none."""
        return self.title or self.name


class Checkpoint(models.Model):
    """The state of a thread's or a whole group's work at one time. Rows are only added; a session's hooks replace their own."""

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="checkpoints")
    thread = models.ForeignKey(Thread, null=True, on_delete=models.PROTECT, related_name="checkpoints")
    state = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.CharField(max_length=300, default="")
    token = models.ForeignKey(ApiToken, null=True, on_delete=models.SET_NULL, related_name="+")
    # The guard's scan that holds it back from every reader until the scan is undone; empty: it is read.
    held = models.CharField(max_length=36, blank=True, default="")

    class Meta:
        indexes = [models.Index(name="checkpoint_latest", fields=["group", "thread", "-key"])]

    def __str__(self) -> str:
        return f"{self.group} {self.created_at:%Y-%m-%d %H:%M}"
