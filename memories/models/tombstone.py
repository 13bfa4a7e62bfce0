"""A tombstone is what stays of a rejected value so that it cannot come back."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from access.models import Group
from storage.ids import new_id


class TombstoneKind(models.TextChoices):
    """Why a value may not come back."""

    RETRACTED = "retracted", "retracted: it was wrong"
    PURGED = "purged", "purged: somebody asked for it to be destroyed"


class Tombstone(models.Model):
    """The keyed hash of a text that may not be stored in this group again, until a person lifts it."""

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="tombstones")
    hmac = models.CharField(max_length=64)  # HMAC-SHA-256 of the folded text
    key_id = models.CharField(max_length=16)  # which key in LOCI_HOME/keys made it
    kind = models.CharField(max_length=10, choices=TombstoneKind)
    memory_id = models.UUIDField()  # whose text it was; the memory itself may be gone
    reason = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    author_name = models.CharField(max_length=300, default="")
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(name="tombstone_kind_known", condition=Q(kind__in=TombstoneKind.values)),
            models.UniqueConstraint(
                name="tombstone_once", fields=["group", "hmac", "key_id"], condition=Q(lifted_at=None)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.memory_id}"
