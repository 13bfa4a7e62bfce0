"""Mail and webhooks when something waits, a run stopped or a backup failed; nobody gets any without asking."""

import base64
import hashlib
import hmac
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from access.errors import LociError
from access.models import AuditEntry, Group, Preference
from access.sign_in.lockouts import tidy_access
from loci_site.app.notifications.choices import change_webhook, choose_events, create_webhook
from loci_site.app.notifications.models import Delivery, DeliveryState, Subscription, Webhook
from loci_site.app.notifications.outbox import WAITS_MIN
from loci_site.app.notifications.senders import key_of, secret_of
from maintenance.models import JobLock, Run, RunStatus
from memories.draft import Draft
from memories.lifecycle.verbs import dispute, purge
from memories.models import Memory
from memories.store import store
from tests.loci_site.app.notifications.conftest import Chosen, Receiver, job, turn
from tests.model import encoder
from tests.people import person

__all__ = ["encoder"]
pytestmark = pytest.mark.django_db
SECRET_TEXT = "The vault of the ledger opens at noon."
ALL = ["review", "run", "backup"]


def disputed(owner: User, group: Group, text: str = SECRET_TEXT) -> Memory:
    """A memory of the group that waits for review."""
    stored = store(person(owner), Draft(text, group=group.slug, scope="group"))
    assert stored.memory is not None
    dispute(person(owner), stored.memory.id, reason="is it?")
    return stored.memory


def hook(owner: User, receiver: Receiver, *events: str) -> Webhook:
    return create_webhook(person(owner), name="chat", url=receiver.url, events=events or ALL)


def test_nobody_is_told_without_asking(
    chosen: Chosen, clock: time_machine.Traveller, owner: User, curator: User, ledger: Group, encoder: object
) -> None:
    disputed(owner, ledger)
    assert turn(clock) is None
    assert (mail.outbox, Delivery.objects.count()) == ([], 0)


def test_who_curates_gets_a_mail_without_any_stored_text(
    chosen: Chosen,
    clock: time_machine.Traveller,
    owner: User,
    curator: User,
    ledger: Group,
    garden: Group,
    encoder: object,
) -> None:
    choose_events(person(curator), curator, ["review"])
    turn(clock)
    assert mail.outbox == []
    disputed(owner, ledger)
    disputed(owner, garden, "The roses are red.")  # not bob's
    turn(clock)
    [sent] = mail.outbox
    assert (sent.subject, sent.to) == ("[Loci] New in the Review: 1 card waiting", ["bob@example.org"])
    assert "disputed: 1\n" in sent.body
    assert "/admin/review/\n" in sent.body
    assert not {"vault", "roses", "noon"} & set(sent.body.split())
    assert sent.extra_headers["Auto-Submitted"] == "auto-generated"
    for _ in range(3):
        turn(clock)
    assert len(mail.outbox) == 1
    disputed(owner, ledger, "The office closes at nine.")
    turn(clock)
    assert mail.outbox[1].subject == "[Loci] New in the Review: 2 cards waiting"


def test_a_text_is_quoted_only_if_the_settings_say_so_and_never_after_a_purge(
    chosen: Chosen, clock: time_machine.Traveller, owner: User, curator: User, ledger: Group, encoder: object
) -> None:
    chosen(quote=True)
    choose_events(person(curator), curator, ["review"])
    kept, gone = disputed(owner, ledger), disputed(owner, ledger, "A text that is purged before it is sent.")
    from loci_site.app.notifications.work import look

    look()
    assert Delivery.objects.get().notice["memories"]
    assert "vault" not in str(Delivery.objects.get().notice)
    purge(person(owner), gone.id, reason="private")
    turn(clock)
    [sent] = mail.outbox
    assert f"> {kept.content}" in sent.body
    assert "purged before" not in sent.body


def test_a_webhook_is_signed_and_says_what_happened(
    chosen: Chosen,
    clock: time_machine.Traveller,
    owner: User,
    ledger: Group,
    receiver: Receiver,
    encoder: object,
) -> None:
    webhook = hook(owner, receiver)
    disputed(owner, ledger)
    turn(clock)
    [(headers, body)] = receiver.got
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret_of(webhook).removeprefix("whsec_"))
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{wanted}"
    assert headers["host"] == receiver.url.split("/")[2]
    assert receiver.last["type"] == "review"
    assert receiver.last["data"]["lines"] == ["disputed: 1"]
    assert receiver.last["data"]["quotes"] == []
    assert b"vault" not in body
    assert Delivery.objects.get().state == "sent"


