"""Groups: the memories, instructions and members of a project."""

from typing import ClassVar

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from storage.ids import new_id

SLUG_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,79}$"


class CandidatePolicy(models.TextChoices):
    """Which writes into a group start as candidates that wait for approval."""

    NONE = "none", gettext_lazy("none: writes take effect at once")
    BELOW = "below", gettext_lazy("below: writes below the group's confidence wait for review")
    AGENTS = "agents", gettext_lazy("agents: writes through a token wait for review")
    ALL = "all", gettext_lazy("all: every write waits for review")


class ScopeRule(models.TextChoices):
    """The scope of a memory whose author names none; memories/draft/__init__.py has the table."""

    GROUP = "group", gettext_lazy("group: only the group sees it")
    BY_TYPE = (
        "by-type",
        gettext_lazy("by-type: every group sees facts, procedures and entities; events stay in the group"),
    )
    GLOBAL = "global", gettext_lazy("global: every group sees it")


class CaptureRule(models.TextChoices):
    """What happens to a text that a hook captured from a person's words; the group's policy holds besides."""

    REVIEW = "review", gettext_lazy("review: a person decides about each")
    LIVE = "live", gettext_lazy("live: it counts at once; decisions still wait")


class CleanupRule(models.TextChoices):
    """What the cycle does with a memory of very low confidence that was not used for long."""

    SLEEP = "sleep", gettext_lazy("sleep: it is in no list, and found when nothing else answers")
    DELETE = "delete", gettext_lazy("delete: it is forgotten, and destroyed when its retention ends")


class Role(models.TextChoices):
    """What a member may do in a group; each role includes the previous ones."""

    VIEWER = "viewer", gettext_lazy("viewer: reads")
    CONTRIBUTOR = "contributor", gettext_lazy("contributor: reads and writes")
    CURATOR = "curator", gettext_lazy("curator: also approves, merges, retracts and purges")
    ADMIN = "admin", gettext_lazy("admin: also changes the group and its members")


class Group(models.Model):
    """A group of people and agents that share memories; a private group has no global memories.

    `default_scope` is its rule for memories whose author names no scope; empty for the instance's. `guard` has its rules
    for sensitive text, `kind=treatment` or `word=TEXT` each, separated with commas; access/groups/guarding.py reads them.
    `max_memories` and `max_bytes` limit its live memories and their texts; 0: the instance's limits (access/limits/quota.py).
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    slug = models.CharField(
        max_length=80,
        unique=True,
        validators=[RegexValidator(SLUG_PATTERN, "Use a-z, 0-9, dot, dash and underscore; at most 80.")],
    )
    title = models.CharField(max_length=200, blank=True, default="")
    instructions = models.TextField(blank=True, default="")
    policy = models.CharField(max_length=8, choices=CandidatePolicy, default=CandidatePolicy.NONE)
    policy_confidence = models.FloatField(default=0.5)
    private = models.BooleanField(default=False)
    archived = models.BooleanField(default=False)
    default_scope = models.CharField(max_length=8, choices=ScopeRule, blank=True, default="")
    captures = models.CharField(max_length=8, choices=CaptureRule, default=CaptureRule.REVIEW)
    cleanup = models.CharField(max_length=8, choices=CleanupRule, default=CleanupRule.SLEEP)
    guard = models.CharField(max_length=500, blank=True, default="")
    max_memories = models.PositiveBigIntegerField(default=0)
    max_bytes = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)
    created_by = models.CharField(max_length=300, blank=True, default="", editable=False)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(name="group_policy_known", condition=Q(policy__in=CandidatePolicy.values)),
            models.CheckConstraint(
                name="group_policy_confidence_range",
                condition=Q(policy_confidence__gte=0) & Q(policy_confidence__lte=1),
            ),
            models.CheckConstraint(
                name="group_default_scope_known", condition=Q(default_scope__in=["", *ScopeRule.values])
            ),
            models.CheckConstraint(name="group_captures_known", condition=Q(captures__in=CaptureRule.values)),
            models.CheckConstraint(name="group_cleanup_known", condition=Q(cleanup__in=CleanupRule.values)),
        ]

    def __str__(self) -> str:
        return self.slug

    def may_hold(self, scope: str) -> bool:
        """False for a global memory in a private group."""
        return not (self.private and scope == "global")

    @property
    def policy_words(self) -> str:
        """A sentence, without its full stop, on which writes wait for a curator."""
        match self.policy:
            case CandidatePolicy.BELOW:
                return gettext("Writes with a confidence below {confidence:g} wait for a curator").format(
                    confidence=self.policy_confidence
                )
            case CandidatePolicy.AGENTS:
                return gettext("What agents write waits for a curator; what people write counts at once")
            case CandidatePolicy.ALL:
                return gettext("Every write waits for a curator")
        return gettext("Every write counts at once; none waits for a curator")


class Membership(models.Model):
    """A user's role in a group."""

    RANK: ClassVar[dict[str, int]] = {role: rank for rank, role in enumerate(Role.values)}

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["group__slug", "user__username"]
        constraints = [
            models.UniqueConstraint(name="membership_once", fields=["user", "group"]),
            models.CheckConstraint(name="membership_role_known", condition=Q(role__in=Role.values)),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.group}: {self.role}"
