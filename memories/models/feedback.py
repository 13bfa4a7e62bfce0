"""What was recalled, for a while, and what agents and people say about it: feedback on an answer, doubt about a memory."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from access.models import Group
from memories.models.memory import Memory
from storage.ids import new_id


class RecallLog(models.Model):
    """One recall, kept so that people see what memory is used for. `hits` packs, best first, (memory key: int64, score: float32), little-endian, 12 bytes each."""

    key = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_index=True)
    group = models.ForeignKey(Group, null=True, on_delete=models.SET_NULL, related_name="+")
    actor = models.CharField(max_length=300)
    via = models.CharField(max_length=12)
    mode = models.CharField(max_length=10)
    query = models.TextField()
    hits = models.BinaryField(default=bytes)
    duration_ms = models.FloatField()
    abstained = models.BooleanField(default=False)
    degraded = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.query[:60]}"


class FeedbackVerdict(models.TextChoices):
    """What became of a recalled memory."""

    USED = "used", gettext_lazy("used: it helped")
    WRONG = "wrong", gettext_lazy("wrong: it misled, or did not fit the question")


class Feedback(models.Model):
    """One verdict of one caller about one memory of one recall; saying it again replaces it.

    `recall` is the key of the logged recall, 0 if none is known. It is not a foreign key: the log is deleted after a while,
    and the verdict stays. Rank never depends on it.
    """

    key = models.BigAutoField(primary_key=True)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="feedback")
    recall = models.BigIntegerField(default=0)
    verdict = models.CharField(max_length=8, choices=FeedbackVerdict)
    actor = models.CharField(max_length=300)
    via = models.CharField(max_length=12)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="feedback_once", fields=["memory", "actor", "recall"]),
            models.CheckConstraint(name="feedback_known", condition=Q(verdict__in=FeedbackVerdict.values)),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} {self.memory_id}"


class DoubtStatus(models.TextChoices):
    """Whether a person still has to decide about a doubt."""

    OPEN = "open", gettext_lazy("open: a curator has to decide")
    SETTLED = "settled", gettext_lazy("settled: decided, or taken back")


class Doubt(models.Model):
    """That one author doubts a memory, and why. It says nothing of the memory's trust, and changes no rank.

    `memory` is the chain's root. `author` is the person behind every token of theirs, None for a job and for the machine's operator;
    `token` is recorded as the audit log records it. `how` names the operation that settled it.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="doubts")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.CharField(max_length=300, default="")
    token = models.UUIDField(null=True)
    reason = models.TextField(blank=True, default="")
    at = models.DateTimeField(default=timezone.now)
    status = models.CharField(max_length=8, choices=DoubtStatus, default=DoubtStatus.OPEN)
    settled_by = models.CharField(max_length=300, blank=True, default="")
    settled_at = models.DateTimeField(null=True)
    how = models.CharField(max_length=20, blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(name="doubt_status_known", condition=Q(status__in=DoubtStatus.values)),
        ]
        indexes = [models.Index(name="doubt_open", fields=["memory"], condition=Q(status="open"))]

    def __str__(self) -> str:
        return f"{self.author_name}: {self.reason}"
