"""Locks and pauses that hold between processes and across restarts."""

from django.db import models


class JobLock(models.Model):
    """Who is doing a job, until when; and whether a person has paused it."""

    name = models.CharField(max_length=40, primary_key=True)
    holder = models.CharField(max_length=120, blank=True, default="")
    held_until = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    paused_by = models.CharField(max_length=300, blank=True, default="")
    last_started = models.DateTimeField(null=True)
    last_finished = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return self.name
