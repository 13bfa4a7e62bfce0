"""A link between two memories: possible duplicate, conflict, derived from, evidence."""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from memories.models.memory import Memory
from storage.ids import new_id

ON_APPROVAL = "on_approval"  # in a link's evidence: what approving its candidate does to the other end


class LinkKind(models.TextChoices):
    """How two memories are linked."""

    DUPLICATE = "duplicate", gettext_lazy("duplicate: may state the same fact")
    CONFLICT = "conflict", gettext_lazy("conflict: cannot both be true")
    DERIVED = "derived", gettext_lazy("derived: the first was made from the second")
    EVIDENCE = "evidence", gettext_lazy("evidence: the second supports the first")


# The kinds that a person decides on; the others record where a memory comes from.
REVIEWED_KINDS = (LinkKind.DUPLICATE, LinkKind.CONFLICT)


class LinkStatus(models.TextChoices):
    """Review status of a link that a person decides on."""

    OPEN = "open", gettext_lazy("open: waits for a decision")
    SETTLED = "settled", gettext_lazy("settled: a person acted on it")
    DISMISSED = "dismissed", gettext_lazy("dismissed: no action needed")


class Link(models.Model):
    """A link from one chain's root to another's."""

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    kind = models.CharField(max_length=10, choices=LinkKind)
    source = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="links_from")
    target = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="links_to")
    status = models.CharField(max_length=10, choices=LinkStatus, default=LinkStatus.OPEN)
    score = models.FloatField(null=True)  # cosine, if one led to the link
    reason = models.TextField(blank=True, default="")
    evidence = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    author_name = models.CharField(max_length=300, default="")
    run = models.UUIDField(null=True)
    settled_at = models.DateTimeField(null=True)
    settled_by = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(name="link_kind_known", condition=Q(kind__in=LinkKind.values)),
            models.CheckConstraint(name="link_status_known", condition=Q(status__in=LinkStatus.values)),
            models.CheckConstraint(name="link_two_ends", condition=~Q(source=F("target"))),
            models.UniqueConstraint(name="link_once", fields=["kind", "source", "target"]),
        ]
        indexes = [models.Index(name="link_open", fields=["kind", "key"], condition=Q(status="open"))]

    def __str__(self) -> str:
        return f"{self.source_id} {self.kind} {self.target_id}"
