"""Names of entities."""

from django.db import models
from django.utils import timezone

from access.models import Group


class EntityAlias(models.Model):
    """One name of an entity memory, as written and folded for lookup."""

    key = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="+")
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="aliases")
    name = models.CharField(max_length=200)
    fold = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    run = models.UUIDField(null=True)

    class Meta:
        verbose_name_plural = "entity aliases"
        constraints = [models.UniqueConstraint(name="alias_once", fields=["memory", "fold"])]
        indexes = [models.Index(name="alias_lookup", fields=["group", "fold"])]

    def __str__(self) -> str:
        return self.name
