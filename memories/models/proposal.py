"""Proposals: changes that wait for a curator."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from access.models import Group
from memories.models.memory import Memory
from storage.ids import new_id


class ProposalStatus(models.TextChoices):
    """What became of a proposal."""

    WAITING = "waiting", gettext_lazy("waiting: a curator has to decide")
    APPROVED = "approved", gettext_lazy("approved: carried out")
    REJECTED = "rejected", gettext_lazy("rejected: declined in review")
    STALE = "stale", gettext_lazy("stale: its target changed meanwhile")
    EXPIRED = "expired", gettext_lazy("expired: it was not decided in time")


class Proposal(models.Model):
    """A change that waits for a curator of the group: a verb, its target as it was then, and the arguments.

    `verb` names a kind registered with memories.lifecycle.propose. The target is a memory, or whatever `subject` names.
    The one who proposed it is recorded as the audit log records an actor.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    verb = models.CharField(max_length=32)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="proposals")
    memory = models.ForeignKey(Memory, null=True, on_delete=models.CASCADE, related_name="proposals")
    subject = models.CharField(max_length=200, blank=True, default="")
    version = models.CharField(max_length=64)  # of the target; another one now makes the proposal stale
    arguments = models.JSONField(default=dict, blank=True)
    reason = models.TextField(blank=True, default="")
    why = models.TextField(blank=True, default="")  # it waits
    actor = models.CharField(max_length=300)
    via = models.CharField(max_length=12)
    token = models.UUIDField(null=True)
    client = models.CharField(max_length=120, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    status = models.CharField(max_length=10, choices=ProposalStatus, default=ProposalStatus.WAITING)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="proposal_status_known", condition=Q(status__in=ProposalStatus.values)
            ),
        ]
        indexes = [
            models.Index(name="proposal_waiting", fields=["group", "key"], condition=Q(status="waiting")),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.memory_id or self.subject}"
