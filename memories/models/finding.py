"""What the guard found in stored memories: kinds and counts, never a value."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from memories.models.memory import Memory


class FindingStatus(models.TextChoices):
    """What became of a finding."""

    TREATED = "treated", gettext_lazy("treated: the policy was applied when the text was stored")
    OPEN = "open", gettext_lazy("open: a scan found it, and a person decides")
    HELD = "held", gettext_lazy("held: a scan or a person quarantined the memory")
    KEPT = "kept", gettext_lazy("kept: a person looked at it and kept the text")


class MemoryFinding(models.Model):
    """One kind of sensitive text in one version of a memory, and how often it occurs there.

    `treatment` is what the policy says about the kind. `scan` names the scan that found it, if it was no write; where a write
    had found it under milder rules, `former_treatment` is what those said.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    memory = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="guard_findings", db_index=False
    )
    kind = models.CharField(max_length=40)
    places = models.PositiveIntegerField(default=1)
    treatment = models.CharField(max_length=10)
    status = models.CharField(max_length=8, choices=FindingStatus, default=FindingStatus.TREATED)
    scan = models.UUIDField(null=True, blank=True)
    former_treatment = models.CharField(max_length=10, blank=True, default="")
    at = models.DateTimeField(default=timezone.now)
    settled_by = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(name="finding_once", fields=["memory", "kind"]),
            models.CheckConstraint(name="finding_known", condition=Q(status__in=FindingStatus.values)),
        ]
        indexes = [
            models.Index(name="finding_open", fields=["key"], condition=Q(status="open")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.memory_id}"
