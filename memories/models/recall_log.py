"""The recall log: one row per recall, retained for a while so that people see what memory is used for."""

from django.db import models

from access.models import Group


class RecallLog(models.Model):
    """One recall. `hits` packs, best first, (memory key: int64, score: float32), little-endian, 12 bytes each."""

    key = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_index=True)
    group = models.ForeignKey(Group, null=True, on_delete=models.SET_NULL, related_name="+")
    actor = models.CharField(max_length=300)
    via = models.CharField(max_length=12)
    mode = models.CharField(max_length=10)
    query = models.TextField()
    hits = models.BinaryField(default=bytes)
    duration_ms = models.FloatField()
    abstained = models.BooleanField(default=False)
    degraded = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.query[:60]}"
