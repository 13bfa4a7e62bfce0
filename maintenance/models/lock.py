"""Locks and pauses that hold between processes and across restarts."""

from django.db import models
from django.utils import timezone


class JobLock(models.Model):
    """Who is doing a job, until when; how it went; and whether a person has paused it.

    `last_finished` is when it last came to a good end, `last_failed` when it last did not. `expected_since` is from when
    on it is missed where it does not run: when it was first known, or when a pause ended.
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
