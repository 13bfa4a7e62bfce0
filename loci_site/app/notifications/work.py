"""The worker's job: find new events, queue messages about them, send what is due."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from access.actor import CURATE, Actor
from loci_site.app.notifications.models import Event, Subscription, Watch, Webhook
from loci_site.app.notifications.notices import (
    actor_of_receiver,
    backup_notice,
    in_language_of,
    review_notice,
    run_notice,
)
from loci_site.app.notifications.outbox import due_deliveries, queue, send_due
from loci_site.app.notifications.senders import is_mail_on
from maintenance.models import JobLock, Run, RunStatus
from memories.language.cleaning import format_count

LOOK_EVERY = timedelta(minutes=5)  # between two checks for something to notify about
_BACKUP_JOB = "backup"
Receiver = Subscription | Webhook


def is_waiting() -> bool:
    return due_deliveries().exists() or _is_look_due()


def _is_look_due() -> bool:
    """True if the last look is `look_min` ago and there are receivers."""
    since = timezone.now() - LOOK_EVERY
    if Watch.objects.filter(name="look", at__gt=since).exists():
        return False
    return Webhook.objects.filter(is_on=True).exists() or Subscription.objects.exclude(events=[]).exists()


def work(actor: Actor) -> str | None:
    """Look for events if that is due, and send due messages. Returns a summary, None if there was nothing to do."""
    found = look() if _is_look_due() else 0
    sent, not_sent = send_due()
    if not (found or sent or not_sent):
        return None
    return f"{format_count(sent, 'notification')} sent, {not_sent} not"


def look() -> int:
    """Queue a message for each receiver of each event since the last look. Returns how many. One transaction."""
    with transaction.atomic():
        Watch.objects.get_or_create(name="look")
        Watch.objects.filter(name="look").update(at=timezone.now())
        receivers = list(_all_receivers())
        queues = (_queue_review_notices, _queue_run_notices, _queue_backup_notices)
        return sum(queue_notices(receivers) for queue_notices in queues)


def _all_receivers() -> Iterator[Receiver]:
    """The webhooks that are on and, if there is a mail server, the active people with an address."""
    yield from Webhook.objects.filter(is_on=True)
    if is_mail_on():
        wanted = Subscription.objects.exclude(events=[]).select_related("user")
        yield from wanted.filter(user__is_active=True).exclude(user__email="")


def _subscribed_to(receivers: list[Receiver], event: Event) -> list[Receiver]:
    return [each for each in receivers if event in each.events]


def _queue_review_notices(receivers: list[Receiver]) -> int:
    """Queue messages for receivers with new items in their Review; returns how many."""
    queued = 0
    for receiver in _subscribed_to(receivers, Event.REVIEW):
        notice, seen = review_notice(receiver)
        if seen != receiver.seen:
            receiver.seen = seen
            receiver.save(update_fields=["seen"])
        if notice is not None:
            queue(notice, receiver)
            queued += 1
    return queued


def _queue_run_notices(receivers: list[Receiver]) -> int:
    """Queue messages about runs that stopped or failed since the last look, for curators of the run's group."""
    since = _advance_watch(Event.RUN)
    badly = [RunStatus.STOPPED, RunStatus.FAILED]
    ended = Run.objects.filter(status__in=badly, dry_run=False, finished_at__gt=since)
    queued = 0
    for run in ended.select_related("group").order_by("finished_at"):
        for receiver in _subscribed_to(receivers, Event.RUN):
            if _may_curate_run(receiver, run):
                with in_language_of(receiver):
                    queue(run_notice(run), receiver)
                queued += 1
    return queued


def _may_curate_run(receiver: Receiver, run: Run) -> bool:
    """True if the receiver may curate the run's group, or all groups for a run without one."""
    actor = actor_of_receiver(receiver)
    return actor.all_groups if run.group_id is None else actor.may(CURATE, run.group_id)


def _queue_backup_notices(receivers: list[Receiver]) -> int:
    """Queue messages when backups begin to fail, for receivers with rights in all groups."""
    row = JobLock.objects.filter(name=_BACKUP_JOB).first()
    watch, _ = Watch.objects.get_or_create(name=Event.BACKUP)
    if row is None or (row.failures > 0) == watch.is_failing:
        return 0
    Watch.objects.filter(name=Event.BACKUP).update(is_failing=row.failures > 0)
    if not row.failures:
        return 0
    subscribed = _subscribed_to(receivers, Event.BACKUP)
    concerned = [each for each in subscribed if actor_of_receiver(each).all_groups]
    for receiver in concerned:
        with in_language_of(receiver):
            queue(backup_notice(row.failures), receiver)
    return len(concerned)


def _advance_watch(name: str) -> datetime:
    """The time of the last look at this kind of event, which is set to now; now for the first look."""
    now = timezone.now()
    watch, is_new = Watch.objects.get_or_create(name=name, defaults={"at": now})
    Watch.objects.filter(name=name).update(at=now)
    return now if is_new else watch.at
