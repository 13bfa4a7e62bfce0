"""Texts that wait until their vectors have been compared with the withdrawn texts."""

from django.db import models

from memories.models.memory import Memory


class Unprobed(models.Model):
    """A memory stored without a comparison with the withdrawn texts of its group: it waits as a candidate.

    `trust` is what it gets if it restates none of them; empty if it waits for a curator in any case.
    """

    memory = models.OneToOneField(Memory, primary_key=True, on_delete=models.CASCADE, related_name="unprobed")
    trust = models.CharField(max_length=12, blank=True, default="")

    def __str__(self) -> str:
        return f"unprobed {self.memory_id}"
