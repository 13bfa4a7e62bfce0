"""Choices of people about mail, and webhooks set by admins. Every change is logged."""

from collections.abc import Collection, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from loci_site.app.notifications.addresses import resolve
from loci_site.app.notifications.models import TEST, Delivery, DeliveryState, Event, Subscription, Webhook
from loci_site.app.notifications.notices import in_language_of, test_notice
from loci_site.app.notifications.outbox import queue
from loci_site.app.notifications.senders import is_mail_on
from memories.review.queue import may_review

_MAX_WEBHOOKS = 20
MAX_NAME_CHARS = 80


def offered_events(actor: Actor) -> list[Event]:
    """The events that the person may choose: all for a superuser, those of their groups for a curator."""
    if actor.all_groups:
        return list(Event)
    return [Event.REVIEW, Event.RUN] if may_review(actor) else []


def subscription_of(user: User) -> Subscription:
    """The person's subscription; an unsaved, empty one if they have none."""
    return Subscription.objects.filter(user=user).first() or Subscription(user=user)


def choose_events(actor: Actor, user: User, events: Collection[str]) -> Subscription:
    """Store the events about which the person gets mail. One transaction.

    Raises:
        InvalidInput: an event that is not offered to them.
        Conflict: they have no e-mail address.
    """
    chosen = _check_events(events, offered_events(actor))
    if chosen:
        _check_address(user)
    before = subscription_of(user)
    if list(before.events) == chosen:
        return before
    with transaction.atomic():
        stored, _ = Subscription.objects.update_or_create(
            user=user, defaults={"events": chosen, "seen": before.seen if Event.REVIEW in chosen else {}}
        )
        payload: dict[str, object] = {"action": "choose", "events": chosen, "before": list(before.events)}
        log_change(actor, f"user:{user}", payload)
    return stored


def send_test_mail(actor: Actor, user: User) -> Delivery:
    """Queue a test mail to the person. One transaction.

    Raises:
        Conflict: there is no mail server or no address, or a test waits already.
    """
    if not is_mail_on():
        line, hint = gettext("No mail server is set up here."), gettext("Ask an admin of Loci.")
        raise Conflict(line, hint=hint, field="events")
    _check_address(user)
    _check_no_test_waits(Delivery.objects.filter(user=user))
    with transaction.atomic():
        receiver = Subscription(user=user)
        with in_language_of(receiver):
            delivery = queue(test_notice(user.get_username()), receiver)
        log_change(actor, f"user:{user}", {"action": "test"})
    return delivery


def create_webhook(actor: Actor, *, name: str, url: str, events: Collection[str]) -> Webhook:
    """Store a webhook. One transaction.

    Raises:
        NotPermitted: the actor may not administer every group.
        InvalidInput: the name, the events, or the address, which is private and not listed, or not https.
        Conflict: there are too many.
    """
    check_admin(actor)
    name = name.strip()
    if not 0 < len(name) <= MAX_NAME_CHARS:
        line = gettext("A webhook needs a name of at most {max_name_chars} characters.")
        raise InvalidInput(line.format(max_name_chars=MAX_NAME_CHARS), field="name")
    chosen = _check_events(events, list(Event))
    if not chosen:
        raise InvalidInput(gettext("Choose at least one event."), field="events")
    resolve(url)
    if Webhook.objects.count() >= _MAX_WEBHOOKS:
        raise Conflict(
            gettext("There are {max_webhooks} webhooks already.").format(max_webhooks=_MAX_WEBHOOKS),
            hint=gettext("Delete one first."),
            field="name",
        )
    with transaction.atomic():
        made = Webhook.objects.create(name=name, url=url, events=chosen, made_by=actor.name)
        log_change(actor, f"webhook:{name}", {"action": "create", "url": url, "events": chosen})
    return made


def change_webhook(actor: Actor, webhook: Webhook, action: str) -> None:
    """Switch a webhook on or off, give it a new secret, send a test, or delete it. One transaction.

    Raises:
        NotPermitted: the actor may not administer every group.
        NotFound: there is no such action.
        Conflict: a test waits already, or the webhook is off.
    """
    check_admin(actor)
    with transaction.atomic():
        if action in ("on", "off"):
            Webhook.objects.filter(pk=webhook.pk).update(is_on=action == "on")
        elif action == "secret":
            webhook.generation += 1
            webhook.save(update_fields=["generation"])
        elif action == "test":
            if not webhook.is_on:
                raise Conflict(gettext("The webhook is switched off."), hint=gettext("Switch it on first."))
            _check_no_test_waits(webhook.deliveries.all())
            with in_language_of(webhook):
                queue(test_notice(actor.name), webhook)
        elif action == "delete":
            webhook.delete()
        else:
            hint = gettext("Use on, off, secret, test or delete.")
            raise NotFound(gettext("There is no such action."), hint=hint)
        log_change(actor, f"webhook:{webhook.name}", {"action": action})


def _check_address(user: User) -> None:
    if not user.email:
        line, hint = gettext("You have no e-mail address here."), gettext("Ask an admin to add one.")
        raise Conflict(line, hint=hint, field="events")


def _check_no_test_waits(deliveries: object) -> None:
    rows = deliveries.filter(event=TEST, state=DeliveryState.WAITING, next_at__lte=timezone.now())  # type: ignore[attr-defined]
    if rows.exists():
        hint = gettext("The worker sends it within a minute.")
        raise Conflict(gettext("A test waits to be sent already."), hint=hint)


def _check_events(events: Collection[str], offered: Sequence[Event]) -> list[str]:
    """The events in their usual order. Raises InvalidInput for one that is not offered."""
    unknown = sorted(set(events) - set(offered))
    if unknown:
        allowed = ", ".join(offered) or "none"
        raise InvalidInput(
            gettext("'{unknown}' is not an event for you.").format(unknown=unknown[0][:40]),
            hint=gettext("Events: {allowed}.").format(allowed=allowed),
            field="events",
        )
    return [str(event.value) for event in offered if event in events]


def check_admin(actor: Actor) -> None:
    """Raise NotPermitted unless the actor may see and change webhooks."""
    if not actor.is_admin_of_all:
        hint = gettext("Ask a superuser.")
        raise NotPermitted(gettext("Only superusers can see and change webhooks."), hint=hint)


def log_change(actor: Actor, subject: str, payload: dict[str, object]) -> None:
    audit.append(actor, Operation.NOTIFY, subject=subject, payload=payload)
