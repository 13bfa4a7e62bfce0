"""The content of notifications: counts and a link, and quotes if the settings allow them.

A mail is in the language of the person's account, in English without one; webhooks are English."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import translation
from django.utils.translation import gettext, ngettext

from access.actor import Actor, Via
from access.admin.columns import in_words
from access.connect import base_url
from access.sign_in.preferences import preference_of_user
from access.tokens import actor_for_user
from loci_site.app.notifications.models import TEST, Delivery, Event, Subscription, Webhook
from maintenance.jobs import job_actor
from maintenance.models import Run, RunStatus
from memories.models import Memory
from memories.review.queue import CardKind, review_deck

MAX_QUOTES, QUOTE_CHARS = 5, 80
# Cards whose text must not be in a mail.
_UNQUOTED = frozenset({CardKind.SENSITIVE, CardKind.QUARANTINED})


@dataclass(frozen=True)
class Notice:
    """One message. `path` is the page that it leads to; `memories` are quoted as it is sent, if at all."""

    event: str
    subject: str
    lines: tuple[str, ...]
    path: str
    memories: tuple[str, ...] = ()


def actor_of_receiver(receiver: Subscription | Webhook) -> Actor:
    """The Actor whose rights limit a notice: the person, or for a webhook an admin of all groups."""
    if isinstance(receiver, Subscription):
        return actor_for_user(receiver.user, via=Via.JOB)
    return job_actor("notify")


@contextmanager
def in_language_of(receiver: Subscription | Webhook | User) -> Iterator[None]:
    """Make the receiver's language active. One query for a person."""
    person = receiver.user if isinstance(receiver, Subscription) else receiver
    chosen = preference_of_user(person).language if isinstance(person, User) else ""
    with translation.override(chosen if chosen in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE):
        yield


def review_notice(receiver: Subscription | Webhook) -> tuple[Notice | None, dict[str, Any]]:
    """A notice if the Review has items new to the receiver, and all items in it now."""
    deck = review_deck(actor_of_receiver(receiver))
    ids, total = [str(card.id) for card in deck.cards], deck.total.value
    now = {"ids": ids, "total": total}
    new = set(ids) - set(receiver.seen.get("ids", ()))
    if not new and total <= receiver.seen.get("total", 0):
        return None, now
    quoted = [
        str(card.memory.id)
        for card in deck.cards
        if card.memory is not None and str(card.id) in new and card.kind not in _UNQUOTED
    ]
    with in_language_of(receiver):
        counts = ((kind, count) for kind, count in deck.counts.items() if count.value)
        lines = tuple(f"{in_words(kind.value)}: {count}" for kind, count in counts)
        subject = ngettext(
            "New in the Review: {count} card waiting", "New in the Review: {count} cards waiting", total
        )
    quotes = tuple(quoted[:MAX_QUOTES])
    return Notice(Event.REVIEW, subject.format(count=total), lines, "/admin/review/", quotes), now


def run_notice(run: Run) -> Notice:
    """A notice, in the active language, of a stopped or failed run. Its error may quote a text, so only the page shows it."""
    if run.status == RunStatus.STOPPED:
        alone, grouped = gettext("The run '{run}' stopped"), gettext("The run '{run}' in {group} stopped")
        why = gettext("It would have changed too many memories.")
    else:
        alone, grouped = gettext("The run '{run}' failed"), gettext("The run '{run}' in {group} failed")
        why = gettext("An error ended it.")
    subject = grouped if run.group else alone
    subject = subject.format(run=in_words(run.kind), group=run.group.slug if run.group else "")
    path = f"/admin/maintenance/run/{run.key}/change/"
    return Notice(Event.RUN, subject, (why, gettext("Its page says more.")), path)


def backup_notice(failures: int) -> Notice:
    """A notice, in the active language, of failing backups, sent once until a backup succeeds again."""
    often = gettext("It has failed {count} times in a row.").format(count=failures)
    lines = often if failures > 1 else gettext("It is tried again."), gettext("The schedule shows the error.")
    return Notice(Event.BACKUP, gettext("The backup failed"), lines, "/admin/maintenance/joblock/")


def test_notice(name: str) -> Notice:
    """A notice, in the active language, that tests delivery."""
    text = gettext("{name} asked for it. Notifications arrive here.").format(name=name)
    return Notice(TEST, gettext("A test from Loci"), (text,), "/")


def _quotes_of(notice: Mapping[str, Any], receiver: User | Webhook) -> list[str]:
    """The beginnings of the memories that a notice names; empty unless the settings allow quotes.

    A memory that was purged, withdrawn or closed to the person since is not quoted, and to a webhook none of a private group.
    """
    if not settings.LOCI.notifications.quote or not notice["memories"]:
        return []
    actor = actor_for_user(receiver, via=Via.JOB) if isinstance(receiver, User) else job_actor("notify")
    ids = {UUID(each) for each in notice["memories"]}
    cards = (card for card in review_deck(actor).cards if card.kind not in _UNQUOTED)
    waiting = {card.memory.id for card in cards if card.memory is not None}
    rows = Memory.objects.filter(id__in=ids & waiting)
    if isinstance(receiver, Webhook):  # its readers are unknown
        rows = rows.exclude(group__private=True)
    return [text[:QUOTE_CHARS] for text in rows.values_list("content", flat=True)]


def rendered(delivery: Delivery, receiver: User | Webhook) -> dict[str, Any]:
    """The message of a delivery, for mail and webhooks."""
    notice = delivery.notice
    return {
        "subject": notice["subject"],
        "lines": list(notice["lines"]),
        "quotes": _quotes_of(notice, receiver),
        "url": base_url() + notice["path"],
    }
