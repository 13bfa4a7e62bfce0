"""Subscriptions, webhooks and deliveries. No row contains a stored text."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from storage.ids import new_id


class Event(models.TextChoices):
    """What notifications are about."""

    REVIEW = "review", gettext_lazy("Something waits for review")
    RUN = "run", gettext_lazy("A maintenance run stopped or failed")
    BACKUP = "backup", gettext_lazy("A backup failed")


TEST = "test"  # the event of a test message, which has no subscribers


class Subscription(models.Model):
    """The events about which a person gets mail. `seen`: the items of the Review at the last message."""

    key = models.BigAutoField(primary_key=True)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="subscription"
    )
    events = models.JSONField(default=list)
    seen = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"notifications of {self.user}"


class Webhook(models.Model):
    """An address that receives events. Its secret is derived from `id` and `generation`, not stored."""

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    name = models.CharField(max_length=80)
    url = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    is_on = models.BooleanField(default=True)
    generation = models.PositiveIntegerField(default=1)
    seen = models.JSONField(default=dict)
    made_by = models.CharField(max_length=300)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "key"]

    def __str__(self) -> str:
        return self.name


class DeliveryState(models.TextChoices):
    WAITING = "waiting", gettext_lazy("waiting")
    SENT = "sent", gettext_lazy("sent")
    FAILED = "failed", gettext_lazy("failed")


class Delivery(models.Model):
    """One message to one person or webhook. `notice` names memories by id; their text is read when it is sent, if at all."""

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    event = models.CharField(max_length=10)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    webhook = models.ForeignKey(Webhook, null=True, on_delete=models.CASCADE, related_name="deliveries")
    notice = models.JSONField()
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now)
    error = models.CharField(max_length=300, blank=True, default="")
    made_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-key"]
        indexes = [
            models.Index(
                name="delivery_due", fields=["next_at"], condition=models.Q(state=DeliveryState.WAITING)
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook or self.user}"


class Watch(models.Model):
    """How far the worker has looked for one kind of event."""

    name = models.CharField(max_length=20, primary_key=True)
    at = models.DateTimeField(default=timezone.now)
    is_failing = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%Y-%m-%d %H:%M}"
