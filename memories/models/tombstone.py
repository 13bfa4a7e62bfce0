"""Tombstones: keyed hashes of withdrawn texts, which keep them from being stored again."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from access.models import Group
from memories.types import Scope
from storage.ids import new_id


class TombstoneKind(models.TextChoices):
    """Why a text may not come back."""

    REJECTED = "rejected", gettext_lazy("rejected: declined in review")
    RETRACTED = "retracted", gettext_lazy("retracted: it was wrong")
    PURGED = "purged", gettext_lazy("purged: destroyed on request")


class Tombstone(models.Model):
    """Keyed hashes of a text that may not be stored in this group again until a person lifts the tombstone.

    If the withdrawn text was global, no group may store it globally.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="tombstones")
    hmac = models.CharField(max_length=64)  # HMAC-SHA-256 of the folded text
    # HMAC-SHA-256 of its letters and digits alone; empty for short texts and where the text was not known any more
    dress = models.CharField(max_length=64, blank=True, default="")
    spelling = models.CharField(
        max_length=64, blank=True, default=""
    )  # HMAC-SHA-256 with its capital letters
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.GROUP)  # of the withdrawn memory
    key_id = models.CharField(max_length=16)  # the key in LOCI_HOME/keys
    kind = models.CharField(max_length=10, choices=TombstoneKind)
    memory_id = models.UUIDField()  # the memory of this text, which may no longer exist
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
        # Every group's writers read these.
        indexes = [
            models.Index(
                name="tombstone_global", fields=["key"], condition=Q(scope=Scope.GLOBAL, lifted_at=None)
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.memory_id}"