def test_a_message_that_is_not_taken_is_tried_again_and_given_up_in_the_end(
    chosen: Chosen, clock: time_machine.Traveller, owner: User, receiver: Receiver
) -> None:
    webhook = hook(owner, receiver)
    change_webhook(person(owner), webhook, "test")
    receiver.status = 302  # leads to another address of this machine
    turn(clock, minutes=0)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts, delivery.error) == ("waiting", 1, "it answered 302")
    for minutes in WAITS_MIN:
        turn(clock, minutes=minutes - 0.5)
        assert len(receiver.got) == delivery.attempts
        turn(clock, minutes=0.6)
        delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("failed", 6)
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    receiver.status = 200
    change_webhook(person(owner), webhook, "test")
    turn(clock)
    assert Delivery.objects.first().state == "sent"  # type: ignore[union-attr]
    clock.shift(timedelta(days=31))
    tidy_access(job())
    assert Delivery.objects.count() == 0


def test_a_mail_server_that_fails_is_tried_again(
    chosen: Chosen, clock: time_machine.Traveller, owner: User, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    client = Client()
    client.force_login(owner)
    client.post("/admin/account/notifications/test/")
    turn(clock, minutes=0)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts) == ("waiting", 1)
    assert delivery.error.startswith("the mail server: ConnectionRefusedError")
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    turn(clock, minutes=2)
    assert [sent.subject for sent in mail.outbox] == ["[Loci] A test from Loci"]


def test_runs_are_told_to_those_who_curate_their_group(
    chosen: Chosen, clock: time_machine.Traveller, owner: User, curator: User, ledger: Group, garden: Group
) -> None:
    for user in (owner, curator):
        choose_events(person(user), user, ["run"])
    Run.objects.create(kind="cycle", status=RunStatus.FAILED, actor="x", finished_at=timezone.now())
    turn(clock)
    assert mail.outbox == []  # before anybody asked
    now = timezone.now() + timedelta(seconds=1)
    for group, status in ((ledger, RunStatus.STOPPED), (garden, RunStatus.FAILED), (None, RunStatus.FAILED)):
        Run.objects.create(
            kind="cycle", group=group, status=status, actor="x", error=SECRET_TEXT, finished_at=now
        )
    Run.objects.create(kind="cycle", status=RunStatus.STOPPED, dry_run=True, actor="x", finished_at=now)
    Run.objects.create(kind="cycle", status=RunStatus.DONE, actor="x", finished_at=now)
    turn(clock)
    turn(clock)
    told = sorted(
        (sent.to[0].partition("@")[0], sent.subject.removeprefix("[Loci] ")) for sent in mail.outbox
    )
    assert told == [
        ("alice", "The run 'cycle' failed"),
        ("alice", "The run 'cycle' in garden failed"),
        ("alice", "The run 'cycle' in ledger stopped"),
        ("bob", "The run 'cycle' in ledger stopped"),
    ]
    assert not any("vault" in sent.body for sent in mail.outbox)


def test_a_failing_backup_is_told_once_until_one_succeeds(
    chosen: Chosen, clock: time_machine.Traveller, owner: User
) -> None:
    choose_events(person(owner), owner, ["backup"])
    row = JobLock.objects.create(name="backup")
    for failures in (0, 1, 2, 3, 0, 1):
        JobLock.objects.filter(pk=row.pk).update(failures=failures, last_error=f"disk full: {SECRET_TEXT}")
        turn(clock)
    assert [sent.subject for sent in mail.outbox] == ["[Loci] The backup failed"] * 2
    Preference.objects.create(user=owner, language="de")
    for failures in (0, 1):
        JobLock.objects.filter(pk=row.pk).update(failures=failures)
        turn(clock)
    german = mail.outbox[2]
    assert german.subject == "[Loci] Die Sicherung ist fehlgeschlagen"
    assert german.body.startswith("Sie wird noch einmal versucht.\n")
    assert "Gewünscht unter Mein Konto: " in german.body
    assert not any("vault" in sent.body for sent in mail.outbox)


