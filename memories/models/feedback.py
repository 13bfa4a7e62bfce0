"""Feedback: what agents and people say about the memories that recall returned to them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from memories.models.memory import Memory


class FeedbackVerdict(models.TextChoices):
    """What became of a recalled memory."""

    USED = "used", gettext_lazy("used: it helped")
    WRONG = "wrong", gettext_lazy("wrong: it misled, or did not fit the question")


class Feedback(models.Model):
    """One verdict of one caller about one memory of one recall; saying it again replaces it.

    `recall` is the key of the logged recall, 0 if none is known. It is no foreign key: the log is deleted after a while,
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
