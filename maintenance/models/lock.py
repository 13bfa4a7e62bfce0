"""Job locks and pauses, shared by processes and kept across restarts."""

from django.db import models
from django.utils import timezone


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