def test_people_choose_what_concerns_them(chosen: Chosen, owner: User, curator: User, charlie: User) -> None:
    browser = Client()
    browser.force_login(curator)
    page = browser.get("/admin/account/").content.decode()
    assert "Mail to bob@example.org when" in page
    assert 'value="backup"' not in page
    browser.post("/admin/account/notifications/", {"events": ["run", "review"]})
    assert Subscription.objects.get().events == ["review", "run"]
    refused = browser.post("/admin/account/notifications/", {"events": ["backup"]})
    assert refused.status_code == 422
    assert "&#x27;backup&#x27; is not an event for you." in refused.content.decode()
    browser.post("/admin/account/notifications/", {})
    assert Subscription.objects.get().events == []
    rows = AuditEntry.objects.filter(operation="notify").select_related("payload_row").order_by("key")
    assert [(row.actor, row.via, row.payload["events"]) for row in rows] == [
        ("bob", "app", ["review", "run"]),
        ("bob", "app", []),
    ]
    other = Client()
    other.force_login(charlie)
    assert "Notifications" not in other.get("/admin/account/").content.decode()
    assert other.post("/admin/account/notifications/test/").status_code == 409


def test_who_is_deactivated_or_lost_a_role_is_told_no_more(
    chosen: Chosen, clock: time_machine.Traveller, owner: User, curator: User, ledger: Group, encoder: object
) -> None:
    for user in (owner, curator):
        choose_events(person(user), user, ["review"])
    User.objects.filter(pk=owner.pk).update(is_active=False)
    curator.memberships.update(role="viewer")
    disputed(owner, ledger)
    turn(clock)
    assert mail.outbox == []


def test_only_superusers_set_webhooks_and_see_the_log(
    chosen: Chosen, clock: time_machine.Traveller, owner: User, curator: User, receiver: Receiver
) -> None:
    with pytest.raises(LociError, match="Only superusers"):
        create_webhook(person(curator), name="x", url=receiver.url, events=ALL)
    browser = Client()
    browser.force_login(owner)
    address = "/admin/settings/notifications/"
    assert "None. A webhook tells" in browser.get(address).content.decode()
    refused = browser.post(f"{address}add/", {"name": "chat", "url": "https://10.0.0.1/", "events": ["run"]})
    assert "leads to a private address (10.0.0.1)" in refused.content.decode()
    made = browser.post(f"{address}add/", {"name": "chat", "url": receiver.url, "events": ["run"]})
    webhook = Webhook.objects.get()
    assert secret_of(webhook) in made.content.decode()
    assert secret_of(webhook) not in browser.get(address).content.decode()
    assert browser.post(f"{address}{webhook.id}/test/", follow=True).status_code == 200
    assert (
        "A test waits to be sent already."
        in browser.post(f"{address}{webhook.id}/test/", follow=True).content.decode()
    )
    turn(clock)
    assert receiver.last["data"]["subject"] == "A test from Loci"
    page = browser.get(address).content.decode()
    assert "A test from Loci" in page
    before = key_of(webhook)
    renewed = browser.post(f"{address}{webhook.id}/secret/").content.decode()
    webhook.refresh_from_db()
    assert key_of(webhook) != before
    assert secret_of(webhook) in renewed
    browser.post(f"{address}{webhook.id}/off/")
    assert "is switched off" in browser.post(f"{address}{webhook.id}/test/", follow=True).content.decode()
    assert browser.post(f"{address}{webhook.id}/explode/", follow=True).status_code == 200
    browser.post(f"{address}{webhook.id}/delete/")
    assert not Webhook.objects.exists()
    rows = AuditEntry.objects.filter(operation="notify").select_related("payload_row").order_by("key")
    assert [row.payload["action"] for row in rows] == ["create", "test", "secret", "off", "delete"]
    assert {(row.subject, row.actor, row.via) for row in rows} == {("webhook:chat", "alice", "admin")}
    assert Delivery.objects.count() == 0
    assert DeliveryState.SENT == "sent"
