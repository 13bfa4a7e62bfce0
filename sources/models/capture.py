"""Captured conversations: each person's inbox, and the memory of each turn."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from access.models import Group


class Inbox(models.Model):
    """The private group of a person that holds captured conversations until they are assigned to a group."""

    key = models.BigAutoField(primary_key=True)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"{self.group}"


class CapturedTurn(models.Model):
    """A turn sent by a person's browser, by the site's own ids. `removed_at`: its text no longer exists here.

    It names the first version of its memory by id and outlives it, so that browsers learn what to delete.
    """

    key = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    platform = models.CharField(max_length=40)
    conversation = models.CharField(max_length=120)
    turn = models.CharField(max_length=160)
    memory_id = models.UUIDField(db_index=True)
    removed_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="captured_turn_once", fields=["user", "platform", "conversation", "turn"]
            )
        ]
        indexes = [
            models.Index(
                name="captured_removed",
                fields=["user", "removed_at"],
                condition=models.Q(removed_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.platform} {self.turn}"
