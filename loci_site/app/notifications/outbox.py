"""The outbox: messages that the worker sends, kept afterwards as the log of deliveries."""

from dataclasses import asdict
from datetime import timedelta
from typing import Final

from django.db.models import QuerySet
from django.utils import timezone

from loci_site.app.notifications.models import Delivery, DeliveryState, Subscription, Webhook
from loci_site.app.notifications.notices import Notice
from loci_site.app.notifications.senders import NotSent, send

KEPT_DAYS = 30  # of the log of deliveries
# Minutes before each further attempt; after the last one the delivery has failed.
WAITS_MIN: Final = (1, 5, 30, 120, 360)
AT_ONCE: Final = 50  # deliveries that one turn of the worker tries
MAX_ERROR_CHARS: Final = 300


def queue(notice: Notice, receiver: Subscription | Webhook) -> Delivery:
    """Put a message into the outbox. One statement."""
    to = {"webhook": receiver} if isinstance(receiver, Webhook) else {"user": receiver.user}
    return Delivery.objects.create(event=notice.event, notice=asdict(notice), **to)


def due_deliveries() -> QuerySet[Delivery]:
    """The deliveries whose next attempt is due."""
    return Delivery.objects.filter(state=DeliveryState.WAITING, next_at__lte=timezone.now())


def send_due() -> tuple[int, int]:
    """Try all due messages. Returns how many were sent and how many failed."""
    due = due_deliveries().select_related("user", "webhook").order_by("next_at")
    tried = [attempt(delivery) for delivery in due[:AT_ONCE]]
    return tried.count(True), tried.count(False)


def attempt(delivery: Delivery) -> bool:
    """Try once and save the result; True if sent."""
    delivery.attempts += 1
    now = timezone.now()
    try:
        send(delivery)
    except NotSent as why:
        delivery.error = str(why)[:MAX_ERROR_CHARS]
        if delivery.attempts > len(WAITS_MIN):
            delivery.state, delivery.ended_at = DeliveryState.FAILED, now
        else:
            delivery.next_at = now + timedelta(minutes=WAITS_MIN[delivery.attempts - 1])
    else:
        delivery.state, delivery.ended_at, delivery.error = DeliveryState.SENT, now, ""
    delivery.save(update_fields=["attempts", "state", "next_at", "ended_at", "error"])
    return delivery.state == DeliveryState.SENT


def delete_old_deliveries() -> int:
    """Delete deliveries older than KEPT_DAYS. Returns how many."""
    before = timezone.now() - timedelta(days=KEPT_DAYS)
    return Delivery.objects.filter(made_at__lt=before).delete()[0]
