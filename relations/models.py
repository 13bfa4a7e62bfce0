"""Tables of relations and entity aliases."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from access.models import ApiToken, Group
from storage.ids import new_id


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


class Relation(models.Model):
    """A statement about two entity memories. It references the roots of their chains, so an edit orphans nothing."""

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="relations")
    subject = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="relations_out")
    predicate = models.CharField(max_length=80)
    object = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="relations_in")
    confidence = models.FloatField(default=0.7)
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(null=True, blank=True)
    valid_to_known_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(default=timezone.now)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.CharField(max_length=300, default="")
    token = models.ForeignKey(ApiToken, null=True, on_delete=models.SET_NULL, related_name="+")
    run = models.UUIDField(null=True)
    metadata = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="relation_two_ends", condition=~Q(subject=F("object"))),
            models.CheckConstraint(
                name="relation_confidence_range", condition=Q(confidence__gte=0) & Q(confidence__lte=1)
            ),
            models.UniqueConstraint(
                name="relation_once",
                fields=["group", "subject", "predicate", "object"],
                condition=Q(retired_at=None) & Q(valid_to=None),
            ),
        ]
        indexes = [
            models.Index(name="relation_from", fields=["subject", "predicate"]),
            models.Index(name="relation_to", fields=["object", "predicate"]),
        ]

    def __str__(self) -> str:
        return f"{self.subject_id} {self.predicate} {self.object_id}"


class RelationEvidence(models.Model):
    """A memory that proves a relation."""

    relation = models.ForeignKey(Relation, on_delete=models.CASCADE, related_name="evidence")
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="proves")

    class Meta:
        constraints = [models.UniqueConstraint(name="relation_evidence_once", fields=["relation", "memory"])]

    def __str__(self) -> str:
        return f"{self.memory_id} proves {self.relation_id}"
