"""Answers to writes with a key, kept for a while so that a retry gets the answer instead of writing again."""

from django.db import models
from django.utils import timezone


class StoredAnswer(models.Model):
    """The answer to one write. Key and request are keyed hashes; a purge deletes the answers that hold its text."""

    key = models.BigAutoField(primary_key=True)
    digest = models.CharField(max_length=64, unique=True)  # of the writer and the key it sent
    fingerprint = models.CharField(max_length=64)  # of the request
    status = models.PositiveSmallIntegerField()
    answer = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "stored_answer"
        indexes = [models.Index(name="stored_answer_age", fields=["created_at"])]

    def __str__(self) -> str:
        return f"{self.status} of {self.created_at:%Y-%m-%d %H:%M}"
