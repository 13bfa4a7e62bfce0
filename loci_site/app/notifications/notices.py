"""The content of notifications: counts and a link, and quotes if the settings allow them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User

from access.actor import Actor, Via
from access.connect import base_url
from access.tokens import actor_for_user
from loci_site.app.notifications.models import TEST, Delivery, Event, Subscription, Webhook
from maintenance.jobs import job_actor
from maintenance.models import Run, RunStatus
from memories.language.plurals import format_count
from memories.models import Memory
from memories.review.queue import CardKind, review_deck

MAX_QUOTES, QUOTE_CHARS = 5, 80
# Cards whose text must not be in a mail.
UNQUOTED = frozenset({CardKind.SENSITIVE, CardKind.QUARANTINED})


@dataclass(frozen=True)
class Notice:
    """One message. `path` is the page that it leads to; `memories` are quoted as it is sent, if at all."""

    event: str
    subject: str
    lines: tuple[str, ...]
    path: str
    memories: tuple[str, ...] = ()

    def as_row(self) -> dict[str, Any]:
        """The JSON of a delivery."""
        return asdict(self)


def actor_of_receiver(receiver: Subscription | Webhook) -> Actor:
    """The Actor whose rights limit a notice: the person, or for a webhook an admin of all groups."""
    if isinstance(receiver, Subscription):
        return actor_for_user(receiver.user, via=Via.JOB)
    return job_actor("notify")


def review_notice(receiver: Subscription | Webhook) -> tuple[Notice | None, dict[str, Any]]:
    """A notice if the Review has items new to the receiver, and all items in it now."""
    deck = review_deck(actor_of_receiver(receiver))
    ids, total = [str(card.id) for card in deck.cards], deck.total.value
    now = {"ids": ids, "total": total}
    new = set(ids) - set(receiver.seen.get("ids", ()))
    if not new and total <= receiver.seen.get("total", 0):
        return None, now
    lines = tuple(f"{kind.value}: {count}" for kind, count in deck.counts.items() if count.value)
    quoted = [
        str(card.memory.id)
        for card in deck.cards
        if card.memory is not None and str(card.id) in new and card.kind not in UNQUOTED
    ]
    subject = f"New in the Review: {format_count(deck.total.value, 'card')} waiting"
    return Notice(Event.REVIEW, subject, lines, "/admin/review/", tuple(quoted[:MAX_QUOTES])), now


def run_notice(run: Run) -> Notice:
    """A notice of a stopped or failed run. Its error may quote a text, so only the page shows it."""
    what = "stopped" if run.status == RunStatus.STOPPED else "failed"
    where = f" in {run.group.slug}" if run.group else ""
    lines = (
        "It would have changed too many memories."
        if run.status == RunStatus.STOPPED
        else "An error ended it.",
        "Its page says more.",
    )
    return Notice(
        Event.RUN, f"The run '{run.kind}'{where} {what}", lines, f"/admin/maintenance/run/{run.key}/change/"
    )


def backup_notice(failures: int) -> Notice:
    """A notice of failing backups, sent once until a backup succeeds again."""
    lines = (
        f"It has failed {failures} times in a row." if failures > 1 else "It is tried again.",
        "The schedule shows the error.",
    )
    return Notice(Event.BACKUP, "The backup failed", lines, "/admin/maintenance/joblock/")


def test_notice(name: str) -> Notice:
    """A notice that tests delivery."""
    return Notice(TEST, "A test from Loci", (f"{name} asked for it. Notifications arrive here.",), "/")


def quotes_of(notice: Mapping[str, Any], receiver: User | Webhook) -> list[str]:
    """The beginnings of the memories that a notice names; empty unless the settings allow quotes.

    A memory that was purged, withdrawn or closed to the person since is not quoted, and to a webhook none of a private group.
    """
    if not settings.LOCI.notifications.quote or not notice["memories"]:
        return []
    actor = actor_for_user(receiver, via=Via.JOB) if isinstance(receiver, User) else job_actor("notify")
    ids = {UUID(each) for each in notice["memories"]}
    cards = (card for card in review_deck(actor).cards if card.kind not in UNQUOTED)
    waiting = {card.memory.id for card in cards if card.memory is not None}
    rows = Memory.objects.filter(id__in=ids & waiting)
    if isinstance(receiver, Webhook):  # nobody knows who reads there
        rows = rows.exclude(group__private=True)
    return [text[:QUOTE_CHARS] for text in rows.values_list("content", flat=True)]


def rendered(delivery: Delivery, receiver: User | Webhook) -> dict[str, Any]:
    """The message of a delivery, for mail and webhooks."""
    notice = delivery.notice
    return {
        "subject": notice["subject"],
        "lines": list(notice["lines"]),
        "quotes": quotes_of(notice, receiver),
        "url": base_url() + notice["path"],
    }
