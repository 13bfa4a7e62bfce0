"""Tables of maintenance: job locks and pauses, shared by processes and kept across restarts, and runs, each undoable as a whole."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from access.models import Group
from storage.ids import new_id


class JobLock(models.Model):
    """A job's lock and its expiry, its last results, and whether a person has paused or requested it.

    `last_finished` is its last success, `last_failed` its last failure. `expected_since` is the time from which a
    missing run counts as overdue: when the job was first seen, or when a pause ended.
    """

    name = models.CharField(max_length=40, primary_key=True)
    holder = models.CharField(max_length=120, blank=True, default="")
    held_until = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    paused_by = models.CharField(max_length=300, blank=True, default="")
    asked_at = models.DateTimeField(null=True)
    asked_by = models.CharField(max_length=300, blank=True, default="")
    expected_since = models.DateTimeField(default=timezone.now)
    last_started = models.DateTimeField(null=True)
    last_finished = models.DateTimeField(null=True)
    last_took_s = models.FloatField(null=True)
    last_failed = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True, default="")
    failures = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class RunStatus(models.TextChoices):
    """The status of a run."""

    RUNNING = "running", gettext_lazy("running: in progress, or interrupted and to be resumed")
    DONE = "done", gettext_lazy("done: finished")
    FAILED = "failed", gettext_lazy("failed: stopped by an error")
    STOPPED = "stopped", gettext_lazy("stopped: it would have changed too many memories")
    UNDONE = "undone", gettext_lazy("undone: its changes were reverted")


class Run(models.Model):
    """One execution of maintenance. `steps` lists the work done, `cursor` is the position to resume from."""

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    kind = models.CharField(max_length=20)
    status = models.CharField(max_length=10, choices=RunStatus, default=RunStatus.RUNNING)
    group = models.ForeignKey(Group, null=True, on_delete=models.SET_NULL, related_name="runs")
    actor = models.CharField(max_length=300)
    dry_run = models.BooleanField(default=False)
    steps = models.JSONField(default=list)
    counts = models.JSONField(default=dict)
    cursor = models.JSONField(default=dict)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)
    now = models.DateTimeField(
        null=True
    )  # the current time of its rules and changes; later once it is resumed
    undone_at = models.DateTimeField(null=True)
    undone_by = models.CharField(max_length=300, blank=True, default="")
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["-key"]
        constraints = [
            models.CheckConstraint(name="run_status_known", condition=Q(status__in=RunStatus.values))
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.started_at:%Y-%m-%d %H:%M}"
